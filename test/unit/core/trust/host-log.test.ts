import { describe, expect, test } from 'vitest';
import { forkProofOf } from '../../../../src/core/sync/fork-proof.ts';
import { charterOf, type CharterHost } from '../../../../src/core/trust/charter.ts';
import { buildLine, type Line } from '../../../../src/core/line.ts';
import { makeBody } from '../../../../src/core/event.ts';
import type { TrustOp } from '../../../../src/core/trust/op.ts';
import {
  addOps,
  emptyTrustSet,
  keptHash,
  keptOps,
  trustHash,
  type Added,
  type TrustSet,
} from '../../../../src/core/trust/set.ts';
import { usableUpto } from '../../../../src/core/trust/usable.ts';
import { signEd25519 } from '../../../../src/crypto/ed25519.ts';
import { ed25519PublicText } from '../../../../src/crypto/ssh-key.ts';
import {
  craig,
  forkProof,
  genesisOf,
  hostAdd,
  hostRekey,
  hostRevoke,
  must,
  pinAt,
  placesIn,
  signerAdd,
  signerRevoke,
  testKey,
  testSigner,
} from '../../../lib/trust-ops.ts';

const genesis = genesisOf();
const mesh = genesis.id;
const at = placesIn(mesh);
const dana = testSigner('dana', 2);
const addBeta = hostAdd(at(craig, [genesis]), 'beta', 11);

function setOf(...ops: readonly TrustOp[]): TrustSet {
  return addOps(emptyTrustSet(mesh), [genesis, addBeta, ...ops]).set;
}

function codeOf({ dropped }: Added): string | undefined {
  return dropped[0]?.code;
}

function rekey(prev: readonly TrustOp[], key: number, seq: number, branch = 'main'): TrustOp {
  return hostRekey(at(craig, prev, 100 * key + seq), { name: 'beta', key, pin: pinAt(mesh, seq, branch) });
}

function revoke(prev: readonly TrustOp[], seq: number, branch = 'main'): TrustOp {
  return hostRevoke(at(craig, prev, 9_000 + seq), 'beta', pinAt(mesh, seq, branch));
}

function beta(set: TrustSet): CharterHost | undefined {
  return charterOf(set).hosts.get('beta');
}

/** Number of the key, first and last seq, of every span. */
function spansOf(host: CharterHost | undefined): unknown {
  const numbers = new Map([11, 20, 21, 22].map((number) => [testKey(number).text, number]));
  return host?.spans.map(({ key, from, upto }) => [numbers.get(ed25519PublicText(key)), from, upto]);
}

function pinsOf(host: CharterHost | undefined): unknown {
  return host?.pins.map(({ seq, link, op }) => [seq, link, op]);
}

function conflictsOf(set: TrustSet): unknown {
  return charterOf(set).conflicts.map(({ kind, item }) => `${kind} ${item}`);
}

describe('trust: keys and pins of a host', () => {
  /*  add K11 ── rekey K20 (pin 5) ── rekey K21 (pin 9)  */
  test('each key signs from behind its pin to the next one', () => {
    const one = rekey([addBeta], 20, 5);
    const two = rekey([one], 21, 9);
    const host = beta(setOf(one, two));
    expect(host).toMatchObject({ status: 'active', end: null, fork: null, op: two.id, address: '' });
    expect([host?.sign.text, host?.ssh.text]).toEqual([testKey(21).text, testKey(1_021).text]);
    expect(spansOf(host)).toEqual([
      [11, 1, 5],
      [20, 6, 9],
      [21, 10, null],
    ]);
    expect(pinsOf(host)).toEqual([
      [5, pinAt(mesh, 5).link, one.id],
      [9, pinAt(mesh, 9).link, two.id],
    ]);
    expect(host?.spans.map(({ op }) => op)).toEqual([addBeta.id, one.id, two.id]);
  });

  test('a rekey unsettles nothing: not a lower seq, not another link at the same one; the same pin is fine', () => {
    const one = rekey([addBeta], 20, 5);
    const set = setOf(one);
    expect(codeOf(addOps(set, [rekey([one], 21, 4)]))).toBe('PIN_BELOW');
    expect(codeOf(addOps(set, [rekey([one], 21, 5, 'side')]))).toBe('PIN_BELOW');
    const again = rekey([one], 21, 5);
    const host = beta(addOps(set, [again]).set);
    expect([spansOf(host), pinsOf(host)]).toEqual([
      [
        [11, 1, 5],
        [21, 6, null],
      ],
      [[5, pinAt(mesh, 5).link, again.id]],
    ]);
  });

  test('a key that a pin left no line is still one of its keys', () => {
    const host = beta(setOf(rekey([addBeta], 20, 0)));
    expect(spansOf(host)).toEqual([[20, 1, null]]);
    expect(host?.keys.map((key) => ed25519PublicText(key))).toEqual([testKey(11).text, testKey(20).text]);
  });

  test('a rekey brings a sign key that the host never had', () => {
    const one = rekey([addBeta], 20, 5);
    expect(codeOf(addOps(setOf(one), [rekey([one], 11, 9)]))).toBe('KEY_USED');
    expect(codeOf(addOps(setOf(one), [rekey([one], 20, 9)]))).toBe('KEY_USED');
  });

  /*  add K11 ─┬─ rekey K20 (pin 5)      the lower pin ends the log, until one op knows of both
   *           └─ rekey K21 (pin 7)      */
  test('two rekeys that do not know of each other end the log at the lowest pin, until one knows of both', () => {
    const [one, two] = [rekey([addBeta], 20, 5), rekey([addBeta], 21, 7)];
    const set = setOf(two, one);
    const host = beta(set);
    expect(host).toMatchObject({ status: 'active', end: 5, op: addBeta.id });
    expect([spansOf(host), pinsOf(host)]).toEqual([[[11, 1, null]], [[5, pinAt(mesh, 5).link, one.id]]]);
    expect(conflictsOf(set)).toEqual(['CHARTER_FORK host:beta']);
    expect(codeOf(addOps(set, [hostAdd(at(craig, [one, two], 3), 'beta', 22)]))).toBe('NAME_TAKEN');
    const settled = rekey([one, two], 22, 7);
    const after = addOps(set, [settled]).set;
    expect([beta(after)?.end, conflictsOf(after)]).toEqual([null, []]);
    expect([spansOf(beta(after)), pinsOf(beta(after))]).toEqual([
      [
        [11, 1, 7],
        [22, 8, null],
      ],
      [[7, pinAt(mesh, 7).link, settled.id]],
    ]);
  });

  test('two rekeys that say the same are one', () => {
    const [one, two] = [
      rekey([addBeta], 20, 5),
      hostRekey(at(craig, [addBeta], 3), { name: 'beta', key: 20, pin: pinAt(mesh, 5) }),
    ];
    const set = setOf(one, two);
    expect([conflictsOf(set), spansOf(beta(set))]).toEqual([
      [],
      [
        [11, 1, 5],
        [20, 6, null],
      ],
    ]);
  });

  test('a rekey whose host nobody in standing brought gives it no value', () => {
    const addDana = signerAdd(at(craig, [genesis]), dana, ['*', 'charter']);
    const gamma = hostAdd(at(dana, [addDana]), 'gamma', 12);
    const change = hostRekey(at(craig, [gamma], 2), { name: 'gamma', key: 23, pin: pinAt(mesh, 3) });
    const thrownOut = signerRevoke(at(craig, [addDana], 3), 'dana');
    const set = setOf(addDana, gamma, change, thrownOut);
    expect(charterOf(set).hosts.has('gamma')).toBe(false);
    expect(conflictsOf(set)).toEqual(['CHARTER_FORK host:gamma']);
    const again = hostAdd(at(craig, [change, thrownOut], 4), 'gamma', 24);
    const after = addOps(set, [again]).set;
    expect([charterOf(after).hosts.get('gamma')?.sign.text, conflictsOf(after)]).toEqual([testKey(24).text, []]);
  });
});

describe('trust: a revoked host', () => {
  test('ends at its pin, for good: no rekey, no second life, no fork', () => {
    const end = revoke([addBeta], 5);
    const set = setOf(end);
    expect(beta(set)).toMatchObject({ status: 'revoked', end: 5, op: end.id });
    expect([spansOf(beta(set)), pinsOf(beta(set))]).toEqual([[[11, 1, 5]], [[5, pinAt(mesh, 5).link, end.id]]]);
    expect(codeOf(addOps(set, [rekey([end], 20, 9)]))).toBe('NO_SUCH_ITEM');
    expect(codeOf(addOps(set, [hostAdd(at(craig, [end], 2), 'beta', 22)]))).toBe('NAME_TAKEN');
    expect(conflictsOf(set)).toEqual([]);
  });

  test('of several revocations the lowest pin ends it, also beside a rekey that does not know of them', () => {
    const [high, low] = [revoke([addBeta], 9), revoke([addBeta], 4)];
    const other = rekey([addBeta], 20, 6);
    const set = setOf(high, other, low);
    expect(beta(set)).toMatchObject({ status: 'revoked', end: 4, op: low.id });
    expect([spansOf(beta(set)), conflictsOf(set)]).toEqual([[[11, 1, 4]], []]);
    expect(pinsOf(beta(set))).toEqual([[4, pinAt(mesh, 4).link, low.id]]);
  });

  test('one that was held because of a key is ended with its alarm', () => {
    const thief = hostAdd(at(craig, [addBeta], 5), 'gamma', 11);
    const held = setOf(thief);
    expect(conflictsOf(held)).toEqual(['KEY_REUSED host:gamma']);
    const end = hostRevoke(at(craig, [thief], 6), 'gamma', pinAt(mesh, 0));
    const after = addOps(held, [end]).set;
    expect([conflictsOf(after), [...charterOf(after).hosts.keys()]]).toEqual([[], ['alpha', 'beta']]);
    const change = hostRekey(at(craig, [thief], 7), { name: 'gamma', key: 25, pin: pinAt(mesh, 0) });
    expect(charterOf(addOps(held, [change]).set).hosts.get('gamma')?.status).toBe('active');
  });

  test('nobody revokes a host that its ancestors do not know', () => {
    expect(codeOf(addOps(setOf(), [hostRevoke(at(craig, [genesis], 2), 'beta', pinAt(mesh, 0))]))).toBe('NO_SUCH_ITEM');
  });
});

describe('trust: fork-proofs', () => {
  const proof = (seq: number, key = 11, source: TrustOp = addBeta, salt = 0): TrustOp =>
    forkProof(mesh, { host: 'beta', key, source: source.id, seq, salt });

  test('one cuts the log of its host just before its seq, whoever carried it; the keys still hold', () => {
    const set = setOf(proof(5));
    const host = beta(set);
    expect(host).toMatchObject({ status: 'forked', fork: 5, end: 4, pins: [] });
    expect(spansOf(host)).toEqual([[11, 1, null]]);
    expect(conflictsOf(set)).toEqual(['LOG_FORKED host:beta']);
    expect(trustHash(set)).not.toBe(trustHash(setOf()));
  });

  test('the lowest one is kept, of one seq the lower id: any order gives the same, and the trust hash knows the seq only', () => {
    const proofs = [proof(7), proof(5), proof(5, 11, addBeta, 1), proof(9)];
    const [one, two] = [setOf(...proofs), setOf(...proofs.toReversed())];
    expect(keptOps(one)).toEqual(keptOps(two));
    expect(beta(one)).toMatchObject({ fork: 5, end: 4 });
    const hashes = [setOf(proof(5)), setOf(proof(5, 11, addBeta, 1))].map((set) => [trustHash(set), keptHash(set)]);
    expect(hashes[0]).toEqual(hashes[1]);
    expect(addOps(one, [proof(6)])).toMatchObject({ added: [], dropped: [], pending: [] });
    expect(addOps(one, [proof(3)]).added).toHaveLength(1);
  });

  test('a rekey at or above it settles it, a rekey below does not', () => {
    const settled = setOf(proof(5), rekey([addBeta], 20, 5));
    expect(beta(settled)).toMatchObject({ status: 'active', fork: null, end: null });
    const below = setOf(proof(5), rekey([addBeta], 20, 4));
    // Behind the pin the old key signs nothing: what it proves there concerns nobody.
    expect(beta(below)).toMatchObject({ status: 'active', fork: null });
    const change = rekey([addBeta], 20, 4);
    expect(beta(setOf(proof(5, 20, change), change))).toMatchObject({ status: 'forked', fork: 5, end: 4 });
  });

  test('where rekeys disagree the log ends at a pin, and no proof, higher or lower, says more', () => {
    const disputed = setOf(rekey([addBeta], 20, 4), rekey([addBeta], 21, 6), proof(5));
    expect(beta(disputed)).toMatchObject({ status: 'active', fork: null, end: 4 });
    expect(charterOf(addOps(disputed, [proof(2)]).set)).toEqual(charterOf(disputed));
  });

  test('it comes back when the op that settled it falls', () => {
    const addDana = signerAdd(at(craig, [addBeta]), dana, ['*', 'charter']);
    const change = hostRekey(at(dana, [addDana], 2), { name: 'beta', key: 20, pin: pinAt(mesh, 6) });
    const thrownOut = signerRevoke(at(craig, [addDana], 3), 'dana');
    const settled = setOf(proof(5), addDana, change);
    expect(beta(settled)?.status).toBe('active');
    expect(beta(addOps(settled, [thrownOut]).set)).toMatchObject({ status: 'forked', fork: 5 });
  });

  test('who has not the key proves nothing, nor who has it for another host, seq or mesh', () => {
    const change = rekey([addBeta], 20, 4);
    const set = setOf(change);
    expect(codeOf(addOps(set, [proof(5, 12)]))).toBe('BAD_SIGNATURE');
    expect(codeOf(addOps(set, [proof(5, 10, genesis)]))).toBe('KEY_NOT_CURRENT');
    expect(codeOf(addOps(set, [proof(4, 20, change)]))).toBe('KEY_NOT_CURRENT');
    expect(
      codeOf(addOps(set, [forkProof('0'.repeat(64), { host: 'beta', key: 11, source: addBeta.id, seq: 1 })])),
    ).toBe('FOREIGN_MESH');
    expect(beta(set)?.fork).toBeNull();
  });

  test('one whose key nobody has brought yet waits for it', () => {
    const change = rekey([addBeta], 20, 4);
    const first = addOps(setOf(), [proof(5, 20, change)]);
    expect([first.added, first.pending]).toEqual([[], [proof(5, 20, change).id]]);
    expect(beta(addOps(first.set, [change]).set)?.fork).toBe(5);
  });

  test('two lines of a log that a host signed are a proof, made without anybody’s approval', () => {
    const line = (content: string, seq = 3): Line => {
      const stamp = { mesh, host: 'beta', session: 's', at: '2026-07-27T15:04:05.000Z', nonce: '0'.repeat(32) };
      const body = must(makeBody({ kind: 'question', subject: 'note/x', content }, stamp));
      return buildLine({ body, auth: null, log: 'beta', seq, prev: 'a'.repeat(64) }, (message) =>
        signEd25519(testKey(11).signing, message),
      );
    };
    const host = beta(setOf()) as CharterHost;
    const op = forkProofOf(mesh, host, [line('one'), line('two')]);
    expect(op).toBeDefined();
    expect(beta(setOf(...(op === undefined ? [] : [op])))).toMatchObject({ status: 'forked', fork: 3, end: 2 });
    for (const pair of [[line('one'), line('one')] as const, [line('one'), line('two', 4)] as const]) {
      expect(forkProofOf(mesh, host, pair)).toBeUndefined();
    }
  });
});

describe('trust: how much of a log is usable', () => {
  const links =
    (branch: string) =>
    (seq: number): string =>
      pinAt(mesh, seq, branch).link;

  test('all of it, without pins; up to the end, and no further than it is held', () => {
    const host = beta(setOf()) as CharterHost;
    expect(usableUpto(host, links('main'), 12)).toEqual({ upto: 12 });
    const ended = beta(setOf(revoke([addBeta], 5))) as CharterHost;
    expect(usableUpto(ended, links('main'), 12)).toEqual({ upto: 5 });
    expect(usableUpto(ended, links('main'), 3)).toEqual({ upto: 3 });
    expect(usableUpto(ended, links('main'), 0)).toEqual({ upto: 0 });
  });

  test('another link at a pin ends it at the last earlier pin that it matches', () => {
    const one = rekey([addBeta], 20, 5);
    const host = beta(setOf(one, rekey([one], 21, 9))) as CharterHost;
    expect(usableUpto(host, links('main'), 12)).toEqual({ upto: 12 });
    expect(usableUpto(host, links('side'), 12)).toEqual({ upto: 0, fault: 'WRONG_BRANCH' });
    expect(usableUpto(host, links('side'), 4)).toEqual({ upto: 4 });
    const later = (seq: number): string | undefined => (seq < 9 ? links('main')(seq) : undefined);
    expect(usableUpto(host, later, 12)).toEqual({ upto: 5, fault: 'WRONG_BRANCH' });
  });

  test('a pin before the first line matches every log; a fork cuts below its seq', () => {
    const host = beta(setOf(rekey([addBeta], 20, 0))) as CharterHost;
    expect(usableUpto(host, links('side'), 12)).toEqual({ upto: 12 });
    const forked = beta(setOf(forkProof(mesh, { host: 'beta', key: 11, source: addBeta.id, seq: 4 }))) as CharterHost;
    expect(usableUpto(forked, links('main'), 12)).toEqual({ upto: 3 });
  });
});

import { describe, expect, test } from 'vitest';
import { trustOpsMax, trustPendingMax, trustPrevMax } from '../../../../src/core/limits.ts';
import { charterOf } from '../../../../src/core/trust/charter.ts';
import { hostAddBody } from '../../../../src/core/trust/build.ts';
import { previewOp } from '../../../../src/core/trust/preview.ts';
import {
  finishTrustOp,
  parseTrustForm,
  parseTrustOp,
  trustOpMessage,
  type OfferedOp,
  type TrustOp,
} from '../../../../src/core/trust/op.ts';
import {
  addOps,
  emptyTrustSet,
  maximalOps,
  trustHash,
  validOps,
  type Added,
  type TrustSet,
} from '../../../../src/core/trust/set.ts';
import { canonicalJson, type JsonValue } from '../../../../src/crypto/canonical.ts';
import { sha256Hex } from '../../../../src/crypto/hash.ts';
import { rsaPublicText } from '../../../lib/other-keys.ts';
import {
  approverOf,
  classAdd,
  craig,
  genesisOf,
  hostAdd,
  hostFields,
  must,
  otherOp,
  placesIn,
  signerAdd,
  sshsigOf,
  stampOf,
  testSigner,
  type TestSigner,
} from '../../../lib/trust-ops.ts';

const genesis = genesisOf();
const mesh = genesis.id;
const at = placesIn(mesh);
const dana = testSigner('dana', 2);
const erin = testSigner('erin', 3);
const mallory = testSigner('mallory', 4);
const everything = ['*', 'charter'];

function start(...ops: readonly TrustOp[]): TrustSet {
  return addOps(emptyTrustSet(mesh), [genesis, ...ops]).set;
}

/** The one reason why an op with all ancestors held was dropped. */
function codeOf(added: Added): string | undefined {
  expect(added.added).toEqual([]);
  expect(added.pending).toEqual([]);
  expect(added.dropped).toHaveLength(1);
  return added.dropped[0]?.code;
}

describe('trust set: union', () => {
  test('an empty set knows its mesh and has an empty charter', () => {
    const set = emptyTrustSet(mesh);
    expect(maximalOps(set)).toEqual([]);
    expect(validOps(set)).toEqual([]);
    expect(charterOf(set).hosts.size).toBe(0);
    expect(trustHash(set)).toBe(sha256Hex('[]'));
  });

  test('the genesis of the pinned mesh counts, any other genesis is dropped', () => {
    const other = genesisOf(mallory);
    expect(addOps(emptyTrustSet(mesh), [genesis]).added).toEqual([mesh]);
    expect(codeOf(addOps(emptyTrustSet(mesh), [other]))).toBe('FOREIGN_MESH');
    expect(codeOf(addOps(start(), [other]))).toBe('FOREIGN_MESH');
  });

  test('a genesis with a broken approval is dropped, and the real one still gets in', () => {
    const broken = {
      ...genesis,
      auth: { ...genesis.auth, sshsig: sshsigOf(mallory.key, 'x', 'memd-trust') },
    } as TrustOp;
    const first = addOps(emptyTrustSet(mesh), [broken]);
    expect(codeOf(first)).toBe('BAD_SIGNATURE');
    expect(addOps(first.set, [genesis]).added).toEqual([mesh]);
  });

  test('duplicates change nothing', () => {
    const beta = hostAdd(at(craig, [genesis]), 'beta', 11);
    const set = start(beta);
    const again = addOps(set, [beta, genesis, beta]);
    expect(again).toMatchObject({ added: [], pending: [], dropped: [], unsupported: [] });
    expect(trustHash(again.set)).toBe(trustHash(set));
  });

  test('the argument is never changed', () => {
    const set = start();
    const hash = trustHash(set);
    addOps(set, [hostAdd(at(craig, [genesis]), 'beta', 11)]);
    expect(trustHash(set)).toBe(hash);
    expect(charterOf(set).hosts.has('beta')).toBe(false);
  });

  test('the trust hash is the sha256 of the sorted list of valid ids', () => {
    const beta = hostAdd(at(craig, [genesis]), 'beta', 11);
    const ids = [mesh, beta.id].toSorted((a, b) => (a < b ? -1 : 1));
    expect(trustHash(start(beta))).toBe(sha256Hex(JSON.stringify(ids)));
  });

  test('another approval of the same body is the same op', () => {
    const beta = hostAdd(at(craig, [genesis]), 'beta', 11);
    const set = start(beta);
    const message = trustOpMessage(beta.body);
    const respelled = must(
      finishTrustOp(beta.body as never, { ...approverOf(craig), sshsig: sshsigOf(mallory.key, message, 'memd-trust') }),
    );
    expect(respelled.id).toBe(beta.id);
    expect(addOps(set, [respelled])).toMatchObject({ added: [], dropped: [] });
  });
});

describe('trust set: pending', () => {
  const beta = hostAdd(at(craig, [genesis]), 'beta', 11);
  const gamma = hostAdd(at(craig, [beta]), 'gamma', 12);

  test('an op whose ancestor is missing waits, out of the hash and the charter', () => {
    const { set, pending, added } = addOps(start(), [gamma]);
    expect(pending).toEqual([gamma.id]);
    expect(added).toEqual([]);
    expect(trustHash(set)).toBe(trustHash(start()));
    expect(charterOf(set).hosts.has('gamma')).toBe(false);
  });

  test('it enters when the ancestor arrives, which is reported ancestors first', () => {
    const waiting = addOps(start(), [gamma]).set;
    const done = addOps(waiting, [beta]);
    expect(done.added).toEqual([beta.id, gamma.id]);
    expect(done.set.pending.size).toBe(0);
  });

  test('everything may wait for the genesis', () => {
    const waiting = addOps(emptyTrustSet(mesh), [gamma, beta]).set;
    expect(addOps(waiting, [genesis]).added).toEqual([mesh, beta.id, gamma.id]);
  });

  test('a waiting copy with a broken approval does not take the place of the real op', () => {
    const broken = must(finishTrustOp(gamma.body as never, { ...approverOf(craig), sshsig: 'AAAA' }));
    expect(broken.id).toBe(gamma.id);
    const waiting = addOps(addOps(start(), [broken], 'mallory').set, [gamma], 'alpha').set;
    const done = addOps(waiting, [beta]);
    expect(done.added).toEqual([beta.id, gamma.id]);
    expect(charterOf(done.set).hosts.has('gamma')).toBe(true);
  });

  test('the descendant of an invalid op never enters', () => {
    const invalid = hostAdd(at(mallory, [genesis]), 'evil', 66);
    const child = hostAdd(at(craig, [invalid]), 'gamma', 12);
    const result = addOps(start(), [child, invalid]);
    expect(result.added).toEqual([]);
    expect(result.dropped.map(({ id, code }) => [id, code])).toEqual([[invalid.id, 'NOT_A_SIGNER']]);
    expect(result.pending).toEqual([child.id]);
  });

  test('a peer may park a bounded number, and its junk pushes out nobody else’s', () => {
    const missing = 'f'.repeat(64);
    const junk = Array.from({ length: trustPendingMax + 3 }, (_, nonce) =>
      must(parseTrustOp(gamma.text.replace(beta.id, missing).replace(stampOf(1).nonce, stampOf(nonce).nonce))),
    );
    const honest = addOps(start(), [gamma], 'alpha').set;
    const flooded = addOps(honest, junk, 'mallory');
    expect(flooded.dropped.map(({ code }) => code)).toEqual(['PENDING_FULL', 'PENDING_FULL', 'PENDING_FULL']);
    expect(flooded.set.pending.size).toBe(trustPendingMax + 1);
    expect(addOps(flooded.set, [beta]).added).toEqual([beta.id, gamma.id]);
  });
});

describe('trust set: who may do what', () => {
  test('a stranger may nothing', () => {
    expect(codeOf(addOps(start(), [hostAdd(at(mallory, [genesis]), 'evil', 66)]))).toBe('NOT_A_SIGNER');
    expect(codeOf(addOps(start(), [signerAdd(at(mallory, [genesis]), mallory, everything)]))).toBe('NOT_A_SIGNER');
  });

  test('a stranger who takes the name of a signer may nothing', () => {
    const impostor = testSigner('craig', 4);
    expect(codeOf(addOps(start(), [hostAdd(at(impostor, [genesis]), 'evil', 66)]))).toBe('NOT_A_SIGNER');
  });

  test('a body that names the right approver with somebody else’s signature is refused', () => {
    const { body } = hostAdd(at(craig, [genesis]), 'evil', 66);
    const sshsig = sshsigOf(mallory.key, trustOpMessage(body), 'memd-trust');
    const forged = must(finishTrustOp(body as never, { ...approverOf(craig), sshsig }));
    expect(codeOf(addOps(start(), [forged]))).toBe('BAD_SIGNATURE');
  });

  test('an approval made for an event is none for an op', () => {
    const { body } = hostAdd(at(craig, [genesis]), 'beta', 11);
    const sshsig = sshsigOf(craig.key, trustOpMessage(body), 'memd-event');
    const moved = must(finishTrustOp(body as never, { ...approverOf(craig), sshsig }));
    expect(codeOf(addOps(start(), [moved]))).toBe('BAD_SIGNATURE');
  });

  test('an op of another mesh cannot be replayed here', () => {
    const elsewhere = genesisOf(craig, { name: 'elsewhere' });
    const there = hostAdd({ mesh: elsewhere.id, by: craig, prev: [elsewhere.id], nonce: 1 }, 'evil', 66);
    const here = hostAdd({ mesh: elsewhere.id, by: craig, prev: [mesh], nonce: 1 }, 'evil', 66);
    expect(addOps(start(), [there])).toMatchObject({ added: [], pending: [there.id] });
    expect(codeOf(addOps(start(), [here]))).toBe('FOREIGN_MESH');
  });

  test('a signer is one from its add on, not before and not beside it', () => {
    const add = signerAdd(at(craig, [genesis]), dana, everything);
    expect(addOps(start(add), [hostAdd(at(dana, [add]), 'beta', 11)]).added).toHaveLength(1);
    expect(codeOf(addOps(start(add), [hostAdd(at(dana, [genesis]), 'beta', 11)]))).toBe('NOT_A_SIGNER');
  });

  test('without the scope charter a signer approves no op', () => {
    const add = signerAdd(at(craig, [genesis]), dana, ['*']);
    expect(codeOf(addOps(start(add), [hostAdd(at(dana, [add]), 'beta', 11)]))).toBe('OUT_OF_SCOPE');
  });

  test('a signer grants only scopes that it has', () => {
    const add = signerAdd(at(craig, [genesis]), dana, ['charter', 'note/*']);
    const granted = signerAdd(at(dana, [add]), erin, ['charter', 'note/a*']);
    expect(addOps(start(add), [granted]).added).toEqual([granted.id]);
    for (const scopes of [['*'], ['purge'], ['charter', 'note/*', 'policy/*']]) {
      expect(codeOf(addOps(start(add), [signerAdd(at(dana, [add]), erin, scopes)]))).toBe('SCOPE_NOT_HELD');
    }
  });

  test('names of hosts and signers are used once, also by those who made them', () => {
    const add = signerAdd(at(craig, [genesis]), dana, everything);
    const beta = hostAdd(at(craig, [add]), 'beta', 11);
    const set = start(add, beta);
    expect(codeOf(addOps(set, [signerAdd(at(craig, [beta]), testSigner('dana', 7), ['*'])]))).toBe('NAME_TAKEN');
    expect(codeOf(addOps(set, [signerAdd(at(dana, [beta]), dana, ['*'])]))).toBe('NAME_TAKEN');
    expect(codeOf(addOps(set, [hostAdd(at(craig, [beta]), 'beta', 12)]))).toBe('NAME_TAKEN');
    expect(codeOf(addOps(set, [hostAdd(at(craig, [genesis]), 'alpha', 12)]))).toBe('NAME_TAKEN');
    expect(codeOf(addOps(set, [signerAdd(at(dana, [add]), testSigner('craig', 7), ['*'])]))).toBe('NAME_TAKEN');
  });
});

describe('trust set: what this version cannot apply is loud', () => {
  test('an approved op of another kind is reported with its name, kept, and alarms until it goes', () => {
    const revoke = otherOp(at(craig, [genesis]), 'host-rename', { name: 'alpha' });
    const result = addOps(start(), [revoke]);
    expect(result.unsupported).toEqual([{ id: revoke.id, op: 'host-rename' }]);
    expect(result.added).toEqual([]);
    expect(result.dropped).toEqual([]);
    expect(trustHash(result.set)).toBe(trustHash(start()));
    expect(charterOf(result.set).conflicts).toEqual([
      { kind: 'OP_UNSUPPORTED', item: 'host-rename', ops: [revoke.id], detail: 'not supported yet: host-rename' },
    ]);
  });

  test('it is reported again whenever it is offered, and what descends from it waits', () => {
    const revoke = otherOp(at(craig, [genesis]), 'host-rename');
    const child = hostAdd(at(craig, [revoke]), 'beta', 11);
    const first = addOps(start(), [child, revoke]);
    expect(first.pending).toEqual([child.id]);
    expect(first.unsupported).toHaveLength(1);
    expect(addOps(first.set, [revoke]).unsupported).toHaveLength(1);
    expect(addOps(first.set, []).set.unsupported.size).toBe(1);
  });

  test('nobody else can raise that alarm: not a stranger, not a forger, not a signer without the scope', () => {
    const add = signerAdd(at(craig, [genesis]), dana, ['*', 'charter']);
    const limited = signerAdd(at(craig, [add]), erin, ['*']);
    const set = start(add, limited);
    expect(codeOf(addOps(set, [otherOp(at(mallory, [genesis]), 'host-rename')]))).toBe('NOT_A_SIGNER');
    expect(codeOf(addOps(set, [otherOp(at(erin, [limited]), 'host-rename')]))).toBe('OUT_OF_SCOPE');
    const { body } = otherOp(at(craig, [genesis]), 'host-rename');
    const forged = must(finishTrustOp(body as never, { ...approverOf(craig), sshsig: 'AAAA' }));
    expect(codeOf(addOps(set, [forged]))).toBe('BAD_SIGNATURE');
  });
});

describe('trust set: keys of signers', () => {
  test('a signer with a key of another type counts, and a host with one is no op', () => {
    const key = rsaPublicText;
    const op = otherOp(at(craig, [genesis]), 'signer-add', { name: 'dana', key, scopes: ['*'] });
    const { set, added } = addOps(start(), [op]);
    expect(added).toEqual([op.id]);
    expect(charterOf(set).signers.get('dana')?.key).toMatchObject({ type: 'ssh-rsa', text: key });
    const { body } = otherOp(at(craig, [genesis]), 'host-later', { ...hostFields('beta', 11), sign: key });
    const approval = { ...approverOf(craig), sshsig: 'AAAA' };
    expect(finishTrustOp({ ...body, op: 'host-add' } as never, approval)).toMatchObject({ ok: false, code: 'BAD_KEY' });
  });
});

describe('trust set: prev of a new op, and the preview', () => {
  test('prev is the maximal ops, sorted', () => {
    const one = hostAdd(at(craig, [genesis]), 'beta', 11);
    const two = classAdd(at(craig, [genesis]), 'tool');
    expect(maximalOps(start(one, two))).toEqual([one.id, two.id].toSorted((a, b) => (a < b ? -1 : 1)));
    const joined = hostAdd(at(craig, [one, two]), 'gamma', 12);
    expect(maximalOps(start(one, two, joined))).toEqual([joined.id]);
  });

  test('when there are more than a prev may name, those that know most come first', () => {
    const add = signerAdd(at(craig, [genesis]), dana, everything);
    const flood = Array.from({ length: trustPrevMax + 20 }, (_, nonce) =>
      classAdd(at(craig, [genesis], nonce), `c${nonce}`),
    );
    const set = start(add, hostAdd(at(dana, [add]), 'beta', 11), ...flood);
    const prev = maximalOps(set);
    expect(prev).toHaveLength(trustPrevMax);
    expect(addOps(set, [classAdd({ mesh, by: dana, prev, nonce: 999 }, 'tool')]).added).toHaveLength(1);
  });

  const beta = hostAdd(at(craig, [genesis]), 'beta', 11);
  const set = start(beta);
  const place = { mesh, by: approverOf(craig), prev: maximalOps(set) };
  function preview(name: string, key: number, prev: readonly string[] = place.prev): string {
    const verdict = previewOp(set, must(hostAddBody({ ...place, prev, ...hostFields(name, key) }, stampOf(5))));
    return verdict.ok ? 'ok' : verdict.code;
  }

  test('the preview says what a signature would be worth, before anybody signs', () => {
    expect(preview('gamma', 12)).toBe('ok');
    expect(preview('beta', 12)).toBe('NAME_TAKEN');
    expect(preview('gamma', 11)).toBe('KEY_REUSED');
    expect(preview('beta', 12, [mesh])).toBe('CHARTER_FORK');
    expect(preview('gamma', 12, ['f'.repeat(64)])).toBe('PENDING');
    const foreign = must(hostAddBody({ ...place, by: approverOf(mallory), ...hostFields('gamma', 12) }, stampOf(5)));
    expect(previewOp(set, foreign)).toMatchObject({ ok: false, code: 'NOT_A_SIGNER' });
  });
});

describe('trust set: keys are read last', () => {
  /** An op of this form whose keys are none, approved by its `by`. */
  function withoutKeys(by: TestSigner, mended: (text: string) => string = (text) => text): OfferedOp {
    const place = { mesh, by: approverOf(by), prev: [mesh] };
    const body = must(hostAddBody({ ...place, ...hostFields('beta', 11) }, stampOf(7)));
    const broken = { ...body, sign: 'ssh-ed25519 AAAA' };
    const auth = { ...approverOf(by), sshsig: mended(sshsigOf(by.key, trustOpMessage(broken), 'memd-trust')) };
    return must(parseTrustForm(canonicalJson({ auth, body: broken } as unknown as JsonValue)));
  }

  test('of an op that no signer approved no key is looked at: it may be one of thousands', () => {
    expect(codeOf(addOps(start(), [withoutKeys(mallory)]))).toBe('NOT_A_SIGNER');
    expect(codeOf(addOps(start(), [withoutKeys(craig, (sshsig) => sshsig.replace('A', 'B'))]))).toBe('BAD_SIGNATURE');
  });

  test('an op that a signer approved is dropped for its keys, and no text passes for one that was read', () => {
    const op = withoutKeys(craig);
    expect(codeOf(addOps(start(), [op]))).toBe('BAD_KEY');
    expect(parseTrustOp(op.text)).toMatchObject({ ok: false, code: 'BAD_KEY' });
    expect(addOps(start(), [op]).set.held.size).toBe(1);
  });

  test('ops whose keys come later make the same set, also those that wait for an ancestor', () => {
    const addDana = signerAdd(at(craig, [genesis]), dana, everything);
    const ops = [genesis, addDana, hostAdd(at(dana, [addDana]), 'beta', 11)];
    const unread = ops.map(({ text }) => must(parseTrustForm(text)));
    expect(unread.map((op) => op.unsupported === null && op.auth !== null && op.keys)).toEqual([null, null, null]);
    const later = addOps(addOps(emptyTrustSet(mesh), unread.slice(1)).set, unread.slice(0, 1)).set;
    expect(charterOf(later)).toEqual(charterOf(start(...ops.slice(1))));
    expect([...later.held.values()].every(({ op }) => op.keys.size > 0)).toBe(true);
  });
});

describe('trust set: size', () => {
  test('a chain of 1 000 ops is taken op by op or at once, with the same result', () => {
    const chain: TrustOp[] = [genesis];
    for (let nonce = 1; nonce < 1_000; nonce += 1) chain.push(classAdd(at(craig, chain.slice(-1), nonce), `c${nonce}`));
    const whole = addOps(emptyTrustSet(mesh), chain.toReversed());
    expect(whole.added).toHaveLength(1_000);
    const half = addOps(emptyTrustSet(mesh), chain.slice(0, 500)).set;
    expect(trustHash(addOps(half, chain.slice(500)).set)).toBe(trustHash(whole.set));
  });

  test('a full set refuses more, loudly', () => {
    const one = start().held.get(mesh);
    if (one === undefined) throw new Error('the genesis is held');
    const copies = Array.from({ length: trustOpsMax - 1 }, (_, index) => ({
      ...one,
      op: { ...one.op, id: `${index}` },
    }));
    const full: TrustSet = { ...start(), held: new Map([one, ...copies].map((held) => [held.op.id, held])) };
    expect(codeOf(addOps(full, [hostAdd(at(craig, [genesis]), 'beta', 11)]))).toBe('SET_FULL');
  });
});

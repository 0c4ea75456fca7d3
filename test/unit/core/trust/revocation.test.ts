import { describe, expect, test } from 'vitest';
import { signerAddBody, signerRevokeBody } from '../../../../src/core/trust/build.ts';
import { charterOf } from '../../../../src/core/trust/charter.ts';
import { opNotes } from '../../../../src/core/trust/history.ts';
import type { TrustOp } from '../../../../src/core/trust/op.ts';
import { fallenBy, headsWithout, previewOp } from '../../../../src/core/trust/preview.ts';
import { addOps, emptyTrustSet, maximalOps, type Added, type TrustSet } from '../../../../src/core/trust/set.ts';
import {
  approverOf,
  classAdd,
  craig,
  genesisOf,
  hostAdd,
  must,
  otherOp,
  pinAt,
  placesIn,
  signerAdd,
  signerRevoke,
  stampOf,
  testSigner,
} from '../../../lib/trust-ops.ts';

const genesis = genesisOf();
const mesh = genesis.id;
const at = placesIn(mesh);
const dana = testSigner('dana', 2);
const erin = testSigner('erin', 3);
const mallory = testSigner('mallory', 4);
const puppet = testSigner('puppet', 7);
const everything = ['*', 'charter'];

function setOf(...ops: readonly TrustOp[]): TrustSet {
  return addOps(emptyTrustSet(mesh), [genesis, ...ops]).set;
}

function codeOf({ dropped }: Added): string | undefined {
  return dropped[0]?.code;
}

function statusOf(set: TrustSet, name: string): string | undefined {
  return charterOf(set).signers.get(name)?.status;
}

const addDana = signerAdd(at(craig, [genesis]), dana, everything);
const addMallory = signerAdd(at(craig, [addDana]), mallory, everything);

describe('trust: a revoked signer', () => {
  test('stays in the charter with its key, its marks and who revoked it', () => {
    const revoke = signerRevoke(at(craig, [addDana]), 'dana', { alpha: pinAt(mesh, 7) });
    const signer = charterOf(setOf(addDana, revoke)).signers.get('dana');
    expect(signer).toMatchObject({ status: 'revoked', scopes: everything, rank: 1, op: addDana.id });
    expect(signer?.key.text).toBe(dana.key.text);
    expect(signer?.revocations).toEqual([
      { op: revoke.id, by: approverOf(craig), marks: new Map([['alpha', pinAt(mesh, 7)]]) },
    ]);
  });

  /*  genesis ── dana ── beta ── revoke dana        beta is known to the revocation, gamma is not
   *              └── gamma                                                                     */
  test('keeps what the revocation knows and loses the rest, in any order of arrival', () => {
    const beta = hostAdd(at(dana, [addDana]), 'beta', 11);
    const gamma = hostAdd(at(dana, [addDana], 2), 'gamma', 12);
    const revoke = signerRevoke(at(craig, [beta]), 'dana');
    for (const ops of [
      [addDana, beta, gamma, revoke],
      [revoke, gamma, beta, addDana],
      [addDana, beta, revoke, gamma],
    ]) {
      const set = setOf(...ops);
      expect([...charterOf(set).hosts.keys()]).toEqual(['alpha', 'beta']);
      const note = opNotes(set).find(({ id }) => id === gamma.id);
      expect(note).toMatchObject({ op: 'host-add', counts: false, voidedBy: [revoke.id] });
      expect(maximalOps(set)).toEqual([revoke.id]);
    }
  });

  test('cannot approve anything that knows of the revocation', () => {
    const revoke = signerRevoke(at(craig, [addDana]), 'dana');
    expect(codeOf(addOps(setOf(addDana, revoke), [hostAdd(at(dana, [revoke]), 'beta', 11)]))).toBe('NOT_A_SIGNER');
  });

  test('cannot bring itself or anybody else back from the past, whatever it revokes or adds there', () => {
    const revoke = signerRevoke(at(craig, [addDana, addMallory]), 'dana');
    const set = setOf(addDana, addMallory, revoke);
    const before = charterOf(set);
    const addPuppet = signerAdd(at(dana, [addMallory], 3), puppet, everything);
    const attack = [
      addPuppet,
      hostAdd(at(puppet, [addPuppet], 4), 'evil', 13),
      signerRevoke(at(dana, [addMallory], 5), 'mallory'),
      signerRevoke(at(dana, [addDana], 6), 'dana'),
      signerRevoke(at(puppet, [addPuppet], 7), 'dana'),
      classAdd(at(dana, [addDana], 8), 'note', { claims: 'rule' }),
      otherOp(at(dana, [addDana], 9), 'host-rename', { name: 'alpha' }),
    ];
    const after = addOps(set, attack);
    expect(charterOf(after.set)).toEqual(before);
    expect(after.unsupported).toEqual([]);
  });

  test('whom it added stays if the revocation knows of it, and falls with all it approved otherwise', () => {
    const addErin = signerAdd(at(dana, [addDana]), erin, everything);
    const beta = hostAdd(at(erin, [addErin]), 'beta', 11);
    const knowing = signerRevoke(at(craig, [beta], 2), 'dana');
    expect(statusOf(setOf(addDana, addErin, beta, knowing), 'erin')).toBe('active');
    const unaware = signerRevoke(at(craig, [addDana], 2), 'dana');
    const set = setOf(addDana, addErin, beta, unaware);
    expect([statusOf(set, 'erin'), [...charterOf(set).hosts.keys()]]).toEqual([undefined, ['alpha']]);
    expect(
      opNotes(set)
        .filter(({ counts }) => !counts)
        .map(({ id, voidedBy }) => [id, voidedBy]),
    ).toEqual([
      [addErin.id, [unaware.id]],
      [beta.id, [unaware.id]],
    ]);
  });

  test('the name of a revoked signer is used up', () => {
    const revoke = signerRevoke(at(craig, [addDana]), 'dana');
    const again = signerAdd(at(craig, [revoke], 2), testSigner('dana', 5), everything);
    expect(codeOf(addOps(setOf(addDana, revoke), [again]))).toBe('NAME_TAKEN');
  });

  test('two revocations both bound it: what either does not know falls', () => {
    const beta = hostAdd(at(dana, [addDana]), 'beta', 11);
    const gamma = hostAdd(at(dana, [addDana], 2), 'gamma', 12);
    const one = signerRevoke(at(craig, [beta], 3), 'dana');
    const two = signerRevoke(at(craig, [gamma], 4), 'dana');
    const { hosts, signers } = charterOf(setOf(addDana, beta, gamma, one, two));
    expect([...hosts.keys()]).toEqual(['alpha']);
    expect(signers.get('dana')?.revocations.map(({ op }) => op)).toEqual([one.id, two.id].toSorted());
  });
});

describe('trust: who may revoke whom', () => {
  const [first, second] = addDana.id < addMallory.id ? [dana, mallory] : [mallory, dana];

  test('a junior does not revoke a senior, not even from a past in which it was alone', () => {
    const set = setOf(addDana, addMallory);
    expect(codeOf(addOps(set, [signerRevoke(at(dana, [addMallory]), 'craig')]))).toBe('OUTRANKED');
    expect(codeOf(addOps(set, [signerRevoke(at(second, [addMallory]), first.name)]))).toBe('OUTRANKED');
    expect(addOps(set, [signerRevoke(at(first, [addMallory]), second.name)]).dropped).toEqual([]);
  });

  test('of two who revoke each other the one who ranks first stays', () => {
    const one = signerRevoke(at(dana, [addMallory]), 'mallory');
    const other = signerRevoke(at(mallory, [addMallory], 2), 'dana');
    const set = setOf(addDana, addMallory, one, other);
    expect([statusOf(set, first.name), statusOf(set, second.name)]).toEqual(['active', 'revoked']);
  });

  test('nobody that the ancestors do not know is revoked, and a signer without the scope revokes nobody', () => {
    const addErin = signerAdd(at(craig, [genesis], 5), erin, ['*']);
    const set = setOf(addErin, addDana);
    expect(codeOf(addOps(set, [signerRevoke(at(craig, [genesis]), 'dana')]))).toBe('NO_SUCH_ITEM');
    expect(codeOf(addOps(set, [signerRevoke(at(erin, [addErin]), 'erin')]))).toBe('OUT_OF_SCOPE');
  });

  test('the last charter signer cannot leave; one of two can', () => {
    expect(codeOf(addOps(setOf(), [signerRevoke(at(craig, [genesis]), 'craig')]))).toBe('LAST_SIGNER');
    const limited = signerAdd(at(craig, [genesis]), dana, ['*']);
    expect(codeOf(addOps(setOf(limited), [signerRevoke(at(craig, [limited]), 'craig')]))).toBe('LAST_SIGNER');
    const leave = signerRevoke(at(craig, [addDana]), 'craig');
    expect(statusOf(setOf(addDana, leave), 'craig')).toBe('revoked');
  });

  test('two who leave at the same time do not leave the mesh without anybody', () => {
    const craigLeaves = signerRevoke(at(craig, [addDana]), 'craig');
    const danaLeaves = signerRevoke(at(dana, [addDana], 2), 'dana');
    const set = setOf(addDana, craigLeaves, danaLeaves);
    expect([statusOf(set, 'craig'), statusOf(set, 'dana')]).toEqual(['revoked', 'active']);
    const notes = opNotes(set).filter(({ op }) => op === 'signer-revoke');
    expect(Object.fromEntries(notes.map(({ id, inForce }) => [id, inForce]))).toEqual({
      [craigLeaves.id]: true,
      [danaLeaves.id]: false,
    });
  });

  test('a signer who rotated to a new name goes on under it', () => {
    const added = signerAdd(at(craig, [genesis]), testSigner('craig-2', 8), ['*', 'charter', 'purge']);
    const left = signerRevoke(at(craig, [added], 2), 'craig');
    const beta = hostAdd(at(testSigner('craig-2', 8), [left], 3), 'beta', 11);
    const { hosts, signers } = charterOf(setOf(added, left, beta));
    expect([...hosts.keys()]).toEqual(['alpha', 'beta']);
    expect([...signers.values()].map(({ name, status }) => [name, status])).toEqual([
      ['craig', 'revoked'],
      ['craig-2', 'active'],
    ]);
  });

  test('a name of two keys is revoked as a whole, but nobody who ranks before the revoker', () => {
    const otherDana = testSigner('dana', 5);
    const addOther = signerAdd(at(mallory, [addMallory], 6), otherDana, everything);
    // mallory ranks before the dana that she added; the dana of craig keeps the name.
    const pulled = signerAdd(at(craig, [genesis], 7), mallory, everything);
    const late = signerAdd(at(mallory, [pulled], 8), otherDana, everything);
    const revoke = signerRevoke(at(mallory, [late], 9), 'dana');
    const set = setOf(pulled, late, revoke, addDana);
    const isBefore = addDana.id < pulled.id;
    expect(statusOf(set, 'dana')).toBe(isBefore ? 'active' : 'revoked');
    expect(codeOf(addOps(setOf(addDana, addMallory), [addOther]))).toBe('NAME_TAKEN');
  });
});

describe('trust: keys that were rotated out and found', () => {
  const newDana = testSigner('dana-2', 8);
  const addNew = signerAdd(at(dana, [addDana], 2), newDana, everything);
  const left = signerRevoke(at(dana, [addNew], 3), 'dana');
  const unaware = signerRevoke(at(dana, [addDana], 4), 'dana');

  test('an old key makes ops of its signer fall, the new key too, and gains nothing', () => {
    const set = setOf(addDana, addNew, left);
    expect(statusOf(set, 'dana-2')).toBe('active');
    const addPuppet = signerAdd(at(dana, [addDana], 5), puppet, everything);
    const after = addOps(set, [addPuppet, unaware]).set;
    expect(['dana', 'dana-2', 'puppet'].map((name) => statusOf(after, name))).toEqual([
      'revoked',
      undefined,
      undefined,
    ]);
  });

  test('a revocation by somebody senior ends that', () => {
    const ended = signerRevoke(at(craig, [left], 6), 'dana');
    const set = setOf(addDana, addNew, left, ended);
    const after = addOps(set, [unaware]).set;
    expect(charterOf(after)).toEqual(charterOf(set));
    expect(statusOf(after, 'dana-2')).toBe('active');
  });

  test('the key of the first signer takes the mesh back, also after it was rotated out: known, and documented', () => {
    const gone = signerRevoke(at(craig, [addDana], 7), 'craig');
    const set = setOf(addDana, gone);
    const addPuppet = signerAdd(at(craig, [genesis], 8), puppet, everything);
    const lower = Array.from({ length: 200 }, (_, nonce) => signerRevoke(at(craig, [addPuppet], 100 + nonce), 'craig'));
    const found = lower.find(({ id }) => id < gone.id) as TrustOp;
    expect(statusOf(addOps(set, [addPuppet, found]).set, 'puppet')).toBe('active');
    // Nobody else's: the same from a host, a stranger or a junior is dropped.
    expect(addOps(set, [signerRevoke(at(mallory, [genesis], 9), 'craig')]).dropped).toHaveLength(1);
  });
});

describe('trust: what a revocation will void, before it is signed', () => {
  const beta = hostAdd(at(dana, [addDana]), 'beta', 11);
  const gamma = hostAdd(at(mallory, [beta, addMallory], 2), 'gamma', 12);
  const set = setOf(addDana, addMallory, beta, gamma);
  const place = { mesh, by: approverOf(craig), name: 'dana', marks: {} };

  test('nothing, if it knows everything that is held', () => {
    const body = must(signerRevokeBody({ ...place, prev: maximalOps(set) }, stampOf(9)));
    expect([previewOp(set, body), fallenBy(set, body)]).toEqual([{ ok: true, value: true }, []]);
  });

  test('the ops that it leaves out, and not what others approved knowing them', () => {
    const prev = headsWithout(set, [beta.id]);
    const body = must(signerRevokeBody({ ...place, prev }, stampOf(9)));
    expect(prev).toEqual([addMallory.id]);
    expect([previewOp(set, body), fallenBy(set, body)]).toEqual([{ ok: true, value: true }, [beta.id]]);
  });

  test('a body that would be void, or have no effect, is refused beforehand', () => {
    const revoked = addOps(set, [signerRevoke(at(craig, [gamma], 3), 'dana')]).set;
    const add = { mesh, by: approverOf(dana), name: 'erin', key: erin.key.text, scopes: everything };
    const fromThePast = must(signerAddBody({ ...add, prev: [addDana.id] }, stampOf(9)));
    expect(previewOp(revoked, fromThePast)).toMatchObject({ ok: false, code: 'NO_EFFECT' });
    const leaves = addOps(setOf(addDana), [signerRevoke(at(craig, [addDana], 4), 'craig')]).set;
    const last = must(signerRevokeBody({ ...place, by: approverOf(dana), prev: [addDana.id] }, stampOf(9)));
    expect(previewOp(leaves, last)).toMatchObject({ ok: false, code: 'NO_EFFECT' });
  });
});

/** The bound on a trust set, with a small one in its place: what fills a set must not keep out what empties it. */
import { expect, test, vi } from 'vitest';
import { trustOpsMax, trustVoidMax } from '../../../../src/core/limits.ts';
import { charterOf } from '../../../../src/core/trust/charter.ts';
import type { TrustBody, TrustOp } from '../../../../src/core/trust/op.ts';
import { headsOfSigners, previewOp } from '../../../../src/core/trust/preview.ts';
import { addOps, emptyTrustSet, keptHash, keptOps, trustHash, type TrustSet } from '../../../../src/core/trust/set.ts';
import {
  classAdd,
  craig,
  genesisOf,
  otherOp,
  placesIn,
  policySet,
  signerAdd,
  signerRevoke,
  testSigner,
} from '../../../lib/trust-ops.ts';

vi.mock('../../../../src/core/limits.ts', async (original) => ({ ...(await original<object>()), trustOpsMax: 400 }));

const genesis = genesisOf();
const mesh = genesis.id;
const at = placesIn(mesh);
const dana = testSigner('dana', 2);
const addDana = signerAdd(at(craig, [genesis]), dana, ['*', 'charter']);
const revoke = signerRevoke(at(craig, [addDana]), 'dana');
const flood = Array.from({ length: trustOpsMax + 50 }, (_, index) => floodOp(index));

function floodOp(index: number): TrustOp {
  return policySet(at(dana, [addDana], 1_000 + index), `k${index}`, index);
}

/** The order of arrival decides what a full set holds. */
function filled(ops: readonly TrustOp[]): TrustSet {
  return addOps(emptyTrustSet(mesh), [genesis, addDana, ...ops]).set;
}

function sizeOf({ held, unsupported }: TrustSet): number {
  return held.size + unsupported.size;
}

/** Each takes what the other keeps, at the same time, so often. */
function exchanged(left: TrustSet, right: TrustSet, rounds: number): readonly [TrustSet, TrustSet] {
  let pair: readonly [TrustSet, TrustSet] = [left, right];
  for (let round = 0; round < rounds; round += 1) {
    const [one, other] = pair;
    pair = [addOps(one, keptOps(other), 'right').set, addOps(other, keptOps(one), 'left').set];
  }
  return pair;
}

function codeOf(set: TrustSet, op: TrustOp): string | undefined {
  return addOps(set, [op]).dropped.find(({ id }) => id === op.id)?.code;
}

test('a revocation of whoever filled the set is taken, and others fit again in the same call', () => {
  const full = filled(flood);
  expect(sizeOf(full)).toBe(trustOpsMax);
  const honest = classAdd(at(craig, [revoke]), 'tool', {});
  expect(codeOf(full, classAdd(at(craig, [addDana]), 'tool', {}))).toBe('SET_FULL');
  const { set, added } = addOps(full, [revoke, honest]);
  expect(added).toEqual([revoke.id, honest.id]);
  expect(set.held.size).toBe(4 + trustVoidMax);
  expect(charterOf(set).signers.get('dana')?.status).toBe('revoked');
  expect(charterOf(set).classes.has('tool')).toBe(true);
});

test('two hosts that were filled in another order agree when one of them has the revocation', () => {
  const [here, there] = [filled(flood), filled(flood.toReversed())];
  expect(trustHash(here)).not.toBe(trustHash(there));
  const [left, right] = exchanged(addOps(here, [revoke]).set, there, 2);
  expect([trustHash(left), keptHash(left)]).toEqual([trustHash(right), keptHash(right)]);
  expect(charterOf(left)).toEqual(charterOf(right));
  expect(left.held.has(revoke.id)).toBe(true);
  expect(sizeOf(left)).toBe(3 + trustVoidMax);
});

test('void ops beyond their bound keep nothing out that comes in the same call', () => {
  const [here, there] = [addOps(filled(flood), [revoke]).set, filled(flood.toReversed())];
  const honest = classAdd(at(craig, [addDana]), 'tool', {});
  const { set, dropped } = addOps(here, [...keptOps(there), honest]);
  expect(dropped.filter(({ code }) => code !== 'VOID_FULL')).toEqual([]);
  expect(charterOf(set).classes.has('tool')).toBe(true);
});

test('a revocation that names only the signers stands where a full set lacks what its author knows', () => {
  const honest = classAdd(at(craig, [addDana]), 'tool', {});
  const [here, there] = [filled([honest, ...flood]), filled(flood.toReversed())];
  expect(there.held.has(honest.id)).toBe(false);
  const prev = headsOfSigners(here, ['craig', 'dana']);
  expect(prev).toEqual([addDana.id]);
  expect(previewOp(here, revoke.body as TrustBody).ok).toBe(true);
  const [left, right] = exchanged(addOps(here, [revoke]).set, there, 2);
  expect(trustHash(left)).toBe(trustHash(right));
  expect(charterOf(right).classes.has('tool')).toBe(true);
});

test('ops of a later version fill a set no less, and go with the rest', () => {
  const later = flood.map((_, index) => otherOp(at(dana, [addDana], 5_000 + index), 'host-rename', { name: 'beta' }));
  const honest = classAdd(at(craig, [revoke]), 'tool', {});
  const { set, unsupported } = addOps(filled([]), [...later, revoke, honest]);
  expect([set.held.has(revoke.id), set.held.has(honest.id)]).toEqual([true, true]);
  expect([unsupported, set.unsupported.size]).toEqual([[], trustVoidMax]);
});

test('a revocation that voids too little to make room is refused, before and after it is signed', () => {
  const erin = testSigner('erin', 3);
  const addErin = signerAdd(at(dana, [addDana]), erin, ['*', 'charter']);
  const full = filled([addErin, ...flood]);
  for (const useless of [signerRevoke(at(craig, [addErin]), 'erin'), signerRevoke(at(dana, [addErin], 2), 'erin')]) {
    expect(codeOf(full, useless)).toBe('SET_FULL');
    expect(previewOp(full, useless.body as TrustBody)).toMatchObject({ code: 'SET_FULL' });
  }
});

test('who revokes itself or its juniors without end never holds more than the bound', () => {
  // A chain: whoever names its end has voided nothing.
  const chain: TrustOp[] = [addDana];
  for (let index = 0; index < trustOpsMax; index += 1) {
    chain.push(policySet(at(dana, chain.slice(-1), 9_000 + index), 'index.lines', index));
  }
  let set = filled(chain);
  const tip = [...set.held.values()].at(-1)?.op as TrustOp;
  const self = Array.from({ length: 40 }, (_, index) => signerRevoke(at(dana, [tip], 20_000 + index), 'dana'));
  const refused = addOps(set, self);
  expect(new Set(refused.dropped.map(({ code }) => code))).toEqual(new Set(['SET_FULL']));
  expect(refused.dropped).toHaveLength(self.length);
  // Juniors: each fills the set, is revoked, and makes room for the next.
  set = filled([]);
  for (let number = 0; number < 8; number += 1) {
    const junior = testSigner(`junior${number}`, 20 + number);
    const add = signerAdd(at(dana, [addDana], 100 + number), junior, ['*', 'charter']);
    const theirs = flood.map((_, index) => policySet(at(junior, [add], 30_000 + index), `k${index}`, index));
    set = addOps(set, [add, ...theirs, signerRevoke(at(dana, [add], 200 + number), `junior${number}`)]).set;
    expect(sizeOf(set)).toBeLessThanOrEqual(trustOpsMax);
  }
  expect(sizeOf(set)).toBe(trustOpsMax);
  // The signer who brought them all ends all of it.
  const healed = addOps(set, [revoke]).set;
  expect([healed.held.has(revoke.id), healed.held.size]).toEqual([true, 3 + trustVoidMax]);
});

test('vain revocations in front do not keep out the one that helps when it comes by itself', () => {
  const full = filled(flood);
  const tips = [...full.held.values()].slice(-1).map(({ op }) => op);
  const vain = Array.from({ length: 40 }, (_, index) => {
    const known = [...full.held.values()].slice(2 + index, 2 + index + 60).map(({ op }) => op);
    return signerRevoke(at(dana, [...known, ...tips].slice(0, 60), 40_000 + index), 'dana');
  });
  const after = addOps(full, vain).set;
  expect(sizeOf(after)).toBeLessThanOrEqual(trustOpsMax);
  expect(addOps(after, [revoke]).set.held.has(revoke.id)).toBe(true);
});

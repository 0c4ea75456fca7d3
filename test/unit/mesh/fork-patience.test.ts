import { expect, test } from 'vitest';
import type { Charter } from '../../../src/core/trust/charter.ts';
import type { OfferedOp } from '../../../src/core/trust/op.ts';
import { createForkPatience } from '../../../src/mesh/judge/fork-patience.ts';

const proof = (host: string, id: string): OfferedOp =>
  ({ id, auth: null, body: { op: 'fork-proof', host }, text: '', unsupported: null }) as unknown as OfferedOp;
const approved = { id: 'x', auth: {}, body: { op: 'host-add' } } as unknown as OfferedOp;
const charterWith = (...forked: string[]): Charter =>
  ({
    hosts: new Map(['beta', 'gamma'].map((name) => [name, { fork: forked.includes(name) ? {} : null }])),
  }) as unknown as Charter;

test('lower and lower proofs that cost seconds wait while their host rests; the first one of a host never does', () => {
  let at = 0;
  const patience = createForkPatience(() => at);
  const first = [proof('beta', '1')];
  expect(patience.heard(first, charterWith())).toEqual(first);
  patience.charge(first, 3_250);
  const lower = [proof('beta', '2'), approved, proof('gamma', '3')];
  expect(patience.heard(lower, charterWith('beta')).map(({ id }) => id)).toEqual(['x', '3']);
  // Rekeyed meanwhile: what comes now is the first against the new key.
  expect(patience.heard(lower, charterWith())).toEqual(lower);
  at = 99_999;
  expect(patience.heard(lower, charterWith('beta', 'gamma'))).toHaveLength(2);
  at = 100_001;
  expect(patience.heard(lower, charterWith('beta', 'gamma'))).toEqual(lower);
});

test('proofs that cost little never wait, and ops that signers approved are charged to nobody', () => {
  const patience = createForkPatience(() => 0);
  for (let round = 0; round < 50; round += 1) patience.charge([proof('beta', '1')], 200);
  patience.charge([approved], 60_000);
  expect(patience.heard([proof('beta', '2'), approved], charterWith('beta'))).toHaveLength(2);
});

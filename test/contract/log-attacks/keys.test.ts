/**
 * Attacks on signed logs that were collected outside (../shared/vectors/log-attacks.json), in our format: keys and who holds
 * them. Each title begins with the name of the attack there; coverage.test.ts counts them.
 */
import { describe, expect, test } from 'vitest';
import { eventId } from '../../../src/core/event.ts';
import { hostAddBody, signerAddBody } from '../../../src/core/trust/build.ts';
import { finishTrustOp, trustNamespace, trustOpMessage } from '../../../src/core/trust/op.ts';
import { addOps, trustHash, validOps } from '../../../src/core/trust/set.ts';
import { encodeBase64 } from '../../../src/crypto/base64.ts';
import { parseSshPublicKey } from '../../../src/crypto/ssh-key.ts';
import { concatBytes, wireString } from '../../../src/crypto/ssh-wire.ts';
import { approvalOf, dana, fact, signedMesh } from '../../lib/signed-mesh.ts';
import {
  approverOf,
  classAdd,
  craig,
  must,
  signerAdd,
  sshsigOf,
  stampOf,
  testKey,
  testSigner,
} from '../../lib/trust-ops.ts';

/** Encodings of points of small order: under such a key one signature fits every message. */
const weakPoints: readonly string[] = [
  '01'.padEnd(64, '0'),
  '00'.padEnd(64, '0'),
  `ec${'ff'.repeat(30)}7f`,
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
];

function weakKeyText(point: string): string {
  const blob = concatBytes([wireString('ssh-ed25519'), wireString(Buffer.from(point, 'hex'))]);
  return `ssh-ed25519 ${encodeBase64(blob)}`;
}

test('trust-root-rollback: an older trust set takes nothing back, in whatever order the parts come', () => {
  const mesh = signedMesh();
  const older = validOps(mesh.trust());
  mesh.offer(classAdd(mesh.place(), 'tool'));
  const newer = mesh.trust();
  const after = addOps(newer, older, 'beta');
  expect(after.added).toEqual([]);
  expect(trustHash(after.set)).toBe(trustHash(newer));
  expect(trustHash(addOps(addOps(newer, []).set, older.toReversed()).set)).toBe(trustHash(newer));
});

test('one-key-two-principals: a key belongs to one signer; the name that came second has no say', () => {
  const mesh = signedMesh();
  const twin = testSigner('twin', 2);
  mesh.offer(signerAdd(mesh.place(), twin, ['*']));
  const { charter } = mesh.verdict();
  expect(charter.signers.has('dana')).toBe(true);
  expect(charter.signers.has('twin')).toBe(false);
  expect(charter.conflicts).toMatchObject([{ kind: 'KEY_REUSED', item: 'signer:twin' }]);
  // What the key approves as dana counts as dana's; as twin it counts for nothing, although the mathematics is right.
  const said = mesh.body('beta', fact('note/alpha', 'one'));
  mesh.carry(said, { log: 'beta', auth: approvalOf(said, { as: twin }) });
  expect(mesh.verdict().view(eventId(said))).toMatchObject({ status: 'held', reason: 'UNVERIFIABLE' });
  mesh.carry(said, { log: 'beta', auth: approvalOf(said, { as: dana }) });
  expect(mesh.verdict().view(eventId(said))).toMatchObject({ level: 'signed', signers: ['dana'] });
});

describe('weak-ed25519', () => {
  test.each(weakPoints)('weak-ed25519: the point %s is no key, neither of a signer nor of a host', (point) => {
    const key = weakKeyText(point);
    expect(parseSshPublicKey(key)).toMatchObject({ ok: false, code: 'WEAK_KEY' });
    const mesh = signedMesh();
    const placement = { ...mesh.place(), by: approverOf(craig) };
    const stamp = stampOf(9_000);
    expect(signerAddBody({ ...placement, name: 'weak', key, scopes: ['*'] }, stamp).ok).toBe(false);
    const good = { sign: testKey(40).text, ssh: testKey(41).text };
    for (const keys of [
      { ...good, sign: key },
      { ...good, ssh: key },
    ]) {
      expect(hostAddBody({ ...placement, name: 'weak', address: '', ...keys }, stamp).ok).toBe(false);
    }
  });
});

test('agent-substitution: an approval by another key than the named one is forged, whoever holds that key', () => {
  const mesh = signedMesh();
  const said = mesh.body('alpha', fact('note/alpha', 'one'));
  // The agent answered with another key: dana's, a real signer of the mesh.
  mesh.carry(said, { log: 'alpha', auth: approvalOf(said, { as: craig, key: dana.key }) });
  expect(mesh.verdict().view(eventId(said))).toMatchObject({ status: 'held', reason: 'FORGED' });
  // And a trust op: it does not become one.
  const body = signerAddBody(
    { ...mesh.place(), by: approverOf(craig), name: 'erin', key: testKey(5).text, scopes: ['*'] },
    stampOf(9_001),
  );
  const made = must(body);
  const auth = { ...approverOf(craig), sshsig: sshsigOf(dana.key, trustOpMessage(made), trustNamespace) };
  expect(mesh.offer(must(finishTrustOp(made, auth))).dropped).toMatchObject([{ code: 'BAD_SIGNATURE' }]);
  expect(finishTrustOp(made, { ...auth, ...approverOf(dana) })).toMatchObject({ ok: false, code: 'AUTH_MISMATCH' });
});

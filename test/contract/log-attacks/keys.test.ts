/**
 * Attacks on signed logs that were collected outside (../shared/vectors/log-attacks.json), in our format: keys and who holds
 * them. Each title begins with the name of the attack there; coverage.test.ts counts them.
 */
import { describe, expect, test } from 'vitest';
import { eventId, type Auth, type Body } from '../../../src/core/event.ts';
import { hostAddBody, signerAddBody } from '../../../src/core/trust/build.ts';
import { finishTrustOp, trustNamespace, trustOpMessage } from '../../../src/core/trust/op.ts';
import { addOps, trustHash, validOps } from '../../../src/core/trust/set.ts';
import { encodeBase64 } from '../../../src/crypto/base64.ts';
import { parseSshPublicKey } from '../../../src/crypto/ssh-key.ts';
import { canonicalJson, type JsonValue } from '../../../src/crypto/canonical.ts';
import { encodeSshsig, signedData } from '../../../src/crypto/sshsig.ts';
import { concatBytes, readWire, wireString } from '../../../src/crypto/ssh-wire.ts';
import { ecdsaNumbers, numberFrom, p256, softSkEd25519, type SoftKey } from '../../lib/other-keys.ts';
import { approvalOf, dana, fact, signedMesh, type SignedMesh } from '../../lib/signed-mesh.ts';
import {
  approve,
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

/** An approval under a name by a key of any type; `respell` may change the numbers of the signature. */
function softApproval(
  said: Body,
  {
    name,
    key,
    flags,
    respell,
  }: { name: string; key: SoftKey; flags?: number; respell?: (bytes: Uint8Array) => Uint8Array },
): Auth {
  const fields = { namespace: 'memd-event', hash: 'sha512' } as const;
  const data = signedData(fields, canonicalJson(said as unknown as JsonValue));
  const made = key.signData(data, flags === undefined ? {} : { flags });
  const signature = respell?.(made.signature) ?? made.signature;
  const sshsig = encodeSshsig({ ...fields, ...made, publicKey: key.public.blob, signature });
  return { key: key.public.fingerprint, signer: name, sshsig };
}

function withSigner(name: string, key: SoftKey): SignedMesh {
  const mesh = signedMesh();
  const body = signerAddBody(
    { ...mesh.place(), by: approverOf(craig), name, key: key.text, scopes: ['*'] },
    stampOf(9_002),
  );
  expect(mesh.offer(approve(craig, body)).dropped).toEqual([]);
  return mesh;
}

/** Order of the group of P-256. */
const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

test('malleable-ecdsa: (r, s) and (r, n - s) on one body are one event, on every host alike', () => {
  const mesh = withSigner('erin', p256);
  const said = mesh.body('alpha', fact('note/alpha', 'one'));
  const flip = (bytes: Uint8Array): Uint8Array => {
    const reader = readWire(bytes);
    const [r, s] = [reader.bytes(), reader.bytes()].map((number) => numberFrom(number ?? new Uint8Array()));
    return ecdsaNumbers(r ?? 0n, order - (s ?? 0n));
  };
  const plain = softApproval(said, { name: 'erin', key: p256 });
  const other = softApproval(said, { name: 'erin', key: p256, respell: flip });
  expect(other.sshsig).not.toBe(plain.sshsig);
  mesh.carry(said, { log: 'alpha', auth: plain });
  mesh.carry(said, { log: 'beta', auth: other });
  const { served, view, fold } = mesh.verdict();
  expect(served('note/alpha')).toBe('one');
  expect(fold.nodes.size).toBe(1);
  expect(view(eventId(said)).lines.map(({ verdict }) => verdict)).toEqual(['ok', 'ok']);
});

test('sk-no-touch: an approval of a hardware key that nobody touched is forged', () => {
  const key = softSkEd25519('a person with a token');
  const mesh = withSigner('erin', key);
  const [touched, untouched] = [mesh.body('alpha', fact('note/a', 'one')), mesh.body('alpha', fact('note/b', 'two'))];
  mesh.carry(touched, { log: 'alpha', auth: softApproval(touched, { name: 'erin', key, flags: 1 }) });
  mesh.carry(untouched, { log: 'alpha', auth: softApproval(untouched, { name: 'erin', key, flags: 0 }) });
  const { served, alarms } = mesh.verdict();
  expect([served('note/a'), served('note/b')]).toEqual(['one', undefined]);
  expect(alarms).toEqual(['FORGED note/b alpha']);
});

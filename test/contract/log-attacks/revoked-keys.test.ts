/**
 * Attacks on signed logs that were collected outside (../shared/vectors/log-attacks.json), in our format: keys that were
 * stolen, replaced or revoked. Each title begins with the name of the attack there; coverage.test.ts counts them.
 */
import { describe, expect, test } from 'vitest';
import type { Line, LineHeader } from '../../../src/core/line.ts';
import { forkProofText, parseTrustOp, type TrustOp } from '../../../src/core/trust/op.ts';
import type { ForkProofBody } from '../../../src/core/trust/op-types.ts';
import { approvalOf, dana, fact, hostKeys, orders, signedMesh, type SignedMesh } from '../../lib/signed-mesh.ts';
import { classAdd, craig, hostRekey, must, signerAdd, signerRevoke, testKey, testSigner } from '../../lib/trust-ops.ts';

function oneRoot(mesh: SignedMesh): void {
  expect(new Set(orders.map(([order, inTurns]) => mesh.verdict(order, inTurns).root)).size).toBe(1);
}

/** dana signs `note/before` in the log of beta; craig revokes her with a mark there. */
function revoked(marks: 'as held' | 'none' = 'as held'): { mesh: SignedMesh; before: ReturnType<SignedMesh['say']> } {
  const mesh = signedMesh();
  const before = mesh.say('beta', fact('note/before', 'v1'), { by: dana });
  expect(mesh.verdict().view(before.id).level).toBe('signed');
  mesh.offer(signerRevoke(mesh.place(), 'dana', marks === 'none' ? {} : { beta: mesh.tip('beta') }));
  return { mesh, before };
}

describe('a signer is revoked', () => {
  test('backdate-before-revocation: an approval first carried behind the marks falls, whatever time it claims', () => {
    const { mesh, before } = revoked();
    for (const log of ['alpha', 'beta', 'gamma']) {
      const said = mesh.body(log, fact(`note/after-${log}`, 'evil'), '2020-01-01T00:00:00.000Z');
      const { id } = mesh.carry(said, { log, by: dana });
      const { served, view } = mesh.verdict();
      expect(served(`note/after-${log}`)).toBeUndefined();
      expect(view(id)).toMatchObject({ status: 'held', reason: 'REVOKED' });
    }
    expect(mesh.verdict().served('note/before')).toBe('v1');
    // Carried again elsewhere it is the same event, and still stands by its first carrier.
    mesh.carry(before.body, { log: 'gamma', by: dana });
    expect(mesh.verdict().view(before.id)).toMatchObject({ level: 'signed', status: 'served' });
    oneRoot(mesh);
  });

  test('key-compromise: with no marks nothing of that signer stands, and any other signer may approve it again', () => {
    const { mesh, before } = revoked('none');
    expect(mesh.verdict().view(before.id)).toMatchObject({ status: 'held', reason: 'REVOKED' });
    expect(mesh.verdict().record('note/before').flags).toContain('held');
    mesh.carry(before.body, { log: 'gamma', by: craig });
    expect(mesh.verdict().view(before.id)).toMatchObject({ level: 'signed', status: 'served', signers: ['craig'] });
    oneRoot(mesh);
  });

  test('key-compromise: a mark counts in the log that has its link: a rewritten log keeps nothing alive', () => {
    const mesh = signedMesh();
    const { id } = mesh.say('beta', fact('note/before', 'v1'), { by: dana });
    const { seq } = mesh.tip('beta');
    mesh.offer(signerRevoke(mesh.place(), 'dana', { beta: { seq, link: 'cd'.repeat(32) } }));
    expect(mesh.verdict().view(id)).toMatchObject({ status: 'held', reason: 'REVOKED' });
  });

  test('key-compromise: a revoked signer cannot take it back, sign a charter op, or revoke in turn', () => {
    const mesh = signedMesh();
    const erin = testSigner('erin', 5);
    mesh.offer(signerAdd(mesh.place(), erin, ['*', 'charter']));
    const stale = mesh.place(erin);
    mesh.offer(signerRevoke(mesh.place(), 'erin', {}));
    // Now, knowing of it; and as if she had not heard of it.
    const again = signerAdd(mesh.place(erin), testSigner('erin-two', 6), ['*', 'charter']);
    expect(mesh.offer(again).dropped).toMatchObject([{ code: 'NOT_A_SIGNER' }]);
    mesh.offer(
      classAdd(stale, 'tool'),
      signerAdd({ ...stale, nonce: 7_001 }, testSigner('erin-three', 7), ['*', 'charter']),
    );
    const revenge = mesh.offer(signerRevoke({ ...stale, nonce: 7_002 }, 'craig', {}));
    expect(revenge.dropped.map(({ code }) => code)).toEqual(['OUTRANKED']);
    const { charter } = mesh.verdict();
    expect(charter.classes.has('tool')).toBe(false);
    expect([...charter.signers].filter(([, { status }]) => status === 'active').map(([name]) => name)).toEqual([
      'craig',
      'dana',
    ]);
  });
});

describe('a host gets another key', () => {
  test('key-rotation-gap: up to the pin the old key signs, behind it the new one, and no line has both or neither', () => {
    const mesh = signedMesh();
    mesh.say('beta', fact('note/one', '1'));
    mesh.say('beta', fact('note/two', '2'));
    mesh.offer(hostRekey(mesh.place(), { name: 'beta', key: 21, pin: mesh.tip('beta') }));
    const spans = mesh
      .verdict()
      .charter.hosts.get('beta')
      ?.spans.map(({ from, upto }) => [from, upto]);
    expect(spans).toEqual([
      [1, 2],
      [3, null],
    ]);
    mesh.say('beta', fact('note/three', '3'), { key: testKey(21) });
    expect(mesh.verdict().faults).toEqual({});
    expect(mesh.usable('beta').length).toBe(3);
    // The old key again behind the pin; then the new one: nothing that the old one signed alone is usable.
    mesh.say('beta', fact('note/four', '4'), { key: hostKeys['beta'] ?? testKey(0) });
    expect(mesh.verdict().faults).toEqual({ beta: 'SIGNATURE' });
    expect(mesh.usable('beta').length).toBe(3);
    oneRoot(mesh);
  });

  test("key-compromise: the founder's stolen host key: the pin ends its word, the thief's branch is refused, nothing is signed", () => {
    const mesh = signedMesh();
    const { id } = mesh.say('alpha', fact('note/truth', 'v1'), { by: craig });
    const pin = mesh.tip('alpha');
    mesh.say('alpha', { kind: 'retract', subject: 'note/truth', supersedes: [id] });
    mesh.say('alpha', fact('note/truth', 'evil', { supersedes: [id] }));
    const stolen = mesh.body('alpha', fact('note/stolen', 'evil'));
    mesh.carry(stolen, { log: 'alpha', auth: approvalOf(stolen, { as: craig, key: hostKeys['alpha'] ?? craig.key }) });
    // Before anybody notices: noise, and no more.
    expect(mesh.verdict().served('note/truth')).toBe('v1');
    expect(mesh.verdict().served('note/stolen')).toBeUndefined();
    mesh.offer(hostRekey(mesh.place(), { name: 'alpha', key: 20, pin }));
    const after = mesh.verdict();
    expect(mesh.usable('alpha').length).toBe(pin.seq);
    expect(after.served('note/truth')).toBe('v1');
    expect(after.alarms).toEqual([]);
    // The real alpha goes on from the pin with its new key.
    mesh.rewind('alpha', pin.seq);
    mesh.say('alpha', fact('note/next', 'v1'), { key: testKey(20) });
    expect(mesh.verdict().served('note/next')).toBe('v1');
    oneRoot(mesh);
  });
});

describe('a host writes two logs', () => {
  test('equivocation-same-id: two lines at one place cut the log there on every host, whichever it held first', () => {
    const mesh = signedMesh();
    mesh.say('beta', fact('note/before', 'v1'));
    const left = mesh.say('beta', fact('note/pay', '10')).line;
    const atP = mesh.logs.get('beta') ?? [];
    mesh.rewind('beta', 1);
    const right = mesh.say('beta', fact('note/pay', '1000')).line;
    mesh.say('beta', fact('note/after', 'v1'));
    const atQ = mesh.logs.get('beta') ?? [];
    const rootWith = (texts: typeof atP): string => {
      mesh.logs.set('beta', [...texts]);
      oneRoot(mesh);
      return mesh.verdict().root;
    };
    expect(rootWith(atP)).not.toBe(rootWith(atQ));
    expect(mesh.offer(forkProof(mesh, [left, right])).dropped).toEqual([]);
    expect(rootWith(atP)).toBe(rootWith(atQ));
    const { served, charter } = mesh.verdict();
    expect(charter.hosts.get('beta')).toMatchObject({ status: 'forked', fork: 2 });
    expect([served('note/before'), mesh.usable('beta').length]).toEqual(['v1', 1]);
    expect(() => mesh.verdict().record('note/pay')).toThrow('no record');
  });
});

function forkProof(mesh: SignedMesh, lines: readonly Line[]): TrustOp {
  const sorted = lines.toSorted((one, other) => (one.link < other.link ? -1 : 1));
  const signed = sorted.map((line) => ({ header: headerOf(line, mesh.meshId), sig: line.sig }));
  const brought = mesh.verdict().charter.hosts.get('beta')?.op ?? '';
  const body = { mesh: mesh.meshId, op: 'fork-proof', prev: [brought], host: 'beta', lines: signed } as unknown;
  return must(parseTrustOp(forkProofText(body as ForkProofBody)));
}

function headerOf(line: Line, mesh: string): LineHeader {
  const { id, log, prev, seq, v } = line;
  return { auth: null, id, log, mesh, prev, seq, v };
}

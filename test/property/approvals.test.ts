/** Approvals and keys of every family under random change: one form only, nothing else verifies, and nothing throws. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { positiveMpint } from '../../src/crypto/keys/mpint.ts';
import { parseSshPublicKey, readKeyBlob } from '../../src/crypto/ssh-key.ts';
import { armorToBlob, verifySshsig, verifySshsigLater } from '../../src/crypto/sshsig.ts';
import { concatBytes, wireString } from '../../src/crypto/ssh-wire.ts';
import { mpintOf, numberFrom, softKeys } from '../lib/other-keys.ts';
import { armorOf } from '../lib/stock-keygen.ts';
import { cpuMs } from '../lib/cpu-time.ts';

const seed = 20_261_130;
const namespace = 'memd-event';
const message = 'hello';
/** One approval of each family, made once: what is random is what happens to it. */
const approvals = softKeys.map((key) => ({ key, blob: Buffer.from(key.sign(message, namespace), 'base64') }));
const anyApproval = fc.constantFrom(...approvals);
const types: readonly string[] = [
  ...new Set(softKeys.map(({ public: { type } }) => type)),
  'ssh-dss',
  'ssh-rsa-cert-v01@openssh.com',
];

function verdict(key: (typeof softKeys)[number], blob: Uint8Array): string {
  const sshsig = Buffer.from(blob).toString('base64');
  const answer = verifySshsig({ sshsig, namespace, message, key: key.public });
  return answer.ok ? 'ok' : answer.code;
}

describe('approvals', () => {
  test('each verifies as it was made, here and on the thread pool, with either hash, over any text', async () => {
    const made = fc.record({
      key: fc.constantFrom(...softKeys.filter(({ name }) => name !== 'rsa8192')),
      text: fc.string({ unit: 'binary' }),
      hash: fc.constantFrom('sha256' as const, 'sha512' as const),
      flags: fc.integer({ min: 0, max: 127 }).map((upper) => upper * 2 + 1),
      counter: fc.integer({ min: 0, max: 0xffff_ffff }),
    });
    await fc.assert(
      fc.asyncProperty(made, async ({ key, text, ...options }) => {
        const sshsig = key.sign(text, namespace, options);
        const approval = { sshsig, namespace, message: text, key: key.public };
        expect(verifySshsig(approval)).toEqual({ ok: true, value: true });
        expect(await verifySshsigLater(approval)).toEqual({ ok: true, value: true });
        const wrong = { ...approval, message: `${text}.` };
        expect(await verifySshsigLater(wrong)).toEqual(verifySshsig(wrong));
        expect(verifySshsig(wrong)).toMatchObject({ ok: false, code: 'SIGNATURE' });
        expect(armorToBlob(armorOf(sshsig))).toEqual({ ok: true, value: sshsig });
      }),
      { seed, numRuns: 150 },
    );
  });

  test('no flipped bit, no byte put in, taken out or exchanged leaves one that verifies', () => {
    const change = fc.record({ approval: anyApproval, place: fc.nat(), byte: fc.integer({ min: 0, max: 255 }) });
    fc.assert(
      fc.property(change, fc.constantFrom('flip', 'insert', 'remove', 'replace'), ({ approval, ...at }, how) => {
        const { blob, key } = approval;
        const place = at.place % blob.length;
        const [before, after] = [blob.subarray(0, place), blob.subarray(place)];
        const other = {
          flip: [before, Buffer.from([(blob[place] as number) ^ (1 << (at.byte & 7))]), after.subarray(1)],
          insert: [before, Buffer.from([at.byte]), after],
          remove: [before, after.subarray(1)],
          replace: [before, Buffer.from([at.byte]), after.subarray(1)],
        }[how];
        const changed = Buffer.concat(other);
        if (!changed.equals(blob)) expect(verdict(key, changed)).not.toBe('ok');
      }),
      { seed, numRuns: 3_000 },
    );
  });

  test('no bytes at all make the verifier throw, and random ones never verify', async () => {
    const garbage = fc.oneof(
      fc.base64String(),
      fc.string(),
      fc
        .uint8Array({ maxLength: 400 })
        .map((bytes) => Buffer.concat([Buffer.from('SSHSIG\0\0\0\u0001'), bytes]).toString('base64')),
      fc
        .tuple(anyApproval, fc.nat(), fc.uint8Array({ maxLength: 40 }))
        .map(([{ blob }, cut, bytes]) =>
          Buffer.concat([blob.subarray(0, cut % blob.length), bytes]).toString('base64'),
        ),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...softKeys), garbage, async (key, sshsig) => {
        const approval = { sshsig, namespace, message, key: key.public };
        expect(verifySshsig(approval).ok).toBe(false);
        expect(await verifySshsigLater(approval)).toEqual(verifySshsig(approval));
        armorToBlob(sshsig);
      }),
      { seed, numRuns: 2_000 },
    );
  });

  test('an approval longer than any is refused before it is decoded', () => {
    const [{ key } = { key: softKeys[0] }] = approvals;
    if (key === undefined) throw new Error('no key');
    const sshsig = 'A'.repeat(64 * 1024 * 1024);
    const start = cpuMs();
    expect(verifySshsig({ sshsig, namespace, message, key: key.public })).toMatchObject({ code: 'NOT_SSHSIG' });
    expect(cpuMs() - start).toBeLessThan(100);
  });
});

describe('keys', () => {
  test('whatever is read is the one spelling: its text reads to itself', () => {
    const field = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.constantFrom('nistp256', 'nistp384', 'nistp521', 'ssh:').map((name) => new TextEncoder().encode(name)),
      fc.bigInt({ min: 1n, max: 1n << 2_100n }).map(mpintOf),
    );
    const blobs = fc.oneof(
      fc.tuple(fc.constantFrom(...types), fc.array(field, { maxLength: 4 })).map(([type, fields]) => ({
        type,
        blob: concatBytes([wireString(type), ...fields.map((bytes) => wireString(bytes))]),
      })),
      fc
        .tuple(fc.constantFrom(...softKeys), fc.nat(), fc.integer({ min: 0, max: 255 }))
        .map(([{ public: key }, place, byte]) => {
          const blob = key.blob.slice();
          blob[place % blob.length] = byte;
          return { type: key.type, blob };
        }),
    );
    fc.assert(
      fc.property(blobs, ({ type, blob }) => {
        const read = readKeyBlob(type, blob);
        if (!read.ok) return;
        expect(Buffer.from(read.value.blob).equals(blob)).toBe(true);
        expect(parseSshPublicKey(read.value.text)).toEqual(read);
        expect(read.value.raw32 === undefined).toBe(type !== 'ssh-ed25519');
      }),
      { seed, numRuns: 3_000 },
    );
  });

  test('no text makes the reader throw, or is quoted', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.base64String({ minLength: 40 })), (text) => {
        const read = parseSshPublicKey(text);
        if (!read.ok && text.length > 20) expect(read.detail.includes(text)).toBe(false);
      }),
      { seed, numRuns: 2_000 },
    );
  });
});

describe('mpint', () => {
  test('a positive number has one form, and every other is refused', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 1n << 600n }), fc.integer({ min: 1, max: 5 }), (value, zeros) => {
        const content = mpintOf(value);
        const read = positiveMpint(content);
        expect(read === undefined ? undefined : numberFrom(read)).toBe(value);
        expect(read?.[0]).not.toBe(0);
        expect(positiveMpint(concatBytes([new Uint8Array(zeros), content]))).toBe(undefined);
      }),
      { seed, numRuns: 500 },
    );
    for (const content of [[], [0], [0, 0], [0x80], [0xff, 0xff], [0, 0x7f]]) {
      expect(positiveMpint(new Uint8Array(content))).toBe(undefined);
    }
    expect(positiveMpint(undefined)).toBe(undefined);
  });
});

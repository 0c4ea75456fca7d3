/** The families of keys: what the golden vectors cannot say. */
import { createECDH, generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { isKeyPoint, nistp256, nistp384, nistp521, type Curve } from '../../../src/crypto/keys/ecdsa-curves.ts';
import { bitLength, numberOf } from '../../../src/crypto/keys/mpint.ts';
import { looksLikePrivateKey, parseSshPublicKey } from '../../../src/crypto/ssh-key.ts';
import { encodeSshsig, verifySshsig } from '../../../src/crypto/sshsig.ts';
import { keyTextOf, mpintOf, p256, softKeys, softRsa } from '../../lib/other-keys.ts';
import { cpuMs } from '../../lib/cpu-time.ts';

describe('curves', () => {
  const curves: readonly (readonly [string, Curve, string])[] = [
    ['P-256', nistp256, 'prime256v1'],
    ['P-384', nistp384, 'secp384r1'],
    ['P-521', nistp521, 'secp521r1'],
  ];

  test.each(curves)('%s has the order, width and equation of OpenSSL', (_, curve, name) => {
    const ecdh = createECDH(name);
    const scalar = (value: bigint): Buffer => Buffer.from(value.toString(16).padStart(2 * curve.width, '0'), 'hex');
    ecdh.setPrivateKey(scalar(curve.n - 1n));
    const minusOne = ecdh.getPublicKey();
    expect(isKeyPoint(curve, minusOne)).toBe(true);
    expect(() => ecdh.setPrivateKey(scalar(curve.n))).toThrow(/invalid|private key/i);
    ecdh.setPrivateKey(scalar(1n));
    const one = ecdh.getPublicKey();
    expect(numberOf(one.subarray(1 + curve.width)) + numberOf(minusOne.subarray(1 + curve.width))).toBe(curve.p);
    for (let number = 2n; number < 40n; number += 1n) {
      ecdh.setPrivateKey(scalar(number));
      expect(isKeyPoint(curve, ecdh.getPublicKey())).toBe(true);
    }
  });
});

describe('numbers', () => {
  test('length in bits', () => {
    for (const [bytes, bits] of [
      [[1], 1],
      [[0x80], 8],
      [[1, 0], 9],
      [[0xff, 0, 0], 24],
    ] as const)
      expect(bitLength(new Uint8Array(bytes))).toBe(bits);
  });
});

describe('hostile sizes', () => {
  test('the largest key and signature take milliseconds, an unusable key less', () => {
    const key = softRsa(8192);
    const sshsig = key.sign('m', 'memd-event');
    const start = cpuMs();
    for (let run = 0; run < 20; run += 1) {
      const parsed = parseSshPublicKey(key.text);
      if (!parsed.ok) throw new Error(parsed.detail);
      expect(verifySshsig({ sshsig, namespace: 'memd-event', message: 'm', key: parsed.value }).ok).toBe(true);
    }
    expect((cpuMs() - start) / 20).toBeLessThan(50);
  });

  test('RSA of 16 384 bits is refused by its size, longer texts as no key', () => {
    const big = keyTextOf('ssh-rsa', mpintOf(65_537n), mpintOf((1n << 16_383n) + 1n));
    expect(parseSshPublicKey(big)).toMatchObject({ code: 'KEY_TYPE_UNSUPPORTED' });
    expect(parseSshPublicKey(`ssh-rsa ${'A'.repeat(50_000_000)}`)).toMatchObject({ code: 'NOT_A_KEY' });
  });

  test('more keys than are kept ready change nothing: each is refused for itself, an old one still verifies', () => {
    const sshsig = p256.sign('m', 'memd-event');
    const asked = { namespace: 'memd-event', message: 'm' };
    const fields = { namespace: 'memd-event', hash: 'sha512', signatureType: 'rsa-sha2-512' } as const;
    for (let number = 0n; number < 1_100n; number += 1n) {
      const text = keyTextOf('ssh-rsa', mpintOf(65_537n), mpintOf((1n << 2_047n) + 2n * number + 1n));
      const parsed = parseSshPublicKey(text);
      if (!parsed.ok) throw new Error(parsed.detail);
      const forged = encodeSshsig({ ...fields, publicKey: parsed.value.blob, signature: new Uint8Array(256).fill(7) });
      expect(verifySshsig({ ...asked, sshsig: forged, key: parsed.value })).toMatchObject({ code: 'SIGNATURE' });
    }
    expect(verifySshsig({ ...asked, sshsig, key: p256.public }).ok).toBe(true);
  });
});

describe('private keys', () => {
  const pairs = [
    generateKeyPairSync('ed25519'),
    generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ] as const;
  const passphrase = { cipher: 'aes-256-cbc', passphrase: 'a passphrase' } as const;
  const pkcs8 = pairs.map(({ privateKey }) => privateKey.export({ format: 'pem', type: 'pkcs8' }) as string);
  const texts: readonly (readonly [string, string])[] = [
    ...pkcs8.map((text, index) => [`PKCS#8 ${index}`, text] as const),
    ['PKCS#8 with a passphrase', pairs[0].privateKey.export({ format: 'pem', type: 'pkcs8', ...passphrase }) as string],
    ['PKCS#1', pairs[2].privateKey.export({ format: 'pem', type: 'pkcs1' }) as string],
    ['SEC 1', pairs[1].privateKey.export({ format: 'pem', type: 'sec1' }) as string],
    ['a JSON web key', JSON.stringify(pairs[0].privateKey.export({ format: 'jwk' }))],
    ['OpenSSH', opensshOf('b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZWQyNTUx')],
    [
      'ssh.com',
      '---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nP2/56wAAAi4AAAA3\n---- END SSH2 ENCRYPTED PRIVATE KEY ----\n',
    ],
    ['PuTTY 2', 'PuTTY-User-Key-File-2: ssh-rsa\nEncryption: none\nPrivate-Lines: 1\nAAAAgQ\nPrivate-MAC: 00\n'],
    ['PuTTY 3 without its head', 'Private-Lines: 1\nAAAAIBsecretsecretsecret\nPrivate-MAC: 00\n'],
  ];

  function opensshOf(body: string): string {
    return `-----BEGIN OPENSSH PRIVATE KEY-----\n${body}\n-----END OPENSSH PRIVATE KEY-----\n`;
  }

  const spellings: Readonly<Record<string, (text: string) => string>> = {
    'as it is': (text) => text,
    'with spaces in front': (text) => `  \t${text.replaceAll('\n', '\n   ')}`,
    'with carriage returns': (text) => text.replaceAll('\n', '\r\n'),
    'as one line': (text) => text.replaceAll('\n', ' '),
    'as one line without spaces': (text) => text.replaceAll('\n', ''),
    'with its line ends written out': (text) => text.replaceAll('\n', '\\n'),
    'behind a type': (text) => `ssh-ed25519 ${text}`,
    'as UTF-16': (text) => Buffer.from(text, 'utf16le').toString('latin1'),
    'behind a public key': (text) => `${softKeys[0]?.text ?? ''} ${text}`,
  };

  for (const [kind, text] of texts) {
    test(`${kind}: refused as what it is in every spelling, never quoted`, () => {
      for (const [spelling, spell] of Object.entries(spellings)) {
        const given = spell(text);
        const parsed = parseSshPublicKey(given);
        expect([spelling, parsed]).toMatchObject([spelling, { ok: false, code: 'PRIVATE_KEY' }]);
        const said = JSON.stringify(parsed);
        for (const word of given.match(/[A-Za-z0-9+/]{8,}/g) ?? []) expect(said).not.toContain(word);
      }
    });
  }

  test('the body alone, without header, is known too', () => {
    for (const [kind, text] of texts.filter(([kind]) => /^(?:PKCS#8 \d|PKCS#1|SEC 1|OpenSSH)$/.test(kind))) {
      const body = text.replaceAll(/-----.*-----\n/g, '');
      expect([kind, looksLikePrivateKey(body), looksLikePrivateKey(body.replaceAll('\n', ''))]).toEqual([
        kind,
        true,
        true,
      ]);
      expect(parseSshPublicKey(`ssh-ed25519 ${body.replaceAll('\n', '')}`)).toMatchObject({ code: 'PRIVATE_KEY' });
    }
  });

  test('no public key is taken for a private one, whatever its comment', () => {
    for (const { text } of softKeys) {
      for (const comment of ['', ' craig@laptop', ' my private key', ' MIIEvQIBADANBgkq', ' "d": 5'])
        expect(parseSshPublicKey(text + comment).ok).toBe(comment !== ' MIIEvQIBADANBgkq');
    }
    for (const { publicKey } of pairs) {
      expect(looksLikePrivateKey(publicKey.export({ format: 'pem', type: 'spki' }) as string)).toBe(false);
    }
    expect(looksLikePrivateKey(pairs[2].publicKey.export({ format: 'pem', type: 'pkcs1' }) as string)).toBe(false);
  });
});

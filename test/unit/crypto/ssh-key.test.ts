import { describe, expect, test } from 'vitest';
import { publicKeyOf, signingKeyFromSeed } from '../../../src/crypto/ed25519.ts';
import {
  ed25519PrivatePem,
  ed25519PublicText,
  fingerprintWords,
  parseSshPublicKey,
  seedFromPem,
} from '../../../src/crypto/ssh-key.ts';

const seed = new Uint8Array(32).fill(9);
const text = ed25519PublicText(publicKeyOf(signingKeyFromSeed(seed)));

describe('parseSshPublicKey', () => {
  test('a comment and a final newline are dropped from the one text of a key', () => {
    for (const given of [text, `${text}\n`, `${text} craig@laptop`, `${text} two words\n`, `${text} `]) {
      const parsed = parseSshPublicKey(given);
      expect(parsed.ok && parsed.value.text).toBe(text);
    }
  });

  test('says which fault a text has', () => {
    const base64 = text.split(' ')[1] ?? '';
    const cases: readonly (readonly [string, string])[] = [
      ['', 'NOT_A_KEY'],
      ['ssh-ed25519', 'NOT_A_KEY'],
      [`ssh-ed25519 ${base64}\r\n`, 'NOT_A_KEY'],
      [`${text}\n${text}`, 'NOT_A_KEY'],
      [`ssh-rsa ${base64}`, 'NOT_A_KEY'],
      ['ssh-ed25519 AAAA', 'NOT_A_KEY'],
      [`ssh-ed25519 ${base64}=`, 'NOT_CANONICAL'],
      [
        `ssh-ed25519 ${Buffer.concat([Buffer.from(base64, 'base64'), Buffer.alloc(3)]).toString('base64')}`,
        'NOT_CANONICAL',
      ],
      [ed25519PublicText(new Uint8Array(32)), 'WEAK_KEY'],
      ['-----BEGIN OPENSSH PRIVATE KEY-----', 'PRIVATE_KEY'],
      [`${text} -----BEGIN RSA PRIVATE KEY-----`, 'PRIVATE_KEY'],
      ['PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\nAAAA', 'PRIVATE_KEY'],
      ['ssh-unknown AAAAC3NzaC11bmtub3du', 'NOT_A_KEY'],
    ];
    for (const [given, code] of cases) {
      const parsed = parseSshPublicKey(given);
      expect([given, parsed.ok ? 'ok' : parsed.code]).toEqual([given, code]);
    }
  });

  test('types that are refused for good are known by name', () => {
    for (const type of ['ssh-dss', 'ssh-xmss@openssh.com', 'ssh-rsa-cert-v01@openssh.com']) {
      const blob = Buffer.concat([Buffer.from([0, 0, 0, type.length]), Buffer.from(type)]).toString('base64');
      const parsed = parseSshPublicKey(`${type} ${blob}`);
      expect(parsed).toMatchObject({ ok: false, code: 'KEY_TYPE_UNSUPPORTED' });
      if (!parsed.ok) expect(parsed.detail).toMatch(/^[a-z0-9@.-]+: .*not supported/);
    }
  });

  test('no refusal quotes a private key', () => {
    const pem = ed25519PrivatePem(seed, 'alpha');
    const parsed = parseSshPublicKey(pem);
    expect(parsed).toMatchObject({ ok: false, code: 'PRIVATE_KEY' });
    const secret = pem.split('\n')[3] ?? 'x';
    expect(JSON.stringify(parsed)).not.toContain(secret.slice(0, 8));
    expect(JSON.stringify(seedFromPem(pem.replace('b3BlbnNz', 'b3BlbnNa')))).not.toContain(secret.slice(0, 8));
  });
});

describe('private key files', () => {
  test('a seed comes back from its own file', () => {
    for (let byte = 0; byte < 20; byte += 1) {
      const own = new Uint8Array(32).fill(byte);
      const read = seedFromPem(ed25519PrivatePem(own, `memd ${byte}`));
      expect(read.ok && read.value).toEqual(own);
    }
  });

  test('what is no unencrypted OpenSSH ed25519 key is refused by name', () => {
    const pem = ed25519PrivatePem(seed, 'alpha');
    const lines = pem.split('\n');
    const encrypted = Buffer.from(lines.slice(1, -2).join(''), 'base64');
    // openssh-key-v1: cipher and kdf names stand behind the 15 bytes of magic.
    const named = Buffer.concat([
      encrypted.subarray(0, 15),
      Buffer.from([0, 0, 0, 10]),
      Buffer.from('aes256-ctr'),
      Buffer.from([0, 0, 0, 6]),
      Buffer.from('bcrypt'),
      Buffer.from([0, 0, 0, 24, 0, 0, 0, 16]),
      Buffer.alloc(16),
      Buffer.from([0, 0, 0, 16]),
      encrypted.subarray(15 + 8 + 8 + 4),
    ]);
    const encryptedPem = `${lines[0]}\n${named.toString('base64')}\n${lines.at(-2)}\n`;
    expect(seedFromPem(encryptedPem)).toMatchObject({ ok: false, code: 'ENCRYPTED' });
    for (const bad of ['', 'x', text, pem.slice(0, 100), pem.replace('OPENSSH', 'RSA')]) {
      expect(seedFromPem(bad).ok).toBe(false);
    }
  });
});

describe('fingerprintWords', () => {
  test('six words that tell two keys apart', () => {
    const words = new Set<string>();
    for (let byte = 0; byte < 30; byte += 1) {
      const own = parseSshPublicKey(ed25519PublicText(publicKeyOf(signingKeyFromSeed(new Uint8Array(32).fill(byte)))));
      if (!own.ok) throw new Error(own.detail);
      const said = fingerprintWords(own.value.fingerprint);
      expect(said).toMatch(/^[a-z]+( [a-z]+){5}$/);
      words.add(said);
    }
    expect(words.size).toBe(30);
  });

  test('every byte value has its own word', () => {
    const words = new Set<string>();
    for (let byte = 0; byte < 256; byte += 1) {
      const digest = Buffer.alloc(32, byte).toString('base64').replace('=', '');
      words.add(fingerprintWords(`SHA256:${digest}`).split(' ')[0] ?? '');
    }
    expect(words.size).toBe(256);
  });
});

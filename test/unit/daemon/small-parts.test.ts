/** Small parts of memd that have no file of their own. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { firstIssue } from '../../../src/daemon/api/first-issue.ts';
import { nearestWords } from '../../../src/daemon/config/nearest-words.ts';
import { isUnprotectedKey } from '../../../src/daemon/trust/signer-key.ts';
import { temporaryFolder } from '../../lib/temporary.ts';

describe('whether a key asks for a passphrase', () => {
  const keyAt = (name: string, ...options: string[]): string => {
    const file = join(temporaryFolder(), name);
    execFileSync('ssh-keygen', ['-q', '-f', file, '-C', name, ...options]);
    return file;
  };

  test.each([
    ['ed25519', ['-t', 'ed25519']],
    ['rsa', ['-t', 'rsa', '-b', '2048']],
    ['rsa in PEM', ['-t', 'rsa', '-b', '2048', '-m', 'PEM']],
    ['rsa in PKCS8', ['-t', 'rsa', '-b', '2048', '-m', 'PKCS8']],
  ])('%s: told from the head of its file', (_, kind) => {
    expect(isUnprotectedKey(keyAt('open', ...kind, '-N', ''))).toBe(true);
    expect(isUnprotectedKey(keyAt('locked', ...kind, '-N', 'correct horse'))).toBe(false);
  });

  test('a key in hardware has no passphrase and needs none: it wants a touch', () => {
    const text = (words: string): Buffer => Buffer.concat([count(words.length), Buffer.from(words)]);
    const count = (value: number): Buffer => Buffer.from([0, 0, 0, value]);
    // openssh-key-v1: cipher, kdf, its options, how many keys, then the public key; what follows does not matter here.
    const fileOf = (type: string): string => {
      const key = text(type + '.'.repeat(40));
      const parts = [text('none'), text('none'), text(''), count(1), count(key.length + 4), key];
      const body = Buffer.concat([Buffer.from('openssh-key-v1\0'), ...parts]).toString('base64');
      const file = join(temporaryFolder(), 'key');
      writeFileSync(file, `-----BEGIN OPENSSH PRIVATE KEY-----\n${body.slice(0, 70)}\n${body.slice(70)}\n`);
      return file;
    };
    expect(isUnprotectedKey(fileOf('sk-ssh-ed25519@openssh.com'))).toBe(false);
    expect(isUnprotectedKey(fileOf('sk-ecdsa-sha2-nistp256@openssh.com'))).toBe(false);
    expect(isUnprotectedKey(fileOf('ssh-ed25519'))).toBe(true);
  });

  test('a file that is not there or no key tells nothing', () => {
    const file = join(temporaryFolder(), 'text');
    writeFileSync(file, 'ssh-ed25519 AAAA\n');
    expect([isUnprotectedKey(file), isUnprotectedKey(`${file}.none`), isUnprotectedKey('/')]).toEqual([
      false,
      false,
      false,
    ]);
  });
});

describe('first issue', () => {
  const schema = z.strictObject({ list: z.array(z.number()) });

  test('one sentence, however much is wrong', () => {
    const wrong = schema.safeParse({ list: Array.from({ length: 5_000 }, () => 'x') });
    expect(wrong.error && firstIssue(wrong.error)).toBe(
      'list.0: Invalid input: expected number, received string (and 4999 more)',
    );
    const none = schema.safeParse(undefined);
    expect(none.error && firstIssue(none.error)).toMatch(/^Invalid input: expected object/);
  });
});

describe('nearest words', () => {
  const known = ['lesson', 'note', 'project', 'ssh-route'];

  test('what was probably meant, nearest first, and nothing where nothing is near', () => {
    expect(nearestWords('lessen', known)).toEqual(['lesson']);
    expect(nearestWords('sshroute', known)).toEqual(['ssh-route']);
    expect(nearestWords('nota', known)).toEqual(['note']);
    expect(nearestWords('weather', known)).toEqual([]);
    expect(nearestWords('', known)).toEqual([]);
  });
});

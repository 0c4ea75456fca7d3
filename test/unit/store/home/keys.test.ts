import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { describe, expect, test } from 'vitest';
import { createKeys, readKeys } from '../../../../src/store/home/keys.ts';
import { temporaryHome } from '../../../lib/temporary.ts';

describe('host keys', () => {
  test('two different keys are made, closed to others, and stock ssh-keygen agrees about them', async () => {
    const home = temporaryHome();
    const keys = await createKeys(home, { host: 'alpha' });
    expect(keys.sign.publicKey.text).not.toBe(keys.ssh.publicKey.text);
    for (const key of [keys.sign, keys.ssh]) {
      expect(fs.statSync(key.file).mode & 0o777).toBe(0o600);
      const printed = execFileSync('ssh-keygen', ['-y', '-f', key.file], { encoding: 'utf8' });
      expect(printed.split(' ').slice(0, 2).join(' ').trim()).toBe(key.publicKey.text);
      const fingerprint = execFileSync('ssh-keygen', ['-l', '-f', key.file], { encoding: 'utf8' });
      expect(fingerprint).toContain(key.publicKey.fingerprint);
    }
  });

  test('existing keys are never overwritten', async () => {
    const home = temporaryHome();
    const first = await createKeys(home, { host: 'alpha' });
    const second = await createKeys(home, { host: 'beta' });
    expect(second.sign.pem).toBe(first.sign.pem);
    expect(readKeys(home).ssh.pem).toBe(first.ssh.pem);
  });

  test('a key that others can read is refused with the command that fixes it', async () => {
    const home = temporaryHome();
    await createKeys(home, { host: 'alpha' });
    fs.chmodSync(home.hostKey, 0o604);
    expect(() => readKeys(home)).toThrow(
      expect.objectContaining({ code: 'KEY_UNSAFE', hint: `chmod 600 ${home.hostKey}` }),
    );
  });

  test.each([
    ['empty', ''],
    ['NUL bytes', '\0'.repeat(400)],
    ['text', 'not a key\n'],
  ])('a damaged key (%s) is named and its bytes are not shown', async (_, content) => {
    const home = temporaryHome();
    await createKeys(home, { host: 'alpha' });
    fs.writeFileSync(home.sshKey, content);
    expect(() => readKeys(home)).toThrow(
      expect.objectContaining({ code: 'KEY_DAMAGED', message: expect.stringContaining(home.sshKey) }),
    );
  });

  test('a missing key is named', () => {
    expect(() => readKeys(temporaryHome())).toThrow(expect.objectContaining({ code: 'KEY_MISSING' }));
  });
});

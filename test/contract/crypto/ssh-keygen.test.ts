/** Our keys and approvals against the installed ssh-keygen and ssh2: what one writes the other reads, both ways. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ssh2 from 'ssh2';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { publicKeyOf, signEd25519, signingKeyFromSeed } from '../../../src/crypto/ed25519.ts';
import { ed25519PrivatePem, ed25519PublicText, parseSshPublicKey, seedFromPem } from '../../../src/crypto/ssh-key.ts';
import { armorToBlob, encodeSshsig, signedData, verifySshsig } from '../../../src/crypto/sshsig.ts';

let folder = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'memd-keygen-'));
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

function keygen(args: readonly string[], input = ''): string {
  const env = { PATH: process.env['PATH'] ?? '', LC_ALL: 'C', HOME: folder };
  return execFileSync('ssh-keygen', args, {
    input,
    env,
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: 15_000,
  });
}

function fileOf(name: string, content: string, mode = 0o600): string {
  const file = join(folder, name);
  writeFileSync(file, content, { mode });
  return file;
}

/** A key pair made by ssh-keygen: path of the private file, and the public text. */
function generated(name: string, args: readonly string[]): { readonly file: string; readonly text: string } {
  const file = join(folder, name);
  keygen(['-q', '-N', '', '-C', `comment of ${name}`, '-f', file, ...args]);
  return { file, text: readFileSync(`${file}.pub`, 'utf8') };
}

const messages: readonly (readonly [string, string])[] = [
  ['plain', 'hello'],
  ['empty', ''],
  ['newline', 'hello\n'],
  ['carriage', 'a\r\nb'],
  ['unicode', '{"content":"caf\u00e9 \u2028 \u{1f600}"}'],
  ['long', 'x'.repeat(100_000)],
];

describe('approvals', () => {
  test('what ssh-keygen -Y sign approves verifies here, for every message, in its namespace only', () => {
    const { file, text } = generated('signer', ['-t', 'ed25519']);
    const key = parseSshPublicKey(text);
    if (!key.ok) throw new Error(key.detail);
    for (const [, message] of messages) {
      for (const hash of ['sha256', 'sha512']) {
        const armor = keygen(['-Y', 'sign', '-f', file, '-n', 'memd-event', '-O', `hashalg=${hash}`], message);
        const blob = armorToBlob(armor);
        if (!blob.ok) throw new Error(blob.detail);
        const approval = { sshsig: blob.value, namespace: 'memd-event', message, key: key.value };
        expect(verifySshsig(approval)).toEqual({ ok: true, value: true });
        expect(verifySshsig({ ...approval, namespace: 'memd-trust' })).toMatchObject({ ok: false, code: 'NAMESPACE' });
        expect(verifySshsig({ ...approval, message: `${message} ` })).toMatchObject({ ok: false, code: 'SIGNATURE' });
      }
    }
  });

  test('an approval made here verifies with stock ssh-keygen, for every message', () => {
    const seed = signingKeyFromSeed(new Uint8Array(32).fill(11));
    const text = ed25519PublicText(publicKeyOf(seed));
    const key = parseSshPublicKey(text);
    if (!key.ok) throw new Error(key.detail);
    const allowed = fileOf('allowed', `craig namespaces="memd-trust" ${text}\n`);
    for (const [name, message] of messages) {
      const fields = { namespace: 'memd-trust', hash: 'sha512' } as const;
      const signature = signEd25519(seed, signedData(fields, message));
      const blob = encodeSshsig({ ...fields, publicKey: key.value.blob, signatureType: 'ssh-ed25519', signature });
      const armor = `-----BEGIN SSH SIGNATURE-----\n${blob.match(/.{1,70}/g)?.join('\n')}\n-----END SSH SIGNATURE-----\n`;
      const sigFile = fileOf(`${name}.sig`, armor);
      const said = keygen(['-Y', 'verify', '-f', allowed, '-I', 'craig', '-n', 'memd-trust', '-s', sigFile], message);
      expect(said).toContain('Good "memd-trust" signature for craig');
    }
  });
});

describe('public keys', () => {
  test('fingerprint and text are those of ssh-keygen', () => {
    const { file, text } = generated('printed', ['-t', 'ed25519']);
    const key = parseSshPublicKey(text);
    if (!key.ok) throw new Error(key.detail);
    expect(keygen(['-l', '-f', `${file}.pub`]).split(' ')[1]).toBe(key.value.fingerprint);
    expect(text.startsWith(`${key.value.text} comment of printed`)).toBe(true);
  });

  test('the private file of ssh-keygen is refused where a public key is wanted, and its seed can be read', () => {
    const { file, text } = generated('private', ['-t', 'ed25519']);
    const pem = readFileSync(file, 'utf8');
    expect(parseSshPublicKey(pem)).toMatchObject({ ok: false, code: 'PRIVATE_KEY' });
    const seed = seedFromPem(pem);
    if (!seed.ok) throw new Error(seed.detail);
    expect(text.startsWith(ed25519PublicText(publicKeyOf(signingKeyFromSeed(seed.value))))).toBe(true);
  });

  test('a key with a passphrase is refused by name', () => {
    const file = join(folder, 'locked');
    keygen(['-q', '-t', 'ed25519', '-N', 'a passphrase', '-f', file]);
    expect(seedFromPem(readFileSync(file, 'utf8'))).toMatchObject({ ok: false, code: 'ENCRYPTED' });
  });
});

describe('private key files written here', () => {
  const seeds = [0, 1, 127, 255].map((byte) => new Uint8Array(32).fill(byte));

  test('are read by stock ssh-keygen, whatever the length of the comment', () => {
    for (const [index, comment] of ['', 'a', 'alpha@mesh', 'host key of memd on alpha', 'caf\u00e9'].entries()) {
      const seed = seeds[index % seeds.length] ?? new Uint8Array(32);
      const file = fileOf(`host-${index}`, ed25519PrivatePem(seed, comment));
      const text = ed25519PublicText(publicKeyOf(signingKeyFromSeed(seed)));
      expect(keygen(['-y', '-P', '', '-f', file]).trim()).toBe(comment === '' ? text : `${text} ${comment}`);
    }
  });

  test('are read by ssh2, which signs and verifies with them', () => {
    for (const seed of seeds) {
      const parsed = ssh2.utils.parseKey(ed25519PrivatePem(seed, 'alpha'));
      if (parsed instanceof Error) throw parsed;
      expect(parsed.type).toBe('ssh-ed25519');
      const text = ed25519PublicText(publicKeyOf(signingKeyFromSeed(seed)));
      expect(`ssh-ed25519 ${parsed.getPublicSSH().toString('base64')}`).toBe(text);
      const signature = parsed.sign('message');
      expect(Buffer.from(signEd25519(signingKeyFromSeed(seed), 'message'))).toEqual(signature);
    }
  });

  test('sign through ssh-keygen -Y sign like any key', () => {
    const seed = new Uint8Array(32).fill(33);
    const file = fileOf('signing', ed25519PrivatePem(seed, 'alpha'));
    const blob = armorToBlob(keygen(['-Y', 'sign', '-f', file, '-n', 'memd-trust'], 'op'));
    const key = parseSshPublicKey(ed25519PublicText(publicKeyOf(signingKeyFromSeed(seed))));
    if (!blob.ok || !key.ok) throw new Error('not readable');
    expect(verifySshsig({ sshsig: blob.value, namespace: 'memd-trust', message: 'op', key: key.value }).ok).toBe(true);
  });
});

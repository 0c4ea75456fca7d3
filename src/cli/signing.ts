/**
 * A person's signature: `ssh-keygen -Y sign` on the person's own terminal. memctl never uses a key by itself: the agent
 * and every window or helper that could answer for the person are taken out of the environment.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseSshPublicKey, type SshPublicKey } from '../crypto/ssh-key.ts';
import { armorToBlob } from '../crypto/sshsig.ts';
import { childEnvironment, lastLine } from '../store/child.ts';
import { Refusal } from '../daemon/refusal.ts';
import { readTextInput } from './read-input.ts';

/** A private key file and its public half. */
export interface SigningKeyFile {
  readonly file: string;
  readonly publicKey: SshPublicKey;
}

/** Reads the public half of a private key file: FILE.pub, else asked of ssh-keygen. Refuses SIGN_FAILED. */
export async function openSigningKey(file: string): Promise<SigningKeyFile> {
  if (!existsSync(file)) throw cannotSign(`there is no key file ${file}`, 'name the private key: --key FILE');
  const pub = `${file}.pub`;
  const text = existsSync(pub) ? await readTextInput(pub) : derivePublic(file);
  return { file, publicKey: readPublicKey(text, existsSync(pub) ? pub : file) };
}

/** Parses a public key text and refuses what it is not, without ever echoing a private one. */
export function readPublicKey(text: string, source: string): SshPublicKey {
  const parsed = parseSshPublicKey(text.trim());
  if (parsed.ok) return parsed.value;
  const hint =
    parsed.code === 'PRIVATE_KEY'
      ? 'give the public half, the file that ends in .pub'
      : 'an ed25519 key: ssh-keygen -t ed25519';
  throw cannotSign(`${source} cannot be a signer's key: ${parsed.detail}`, hint);
}

/**
 * Signs `message` with the key file under this namespace; a passphrase is asked for on the terminal.
 * @returns the SSHSIG blob, base64.
 */
export function signWithKey(key: SigningKeyFile, namespace: string, message: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'memctl-sign-'));
  try {
    const file = join(folder, 'message');
    writeFileSync(file, message, { mode: 0o600 });
    const args = ['-Y', 'sign', '-q', '-f', key.file, '-n', namespace, file];
    const terminal = process.stdin.isTTY;
    const done = spawnSync('ssh-keygen', args, {
      env: childEnvironment(),
      stdio: [terminal ? 'inherit' : 'ignore', 'ignore', terminal ? 'inherit' : 'pipe'],
      timeout: terminal ? 300_000 : 30_000,
    });
    if (done.error !== undefined || done.status !== 0) throw cannotSign(failure(key.file, done), hintFor(terminal));
    return readSignature(`${file}.sig`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readSignature(file: string): string {
  const blob = armorToBlob(readFileSync(file, 'utf8'));
  if (!blob.ok) throw cannotSign('ssh-keygen wrote no signature', 'update OpenSSH to 8.2 or newer');
  return blob.value;
}

function failure(file: string, done: { error?: Error; stderr: Buffer | null }): string {
  const said = done.error?.message ?? lastLine(done.stderr?.toString('utf8') ?? '');
  return `signing with ${file} failed${said === '' ? '' : `: ${said}`}`;
}

function hintFor(terminal: boolean): string {
  return terminal
    ? 'try again, or name another key: --key FILE'
    : 'a key with a passphrase needs a terminal: run this in one';
}

function derivePublic(file: string): string {
  const done = spawnSync('ssh-keygen', ['-y', '-f', file], {
    env: childEnvironment(),
    stdio: [process.stdin.isTTY ? 'inherit' : 'ignore', 'pipe', 'pipe'],
    timeout: 60_000,
  });
  if (done.status === 0) return done.stdout.toString('utf8');
  throw cannotSign(
    `the public half of ${file} cannot be read: ${lastLine(done.stderr?.toString('utf8') ?? '')}`,
    `put it beside it: ${file}.pub`,
  );
}

function cannotSign(message: string, hint: string): Refusal {
  return new Refusal({ code: 'SIGN_FAILED', message, hint, exit: 6 });
}

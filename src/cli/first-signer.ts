/** There is always a signer. Which key: what was named, what a person picks, or one made beside the config. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { isCancel, select } from '@clack/prompts';
import { isSlug } from '../core/id.ts';
import { parseSshPublicKey } from '../crypto/ssh-key.ts';
import { childEnvironment, lastLine } from '../store/child.ts';
import { printable } from '../store/errors.ts';
import { Refusal } from '../daemon/refusal.ts';
import { readTextInput } from './read-input.ts';
import { openSigningKey, readPublicKey, type SigningKeyFile } from './signing.ts';

export interface SignerChoice {
  readonly name: string;
  readonly key: SigningKeyFile;
}

export interface SignerOptions {
  readonly signer?: string;
  readonly as?: string;
  readonly key?: string;
}

/** Decides on the first signer of a new mesh. */
export async function chooseFirstSigner(options: SignerOptions): Promise<SignerChoice> {
  const name = options.as ?? slugOf(userName(), 'operator');
  // Before anybody is asked for a key, and before one is made.
  requireSignerName(name);
  return { name, key: await chooseKey(options) };
}

function requireSignerName(name: string): void {
  if (isSlug(name)) return;
  throw new Refusal({
    code: 'BAD_REQUEST',
    message: `--as ${printable(name, 100)} is not a name like craig`,
    hint: 'a-z, 0-9 and -, a letter first, at most 31',
    exit: 2,
  });
}

/** A user id without an entry in the user database (a container) has no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return '';
  }
}

async function chooseKey(options: SignerOptions): Promise<SigningKeyFile> {
  if (options.signer !== undefined) return namedKey(options.signer, options.key);
  if (options.key !== undefined) return openSigningKey(resolve(options.key));
  const terminal = process.stdin.isTTY && process.stdout.isTTY;
  const picked = terminal ? await pickKey() : undefined;
  return openSigningKey(picked ?? operatorKey(process.stdin.isTTY));
}

async function namedKey(publicFile: string, privateFile: string | undefined): Promise<SigningKeyFile> {
  const publicKey = readPublicKey(await readTextInput(publicFile), publicFile);
  const file = resolve(privateFile ?? publicFile.replace(/\.pub$/, ''));
  const key = await openSigningKey(file);
  if (key.publicKey.fingerprint === publicKey.fingerprint) return key;
  throw new Refusal({
    code: 'SIGN_FAILED',
    message: `${file} is not the private half of ${publicFile}`,
    hint: 'name it: --key FILE',
    exit: 6,
  });
}

async function pickKey(): Promise<string | undefined> {
  const folder = join(homedir(), '.ssh');
  const files = existsSync(folder) ? readdirSync(folder).filter((file) => file.endsWith('.pub')) : [];
  const usable: string[] = [];
  for (const file of files.map((name) => join(folder, name))) {
    if (existsSync(file.slice(0, -4)) && (await isPublicKeyFile(file))) usable.push(file);
  }
  if (usable.length === 0) return undefined;
  const make = '';
  const picked = await select({
    message: 'Which key signs for this mesh? Its holder has the last word on every host.',
    options: [
      ...usable.map((file) => ({ value: file.slice(0, -4), label: file })),
      { value: make, label: 'make a new one' },
    ],
  });
  if (isCancel(picked))
    throw new Refusal({ code: 'SIGN_FAILED', message: 'no signer was chosen; nothing was made', exit: 6 });
  return picked === make ? undefined : picked;
}

async function isPublicKeyFile(file: string): Promise<boolean> {
  try {
    return parseSshPublicKey((await readTextInput(file)).trim()).ok;
  } catch {
    return false;
  }
}

/** `operator_ed25519` beside the config; made when it is not there, with a passphrase if somebody can type one. */
function operatorKey(terminal: boolean): string {
  const folder = configFolder();
  const file = join(folder, 'operator_ed25519');
  if (existsSync(file)) return file;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const passphrase = terminal ? [] : ['-N', ''];
  const done = spawnSync('ssh-keygen', ['-q', '-t', 'ed25519', '-C', 'memd operator', '-f', file, ...passphrase], {
    env: childEnvironment(),
    stdio: [terminal ? 'inherit' : 'ignore', terminal ? 'inherit' : 'ignore', 'pipe'],
  });
  if (done.status === 0) return file;
  throw new Refusal({
    code: 'SIGN_FAILED',
    message: `ssh-keygen made no key at ${file}: ${done.error?.message ?? lastLine(done.stderr?.toString('utf8') ?? '')}`,
    hint: 'install OpenSSH, or name a key: --signer FILE.pub',
    exit: 6,
  });
}

function configFolder(): string {
  const base = process.env['XDG_CONFIG_HOME'];
  return join(base !== undefined && isAbsolute(base) ? base : join(homedir(), '.config'), 'memd');
}

/** Makes a host or signer name of whatever a system calls something; `fallback` when nothing usable is left. */
export function slugOf(text: string, fallback: string): string {
  const slug = text
    .split('.')[0]
    ?.toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^[^a-z]+|-+$/g, '')
    .slice(0, 31);
  return slug === undefined || slug === '' ? fallback : slug;
}

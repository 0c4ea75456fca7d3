/**
 * A person's signature: `ssh-keygen -Y sign` on the person's own terminal. memctl never uses a key by itself: the agent
 * and every window or helper that could answer for the person are taken out of the environment. The one exception is an
 * agent for which the person opened a window, and that is for events only.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventNamespace } from '../core/event.ts';
import { parseSshPublicKey, type SshPublicKey } from '../crypto/ssh-key.ts';
import { armorToBlob } from '../crypto/sshsig.ts';
import { assert } from '../crypto/result.ts';
import { childStderrBytesMax } from '../core/limits.ts';
import { childEnvironment, lastLine } from '../store/child.ts';
import { privateFolder } from '../store/private-folder.ts';
import { readTextInput } from './read-input.ts';
import { cannotSign, judgeFailure, type KeygenEnd } from './sign/keygen-failure.ts';

/** A private key file and its public half. `file` ends in `.pub` when the private half is elsewhere: in an agent. */
export interface SigningKeyFile {
  readonly file: string;
  readonly publicKey: SshPublicKey;
}

/**
 * Reads the public half of a private key file: FILE.pub, else asked of ssh-keygen. FILE may be the public half itself.
 * Refuses SIGN_FAILED.
 */
export async function openSigningKey(named: string): Promise<SigningKeyFile> {
  if (!existsSync(named)) throw cannotSign(`there is no key file ${named}`, 'name the private key: --key FILE');
  if (named.endsWith('.pub')) {
    const publicKey = readPublicKey(await readTextInput(named), named);
    const file = named.slice(0, -'.pub'.length);
    return { file: existsSync(file) ? file : named, publicKey };
  }
  const pub = `${named}.pub`;
  const text = existsSync(pub) ? await readTextInput(pub) : derivePublic(named);
  return { file: named, publicKey: readPublicKey(text, existsSync(pub) ? pub : named) };
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

/** How often a passphrase may be mistyped. */
const passphraseTries = 3;
/** How long a person may take for a passphrase, a touch or a confirmation. */
const personMs = 300_000;
/** How long ssh-keygen may take with nobody to ask. */
const aloneMs = 30_000;

/**
 * Signs `message` with the key under this namespace; a passphrase is asked for on the terminal, at most three times.
 * `agent` is the socket of an agent with an open window; never for `memd-trust`.
 * @returns the SSHSIG blob, base64.
 */
export async function signWithKey(
  key: SigningKeyFile,
  namespace: string,
  message: string,
  agent?: string,
): Promise<string> {
  assert(agent === undefined || namespace === eventNamespace, 'an agent signs events only');
  const folder = privateFolder('sign');
  try {
    const file = join(folder.path, 'message');
    writeFileSync(file, message, { mode: 0o600 });
    await signFile(key, { namespace, file, agent });
    return readSignature(`${file}.sig`);
  } finally {
    folder.remove();
  }
}

/** Leaves the armored signature of `file` in `file.sig`. Refuses SIGN_FAILED, NO_TERMINAL. */
export async function signFile(
  key: SigningKeyFile,
  about: { readonly namespace: string; readonly file: string; readonly agent?: string | undefined },
): Promise<void> {
  const terminal = process.stdin.isTTY;
  const { namespace, file, agent } = about;
  if (terminal && key.publicKey.type.startsWith('sk-')) process.stderr.write('touch the key when it blinks\n');
  const tries = terminal && agent === undefined ? passphraseTries : 1;
  for (let left = tries; ; left -= 1) {
    const end = await runKeygen(['-Y', 'sign', '-q', '-f', key.file, '-n', namespace, file], { terminal, agent });
    if (end.code === 0) return;
    const event = namespace === eventNamespace;
    const failure = judgeFailure(end, { file: key.file, terminal, agent: agent !== undefined, tries, event });
    if (failure.again && left > 1) process.stderr.write(`${lastLine(end.stderr)}\n`);
    else throw failure.refusal;
  }
}

/**
 * With a terminal, ssh-keygen has it (it asks there itself). Without one it gets a session of its own: it would ask at the
 * terminal of whoever started us from far away.
 */
function runKeygen(
  args: readonly string[],
  { terminal, agent }: { readonly terminal: boolean; readonly agent: string | undefined },
): Promise<KeygenEnd> {
  const child = spawn('ssh-keygen', [...args], {
    env: childEnvironment(agent === undefined ? {} : { SSH_AUTH_SOCK: agent }),
    stdio: [terminal ? 'inherit' : 'ignore', 'ignore', 'pipe'],
    detached: !terminal,
    timeout: terminal || agent !== undefined ? personMs : aloneMs,
  });
  return ended(child);
}

/** An interrupt at the prompt is the child's to handle: it puts the terminal back, and its end says what happened. */
function ended(child: ChildProcess): Promise<KeygenEnd> {
  const wait = (): void => undefined;
  process.on('SIGINT', wait);
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    if (stderr.length < childStderrBytesMax) stderr += text;
  });
  return new Promise<KeygenEnd>((resolve) => {
    child.on('error', (error) => resolve({ code: null, signal: null, stderr, error }));
    child.on('close', (code, signal) => resolve({ code, signal, stderr }));
  }).finally(() => process.off('SIGINT', wait));
}

function readSignature(file: string): string {
  const blob = armorToBlob(readFileSync(file, 'utf8'));
  if (!blob.ok) throw cannotSign('ssh-keygen wrote no signature', 'update OpenSSH to 8.2 or newer');
  return blob.value;
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

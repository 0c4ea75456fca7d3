/**
 * Keys that a host is to have from now on: made in `keys/next/` before anybody signs for them, and put in the place of the
 * old ones when the charter names them. Whatever a crash interrupts is done by the next look.
 */
import fs from 'node:fs';
import path from 'node:path';
import { realDisk, replaceFile } from '../disk.ts';
import { diskError } from '../errors.ts';
import type { Home } from './home.ts';
import { createKeys, readKey, type HostKey, type HostKeys } from './keys.ts';

const kinds = ['sign', 'ssh'] as const;

/** The keys that wait; one that is in its place already is not among them. */
export type NextKeys = Partial<Record<(typeof kinds)[number], HostKey>>;

/** Makes both, or gives those that wait: a line that somebody is about to sign stays good. */
export function createNextKeys(home: Home, host: string): Promise<HostKeys> {
  return createKeys({ ...home, ...nextFiles(home) }, { host });
}

/** Errors: `KEY_UNSAFE`, `KEY_DAMAGED`. */
export function readNextKeys(home: Home): NextKeys {
  const { hostKey, sshKey } = nextFiles(home);
  return {
    ...(fs.existsSync(hostKey) ? { sign: readKey(hostKey) } : {}),
    ...(fs.existsSync(sshKey) ? { ssh: readKey(sshKey) } : {}),
  };
}

/**
 * Puts those keys in their place that the charter names; the old ones are gone then. Durable. @returns whether any was.
 * Errors: `DISK_FAILED`.
 */
export async function takeNextKeys(
  home: Home,
  named: { readonly sign: { readonly text: string }; readonly ssh: { readonly text: string } },
): Promise<boolean> {
  const next = readNextKeys(home);
  const places = { sign: home.hostKey, ssh: home.sshKey };
  const due = kinds.filter((kind) => next[kind]?.publicKey.text === named[kind].text);
  for (const kind of due) {
    const waiting = next[kind];
    if (waiting === undefined) continue;
    try {
      if (kind === 'ssh') await keepLastSshKey(home);
      // Written anew, not moved: of a move between folders a power cut may keep the removal alone, and the key was gone.
      await replaceFile(realDisk, { file: places[kind], data: Buffer.from(waiting.pem) });
      if (realDisk.removeFile(waiting.file)) await realDisk.syncDirectory(path.dirname(waiting.file));
    } catch (error) {
      throw diskError(error, 'replace', places[kind]);
    }
  }
  return due.length > 0;
}

/**
 * The transport key of before: peers that have not heard of the new one know this host by it, and nobody can hear of the new
 * one but from somebody who is known. After several rekeys that nobody heard of, the one before all of them. Undefined once
 * it is given up.
 */
export function readLastSshKey(home: Home): HostKey | undefined {
  return fs.existsSync(lastFile(home)) ? readKey(lastFile(home)) : undefined;
}

/** Somebody knows the new one, and tells the others. */
export async function forgetLastSshKey(home: Home): Promise<void> {
  if (realDisk.removeFile(lastFile(home))) await realDisk.syncDirectory(home.keys);
}

/** One that is kept already stays: nobody has said yet that they know the key that came after it. */
async function keepLastSshKey(home: Home): Promise<void> {
  if (!fs.existsSync(home.sshKey)) return;
  if (!fs.existsSync(lastFile(home))) fs.linkSync(home.sshKey, lastFile(home));
  // Before the name of the present one means another: a crash may have made this one just now.
  await realDisk.syncDirectory(home.keys);
}

function lastFile(home: Home): string {
  return path.join(home.keys, 'last_ssh_ed25519');
}

function nextFiles(home: Home): Pick<Home, 'hostKey' | 'sshKey'> {
  const folder = path.join(home.keys, 'next');
  return { hostKey: path.join(folder, 'host_ed25519'), sshKey: path.join(folder, 'ssh_ed25519') };
}

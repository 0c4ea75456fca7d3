/**
 * Keys that a host is to have from now on: made in `keys/next/` before anybody signs for them, and put in the place of the
 * old ones when the charter names them. Whatever a crash interrupts is done by the next look.
 */
import fs from 'node:fs';
import path from 'node:path';
import { realDisk } from './disk.ts';
import { diskError } from './errors.ts';
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
    try {
      if (kind === 'ssh') keepLastSshKey(home);
      realDisk.rename(next[kind]?.file ?? '', places[kind]);
      await realDisk.syncDirectory(home.keys);
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
function keepLastSshKey(home: Home): void {
  if (!fs.existsSync(home.sshKey) || fs.existsSync(lastFile(home))) return;
  fs.linkSync(home.sshKey, lastFile(home));
}

function lastFile(home: Home): string {
  return path.join(home.keys, 'last_ssh_ed25519');
}

function nextFiles(home: Home): Pick<Home, 'hostKey' | 'sshKey'> {
  const folder = path.join(home.keys, 'next');
  return { hostKey: path.join(folder, 'host_ed25519'), sshKey: path.join(folder, 'ssh_ed25519') };
}

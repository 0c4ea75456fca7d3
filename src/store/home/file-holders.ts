/**
 * Who has a file open. A lock file of git says nothing about its owner: only that nobody has it open, and that no git works in
 * the repository, proves that a crash left it.
 */

import fs from 'node:fs';
import path from 'node:path';

/** Other processes of this machine that have each of these files open, as far as this user may look; undefined where the system does not say. */
export function holdersOf(files: readonly string[]): ReadonlyMap<string, readonly number[]> | undefined {
  const pids = processes();
  if (pids === undefined) return undefined;
  const found = new Map<string, number[]>(files.map((file) => [file, []]));
  const names = new Map(files.flatMap((file) => [[realName(file), file] as const]));
  for (const pid of pids) {
    for (const open of openFiles(pid)) {
      const file = names.get(open);
      const holders = file === undefined ? undefined : found.get(file);
      if (holders !== undefined && !holders.includes(pid)) holders.push(pid);
    }
  }
  return found;
}

/** Kinds of git calls that a killed memd may leave: they hold no lock that we need. */
const ownCalls = /^(cat-file|fast-import|index-pack|unpack-objects|upload-pack|rev-list|pack-objects|fsck)$/;

/** git processes that a person or another program runs in a repository now. Empty where the system does not say. */
export function gitsAtWork(gitDir: string): readonly number[] {
  const real = realName(gitDir);
  return (processes() ?? []).filter((pid) => {
    const words = readWords(pid);
    if (path.basename(words[0] ?? '') !== 'git' || words.some((word) => ownCalls.test(word))) return false;
    const folder = readLink(`/proc/${pid}/cwd`);
    const inside = folder === real || folder?.startsWith(`${real}/`) === true;
    return inside || words.some((word) => word.includes(real) || word.includes(gitDir));
  });
}

function processes(): readonly number[] | undefined {
  try {
    return fs
      .readdirSync('/proc')
      .flatMap((name) => (/^\d+$/.test(name) && Number(name) !== process.pid ? Number(name) : []));
  } catch {
    return undefined;
  }
}

function openFiles(pid: number): readonly string[] {
  try {
    const folder = `/proc/${pid}/fd`;
    return fs.readdirSync(folder).flatMap((name) => readLink(`${folder}/${name}`) ?? []);
  } catch {
    // Another user's, or gone meanwhile.
    return [];
  }
}

function readWords(pid: number): readonly string[] {
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0');
  } catch {
    return [];
  }
}

function readLink(file: string): string | undefined {
  try {
    return fs.readlinkSync(file);
  } catch {
    return undefined;
  }
}

function realName(file: string): string {
  try {
    return path.join(fs.realpathSync(path.dirname(file)), path.basename(file));
  } catch {
    return file;
  }
}

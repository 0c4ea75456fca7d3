/**
 * What a crash leaves behind, removed at start: temporary objects and packs, quarantines, locks of refs, temporary refs
 * and files. Only under the home lock, which proves that no other memd writes; stray children of a killed memd work on
 * temporary refs and quarantines only, so they cannot lose anything that counts. A lock of git may also be somebody's who
 * works in the repository by hand: it goes only when no process has it open and no other git is at work there.
 */

import fs from 'node:fs';
import path from 'node:path';
import { diskError } from '../errors.ts';
import { isAlive } from '../live-process.ts';
import { gitsAtWork, holdersOf } from './file-holders.ts';
import type { HomeLock } from './home-lock.ts';

/** One rule: files of this name pattern, directly in or (deep) anywhere below a folder of the repository. */
interface Rule {
  readonly folder: string;
  readonly pattern: RegExp;
  readonly deep?: boolean;
  readonly folders?: boolean;
  /** Written without the home lock, by whoever asks: one whose process runs may be in the middle of it. */
  readonly lockless?: boolean;
}

const repositoryRules: readonly Rule[] = [
  { folder: 'objects', pattern: /^tmp_obj_/, deep: true },
  { folder: 'objects/pack', pattern: /^(tmp_(pack|idx|rev|bitmap|mtimes)_|\.tmp-|pack-[0-9a-f]+\.keep$)/ },
  { folder: 'objects', pattern: /^(tmp_objdir-|incoming-)/, folders: true },
  { folder: 'quarantine', pattern: /./, folders: true },
  { folder: 'quarantine', pattern: /./ },
  { folder: 'objects', pattern: /^maintenance\.lock$/ },
  { folder: 'refs', pattern: /\.lock$/, deep: true },
  { folder: 'refs/memd', pattern: /./ },
  {
    folder: '',
    pattern: /^(HEAD\.lock|config\.lock|packed-refs\.(lock|new)|shallow\.lock|gc\.pid(\.lock)?|fast_import_crash_\d+)$/,
  },
  { folder: '', pattern: /\.tmp-\d+$/ },
];

const homeRules: readonly Rule[] = [
  {
    folder: '',
    pattern:
      /^(\.room\.tmp-\d+|(last-heads|purged|exports|maintenance|peers)\.json\.tmp-\d+|machine\.marker\.tmp-\d+|memd\.lock\.owner\.tmp)$/,
  },
  { folder: '', pattern: /^(manifest-floor|unlock)\.json\.tmp-\d+$/, lockless: true },
  { folder: 'keys', pattern: /\.tmp-\d+$/, deep: true },
  { folder: 'forks', pattern: /\.tmp-\d+$/ },
  { folder: 'views', pattern: /^\..*\.tmp-\d+$/, deep: true },
  { folder: 'logs', pattern: /^\..*\.tmp-\d+$/ },
];

/** Removes the remains; gives the paths (below the home) that were removed, for the log. Errors: `DISK_FAILED`. */
export function sweepHome(lock: HomeLock): readonly string[] {
  const { dir, repository } = lock.home;
  const found = [
    ...repositoryRules.flatMap((rule) => findByRule(repository, rule)),
    ...homeRules.flatMap((rule) => findByRule(dir, rule)),
  ];
  const live = liveLocks(
    repository,
    found.filter((file) => file.endsWith('.lock')),
  );
  const removed = found.filter((file) => !live.has(file));
  for (const target of removed) {
    try {
      fs.rmSync(target, { recursive: true, force: true });
    } catch (error) {
      throw diskError(error, 'remove', target);
    }
  }
  return removed.map((file) => path.relative(dir, file)).sort((a, b) => (a < b ? -1 : 1));
}

/** Locks whose owner may live. Where the system does not say who has a file open, the home lock is the proof. */
function liveLocks(repository: string, locks: readonly string[]): ReadonlySet<string> {
  if (locks.length === 0) return new Set();
  if (gitsAtWork(repository).length > 0) return new Set(locks);
  const holders = holdersOf(locks);
  return new Set(locks.filter((file) => (holders?.get(file)?.length ?? 0) > 0));
}

function findByRule(root: string, rule: Rule): string[] {
  return findIn(path.join(root, rule.folder), rule);
}

function findIn(folder: string, rule: Rule): string[] {
  return listFolder(folder).flatMap((entry): string[] => {
    const target = path.join(folder, entry.name);
    const below = entry.isDirectory() && rule.deep === true ? findIn(target, rule) : [];
    const isMeant =
      entry.isDirectory() === (rule.folders === true) &&
      rule.pattern.test(entry.name) &&
      !(rule.lockless === true && isBeingWritten(entry.name));
    return isMeant ? [...below, target] : below;
  });
}

/** By a process that runs; this one writes nothing while it sweeps. */
function isBeingWritten(name: string): boolean {
  const pid = Number(/\d+$/.exec(name)?.[0]);
  return pid !== process.pid && isAlive(pid);
}

/** Entries of a real folder; none when it is missing or a symbolic link. */
function listFolder(folder: string): fs.Dirent[] {
  if (fs.lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  try {
    return fs.readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    throw diskError(error, 'read', folder);
  }
}

/**
 * What a crash leaves behind, removed at start: temporary objects and packs, quarantines, locks of refs, temporary refs
 * and files. Only under the home lock, which proves that no other memd writes; stray children of a killed memd work on
 * temporary refs and quarantines only, so they cannot lose anything that counts.
 */

import fs from 'node:fs';
import path from 'node:path';
import { diskError } from './errors.ts';
import type { HomeLock } from './home-lock.ts';

/** One rule: files of this name pattern, directly in or (deep) anywhere below a folder of the repository. */
interface Rule {
  readonly folder: string;
  readonly pattern: RegExp;
  readonly deep?: boolean;
  readonly folders?: boolean;
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
      /^(\.room\.tmp-\d+|(last-heads|purged|exports)\.json\.tmp-\d+|machine\.marker\.tmp-\d+|memd\.lock\.owner\.tmp)$/,
  },
  { folder: 'keys', pattern: /\.tmp-\d+$/, deep: true },
  { folder: 'forks', pattern: /\.tmp-\d+$/ },
  { folder: 'views', pattern: /^\..*\.tmp-\d+$/, deep: true },
  { folder: 'logs', pattern: /^\..*\.tmp-\d+$/ },
];

/** Removes the remains; gives the paths (below the home) that were removed, for the log. Errors: `DISK_FAILED`. */
export function sweepHome(lock: HomeLock): readonly string[] {
  const { dir, repository } = lock.home;
  const removed = [
    ...repositoryRules.flatMap((rule) => sweepRule(repository, rule)),
    ...homeRules.flatMap((rule) => sweepRule(dir, rule)),
  ];
  return removed.map((file) => path.relative(dir, file)).sort((a, b) => (a < b ? -1 : 1));
}

function sweepRule(root: string, rule: Rule): string[] {
  return sweepFolder(path.join(root, rule.folder), rule);
}

function sweepFolder(folder: string, rule: Rule): string[] {
  const removed: string[] = [];
  for (const entry of listFolder(folder)) {
    const target = path.join(folder, entry.name);
    if (entry.isDirectory() && rule.deep === true) removed.push(...sweepFolder(target, rule));
    if (entry.isDirectory() !== (rule.folders === true) || !rule.pattern.test(entry.name)) continue;
    try {
      fs.rmSync(target, { recursive: true, force: true });
    } catch (error) {
      throw diskError(error, 'remove', target);
    }
    removed.push(target);
  }
  return removed;
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

/** What a home holds beside git and the database that may say what an event said: plain copies, kept edits, damaged files. */

import fs from 'node:fs';
import path from 'node:path';
import { splitLines } from '../core/segments.ts';
import { diskError, systemCode } from './errors.ts';
import type { Home } from './home/home.ts';
import { withoutBody, type RewriteContext } from './logs/log-rewrite.ts';
import { readPlainFile } from './safe-folder.ts';

/**
 * Takes purged bodies out of every plain copy, those too of logs that are damaged or no longer written. A line that is not
 * whole cannot be told from one that must go, and goes. Errors: `FILE_UNSAFE`, `DISK_FAILED`, `DISK_FULL`.
 */
export function purgePlainCopies(home: Home, purged: Pick<RewriteContext, 'meshId' | 'purged'>): void {
  for (const name of namesIn(home.logs).filter((entry) => entry.endsWith('.jsonl'))) {
    const file = path.join(home.logs, name);
    try {
      const content = readPlainFile(file) ?? Buffer.alloc(0);
      const { lines, rest } = splitLines(content);
      const kept = lines.map((line) => withoutBody(purged, line));
      if (rest.length === 0 && !kept.some(({ hole }) => hole)) continue;
      const temporary = path.join(home.logs, `.${name}.tmp-${process.pid}`);
      fs.rmSync(temporary, { force: true });
      const newline = Buffer.from('\n');
      const bytes = kept.flatMap(({ line }) => [typeof line === 'string' ? Buffer.from(line) : line, newline]);
      fs.writeFileSync(temporary, Buffer.concat(bytes), { mode: 0o600, flag: 'wx' });
      fs.renameSync(temporary, file);
    } catch (error) {
      throw diskError(error, 'purge', file);
    }
  }
}

/**
 * Removes what is only kept in case somebody wants it: hand edits of views, views of audiences that are not declared, a
 * damaged database, what a repair moved aside. What is in them cannot be told, and they may hold what was purged. @returns the paths, below the home.
 */
export function removeKeptFiles(home: Home, audiences: Pick<ReadonlySet<string>, 'has'>): readonly string[] {
  const damaged = namesIn(home.dir).filter((name) => /^(state\.sqlite\.damaged|damaged($|\.other))/.test(name));
  const views = namesIn(home.views).flatMap((audience) => {
    if (!audiences.has(audience)) return [path.join('views', audience)];
    const edits = namesIn(path.join(home.views, audience)).filter((name) => /\.edited-[0-9a-f]{8}$/.test(name));
    return edits.map((name) => path.join('views', audience, name));
  });
  const removed = [...damaged, ...views];
  for (const name of removed) {
    try {
      fs.rmSync(path.join(home.dir, name), { recursive: true, force: true });
    } catch (error) {
      throw diskError(error, 'remove', path.join(home.dir, name));
    }
  }
  return removed;
}

/** Names in a real folder; none when it is missing or a link. */
function namesIn(folder: string): readonly string[] {
  if (fs.lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  try {
    return fs.readdirSync(folder);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw diskError(error, 'read', folder);
  }
}

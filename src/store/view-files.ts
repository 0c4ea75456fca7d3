/**
 * The generated view files of one audience: written by rename in a folder that memd made. What memd wrote is remembered
 * by hash in `.written.json`, so that a hand edit is noticed and kept beside, never silently eaten.
 */

import fs from 'node:fs';
import path from 'node:path';
import { sha256Hex } from '../crypto/hash.ts';
import { parsePlainJson } from '../crypto/plain-json.ts';
import { assert } from '../crypto/result.ts';
import { realDisk, removeQuietly, type Disk } from './disk.ts';
import { diskError, systemCode } from './errors.ts';
import type { Home } from './home/home.ts';
import { openFolder, readPlainFile } from './safe-folder.ts';

/** How a view file stands: as memd wrote it, absent, changed by somebody else, or not a plain file. */
export type ViewFileState = 'as written' | 'missing' | 'edited' | 'unsafe';

/** What one call did. */
export interface WrittenViews {
  /** Names of files whose content is new. */
  readonly written: readonly string[];
  /** Hand edits that were found, and the full path under which each was kept. */
  readonly edited: readonly { readonly name: string; readonly keptAs: string }[];
}

const namePattern = /^[A-Za-z][A-Za-z0-9._-]{0,63}$/;
const audiencePattern = /^[a-z][a-z0-9-]{0,30}$/;
const memory = '.written.json';

/**
 * Hashes that memd wrote under a name: the current one, and while a write is under way the next one too, so that a crash
 * between the two renames does not look like a hand edit.
 */
type Hashes = Record<string, readonly string[]>;

function readHashes(folder: string): Hashes {
  try {
    const read = parsePlainJson(readPlainFile(path.join(folder, memory))?.toString('utf8') ?? '{}');
    const entries = Object.entries(read.ok ? (read.value as Record<string, unknown>) : {}).filter(
      (entry): entry is [string, string[]] => Array.isArray(entry[1]),
    );
    return Object.fromEntries(entries);
  } catch {
    return {};
  }
}

/**
 * Writes the files that differ. The file itself is flushed before its rename, so a power cut cannot leave an empty one.
 * Errors: `FILE_UNSAFE` (a link or a foreign folder in the way), `DISK_FAILED`, `DISK_FULL`.
 */
export async function writeViewFiles(
  home: Home,
  options: { audience: string; files: ReadonlyMap<string, string>; disk?: Disk },
): Promise<WrittenViews> {
  const { audience, files, disk = realDisk } = options;
  assert(audiencePattern.test(audience), 'an audience is a slug');
  try {
    const folder = openFolder(home.dir, ['views', audience]);
    const hashes = readHashes(folder);
    const edited: { name: string; keptAs: string }[] = [];
    const changed: Changed[] = [];
    for (const [name, text] of files) {
      assert(namePattern.test(name), 'a view file has a plain name');
      const data = Buffer.from(text);
      const plan = planFile(folder, { name, hash: sha256Hex(data), known: hashes[name] ?? [] });
      if (plan.keptAs !== undefined) edited.push({ name, keptAs: plan.keptAs });
      if (plan.write) changed.push({ name, data, hash: sha256Hex(data), before: plan.before });
    }
    if (changed.length > 0) await writeChanged(disk, { folder, changed, hashes });
    return { written: changed.map((file) => file.name), edited };
  } catch (error) {
    throw diskError(error, 'write views of', audience);
  }
}

interface Changed {
  readonly name: string;
  readonly data: Buffer;
  readonly hash: string;
  /** Hash of what memd wrote there before and is there still. */
  readonly before: string | undefined;
}

/** Whether a file must be written; a hand edit is first kept beside it under a name made of its own content. */
function planFile(
  folder: string,
  file: { name: string; hash: string; known: readonly string[] },
): { write: boolean; before?: string; keptAs?: string } {
  const target = path.join(folder, file.name);
  const current = readPlainFile(target);
  if (current === undefined) return { write: true };
  const before = sha256Hex(current);
  if (before === file.hash) return { write: !file.known.includes(before), before };
  if (file.known.length === 0 || file.known.includes(before)) return { write: true, before };
  const keptAs = path.join(folder, `${file.name}.edited-${before.slice(0, 8)}`);
  keep(target, keptAs);
  return { write: true, keptAs };
}

/** A second name, so that the file is never missing, however long the disk stays full; where the system has none, the only one. */
function keep(target: string, keptAs: string): void {
  try {
    fs.linkSync(target, keptAs);
  } catch (error) {
    // Kept by an earlier try that could not write what comes in its place.
    if (systemCode(error) !== 'EEXIST') fs.renameSync(target, keptAs);
  }
}

async function writeChanged(
  disk: Disk,
  work: { folder: string; changed: readonly Changed[]; hashes: Hashes },
): Promise<void> {
  const { folder, changed, hashes } = work;
  const during: Hashes = { ...hashes };
  const after: Hashes = { ...hashes };
  for (const { name, hash, before } of changed) {
    // What is there, not what was to be there: of several writings that failed, each would else push out the one that did not.
    during[name] = before === undefined ? [hash] : [before, hash];
    after[name] = [hash];
  }
  await replaceByRename(disk, [{ target: path.join(folder, memory), data: Buffer.from(JSON.stringify(during)) }]);
  await replaceByRename(
    disk,
    changed.map(({ name, data }) => ({ target: path.join(folder, name), data })),
  );
  await replaceByRename(disk, [{ target: path.join(folder, memory), data: Buffer.from(JSON.stringify(after)) }]);
}

interface NewFile {
  readonly target: string;
  readonly data: Buffer;
}

/**
 * Files that belong together are laid down and flushed first and then renamed in one go, in their order: whoever reads
 * meanwhile meets some of the old and some of the new for microseconds only.
 */
async function replaceByRename(disk: Disk, files: readonly NewFile[]): Promise<void> {
  const temporaries = files.map(({ target }) => temporaryOf(target));
  try {
    // Waited for all, also after a failure: whoever tries again must not meet what is still under way.
    const done = await Promise.allSettled(files.map((file) => layDown(disk, file)));
    for (const one of done) if (one.status === 'rejected') throw one.reason;
    for (const { target } of files) disk.rename(temporaryOf(target), target);
  } catch (error) {
    for (const temporary of temporaries) removeQuietly(disk, temporary);
    throw error;
  }
}

async function layDown(disk: Disk, { target, data }: NewFile): Promise<void> {
  const temporary = temporaryOf(target);
  disk.removeFile(temporary);
  const descriptor = disk.createFile(temporary, data, 0o600);
  try {
    await disk.syncFile(descriptor, temporary);
  } finally {
    disk.closeFile(descriptor);
  }
}

function temporaryOf(target: string): string {
  return path.join(path.dirname(target), `.${path.basename(target)}.tmp-${process.pid}`);
}

/** Removes a generated file that is true no more; nothing where there is none. Errors: `FILE_UNSAFE`, `DISK_FAILED`. */
export function removeViewFile(
  home: Home,
  { audience, name, disk = realDisk }: { readonly audience: string; readonly name: string; readonly disk?: Disk },
): void {
  assert(audiencePattern.test(audience) && namePattern.test(name), 'audience and name are plain');
  try {
    disk.removeFile(path.join(openFolder(home.dir, ['views', audience]), name));
  } catch (error) {
    throw diskError(error, 'remove a view of', audience);
  }
}

/** How a file stands compared with what memd wrote last. Touches nothing. */
export function viewFileState(home: Home, audience: string, name: string): ViewFileState {
  assert(audiencePattern.test(audience) && namePattern.test(name), 'audience and name are plain');
  const folder = path.join(home.views, audience);
  const known = readHashes(folder)[name] ?? [];
  try {
    const current = readPlainFile(path.join(folder, name));
    if (current === undefined) return 'missing';
    return known.includes(sha256Hex(current)) ? 'as written' : 'edited';
  } catch {
    return 'unsafe';
  }
}

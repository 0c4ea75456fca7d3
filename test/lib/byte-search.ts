/** Looks for bytes in everything below a folder: raw, and unpacked where it is a git object, loose or packed, reached or not. */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { childEnvironment } from '../../src/store/child.ts';

/** Where a text occurs: paths below `folder`, and `object ID` for what only an unpacked git object of `repository` shows. */
export function findBytes(folder: string, text: string, repository = path.join(folder, 'repo.git')): string[] {
  const needle = Buffer.from(text);
  const found: string[] = [];
  for (const { name, bytes } of filesBelow(folder, ''))
    if (name.includes(text) || bytes?.includes(needle) === true) found.push(name);
  return [...found, ...findObjects(repository, needle)].toSorted((a, b) => (a < b ? -1 : 1));
}

interface Found {
  readonly name: string;
  /** Undefined for what is no file. */
  readonly bytes: Buffer | undefined;
}

/** A home that is in use changes under the search: what is gone when its turn comes holds nothing. */
function* filesBelow(folder: string, below: string): Generator<Found> {
  const entries = unlessGone(() => fs.readdirSync(path.join(folder, below), { withFileTypes: true })) ?? [];
  for (const entry of entries) {
    const name = path.join(below, entry.name);
    yield { name, bytes: entry.isFile() ? unlessGone(() => fs.readFileSync(path.join(folder, name))) : undefined };
    if (entry.isDirectory()) yield* filesBelow(folder, name);
  }
}

function unlessGone<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function findObjects(repository: string, needle: Buffer): string[] {
  if (!fs.existsSync(repository)) return [];
  const all = execFileSync(
    'git',
    ['--git-dir', repository, 'cat-file', '--batch-all-objects', '--batch', '--unordered'],
    {
      env: childEnvironment(),
      maxBuffer: 1 << 30,
    },
  );
  const found: string[] = [];
  for (let at = 0; at < all.length;) {
    const end = all.indexOf(0x0a, at);
    const [oid = '', , size] = all.toString('latin1', at, end).split(' ');
    // Gone since it was listed: `ID missing`, and nothing follows.
    const next = size === undefined ? end + 1 : end + 1 + Number(size) + 1;
    if (all.subarray(end + 1, next).includes(needle)) found.push(`object ${oid}`);
    at = next;
  }
  return found;
}

/** Looks for bytes in everything below a folder: raw, and unpacked where it is a git object, loose or packed, reached or not. */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { childEnvironment } from '../../src/store/child.ts';

/** Where a text occurs: paths below `folder`, and `object ID` for what only an unpacked git object of `repository` shows. */
export function findBytes(folder: string, text: string, repository = path.join(folder, 'repo.git')): string[] {
  const needle = Buffer.from(text);
  const found: string[] = [];
  for (const name of fs.readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const file = path.join(folder, name);
    const status = fs.lstatSync(file, { throwIfNoEntry: false });
    if (name.includes(text)) found.push(name);
    if (status?.isFile() === true && fs.readFileSync(file).includes(needle)) found.push(name);
  }
  return [...found, ...findObjects(repository, needle)].toSorted((a, b) => (a < b ? -1 : 1));
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
    const [oid = '', , size = '0'] = all.toString('latin1', at, end).split(' ');
    const next = end + 1 + Number(size) + 1;
    if (all.subarray(end + 1, next).includes(needle)) found.push(`object ${oid}`);
    at = next;
  }
  return found;
}

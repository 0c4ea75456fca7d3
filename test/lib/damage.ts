/** What a bad disk, a power cut or a hand does to the files of a home, for tests and drills of repairs. */
import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Runs git in the repository of a home; what it says without the last newline. */
export function gitIn(home: string, ...args: readonly string[]): string {
  return execFileSync('git', ['--git-dir', join(home, 'repo.git'), ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();
}

/** The file of a loose object, made writable. `name`: anything that git resolves. */
export function objectFile(home: string, name: string): string {
  const oid = /^[0-9a-f]{40}$/.test(name) ? name : gitIn(home, 'rev-parse', name);
  const file = join(home, 'repo.git/objects', oid.slice(0, 2), oid.slice(2));
  chmodSync(file, 0o600);
  return file;
}

/** Turns every pack into loose objects. */
function unpackAll(home: string): void {
  const folder = join(home, 'repo.git/objects/pack');
  for (const name of readdirSync(folder).filter((entry) => entry.endsWith('.pack'))) {
    const pack = join(folder, name);
    const input = readFileSync(pack);
    for (const file of readdirSync(folder).filter((entry) => entry.startsWith(name.slice(0, -'pack'.length))))
      rmSync(join(folder, file));
    execFileSync('git', ['--git-dir', join(home, 'repo.git'), 'unpack-objects', '-q'], { input });
  }
}

/** Every object that a branch reaches becomes an empty file. */
export function emptyObjects(home: string, branch: string): void {
  unpackAll(home);
  const oids = gitIn(home, 'rev-list', '--objects', branch).split('\n');
  for (const line of oids) truncateSync(objectFile(home, line.slice(0, 40)), 0);
}

/** One bit of a file becomes another, in the middle if not said. */
export function flipBit(file: string, at: number = Math.floor(statSync(file).size / 2)): void {
  chmodSync(file, 0o600);
  const bytes = readFileSync(file);
  bytes[at] = (bytes[at] ?? 0) ^ 0x10;
  writeFileSync(file, bytes);
}

/** Packs everything. @returns the file of the pack. */
export function packAll(home: string): string {
  gitIn(home, 'repack', '-adq');
  gitIn(home, 'prune-packed', '-q');
  const folder = join(home, 'repo.git/objects/pack');
  const pack = readdirSync(folder).find((name) => name.endsWith('.pack'));
  if (pack === undefined) throw new Error('git repack left no pack');
  for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o600);
  return join(folder, pack);
}

export function branchFile(home: string, name: string): string {
  return join(home, 'repo.git/refs/heads', name);
}

/** Takes the plain copies away: what is left to repair from is git and peers. */
export function removeCopies(home: string): void {
  rmSync(join(home, 'logs'), { recursive: true });
}

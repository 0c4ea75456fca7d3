/**
 * Lines of a log that no branch holds: the other side of a fork, what stood behind a pin, what a home had written before it
 * was given new keys. Nothing here counts. It is kept as evidence, and so that the host can say again what it said there.
 * One plain file for each branch, `forks/HOST-SEQ-LINK.jsonl`: place and link of its first line.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { forkBranchesMax } from '../../core/limits.ts';
import type { Line } from '../../core/line.ts';
import { splitLines } from '../../core/segments.ts';
import { decodeUtf8 } from '../../crypto/text.ts';
import { realDisk, replaceFile, syncDirectories } from '../disk.ts';
import { diskError } from '../errors.ts';
import type { Home } from '../home/home.ts';
import { withoutBody, type RewriteContext } from './log-rewrite.ts';

export interface ForkBranch {
  readonly host: string;
  /** Seq of its first line. */
  readonly from: number;
  /** First 12 digits of the link of that line. */
  readonly link: string;
  /** Lines as they stood, without newline. */
  readonly lines: readonly string[];
}

const namePattern = /^([a-z][a-z0-9-]{0,30})-(\d{1,15})-([0-9a-f]{12})\.jsonl$/;

/**
 * Keeps lines that follow each other, durably; of one branch the longer. Of one host a bounded number is kept: whoever has a
 * key can sign any number of branches. @returns whether it is kept now. Errors: `DISK_FAILED`, `DISK_FULL`.
 */
export async function keepBranch(home: Home, lines: readonly Line[]): Promise<boolean> {
  const [first] = lines;
  if (first === undefined) return false;
  const name = `${first.log}-${first.seq}-${first.link.slice(0, 12)}.jsonl`;
  const names = namesOf(home, first.log);
  if (!names.includes(name) && names.length >= forkBranchesMax) return false;
  const held = names.includes(name) ? readLines(path.join(home.forks, name)).length : 0;
  if (held >= lines.length) return true;
  makeFolder(home);
  await writeBranch(
    path.join(home.forks, name),
    lines.map(({ text }) => text),
  );
  // The folder may be new: without its name the evidence would be gone after a power cut.
  await syncDirectories(realDisk, [home.dir]);
  return true;
}

/** The branches of a host that are kept here, by seq, then link. */
export function listBranches(home: Home, host: string): readonly ForkBranch[] {
  return namesOf(home, host)
    .map((name) => {
      const [, , from = '', link = ''] = namePattern.exec(name) ?? [];
      return { host, from: Number(from), link, lines: readLines(path.join(home.forks, name)) };
    })
    .toSorted((a, b) => a.from - b.from || (a.link < b.link ? -1 : 1));
}

/** Takes purged bodies out of every branch that is kept. Errors: `DISK_FAILED`, `DISK_FULL`. */
export async function purgeBranches(home: Home, purged: Pick<RewriteContext, 'meshId' | 'purged'>): Promise<void> {
  for (const name of namesOf(home)) {
    const file = path.join(home.forks, name);
    const kept = readLines(file).map((line) => withoutBody(purged, line));
    if (!kept.some(({ hole }) => hole)) continue;
    const texts = kept.map(({ line }) => (typeof line === 'string' ? line : (decodeUtf8(line) ?? '')));
    await writeBranch(file, texts);
  }
}

function writeBranch(file: string, lines: readonly string[]): Promise<void> {
  return replaceFile(realDisk, { file, data: Buffer.from(`${lines.join('\n')}\n`) });
}

function makeFolder(home: Home): void {
  if (existsSync(home.forks)) return;
  try {
    mkdirSync(home.forks, { mode: 0o700 });
  } catch (error) {
    throw diskError(error, 'make', home.forks);
  }
}

function namesOf(home: Home, host?: string): readonly string[] {
  if (!existsSync(home.forks)) return [];
  try {
    return readdirSync(home.forks).filter((name) => {
      const [whole, log] = namePattern.exec(name) ?? [];
      return whole !== undefined && (host === undefined || log === host);
    });
  } catch (error) {
    throw diskError(error, 'read', home.forks);
  }
}

function readLines(file: string): readonly string[] {
  try {
    return splitLines(readFileSync(file)).lines.filter((line) => typeof line === 'string');
  } catch (error) {
    throw diskError(error, 'read', file);
  }
}

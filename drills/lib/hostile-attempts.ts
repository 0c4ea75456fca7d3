/** What an enemy serves: answers, packs, and histories of real objects. Each with the reason that the peer is marked with. */
import { execFileSync } from 'node:child_process';
import type { Repository } from '../../src/store/git/repository.ts';
import { logFolders, writeCommit, writeTree, type Entry } from '../../test/e2e/mesh/hostile.ts';
import { packing, packingWithoutEnd, saying, serving, silent, trickling, type Answer } from './hostile-host.ts';
import { blobBomb, deltaBomb, endlessPack, manyBlobs, manyCommits } from './hostile-packs.ts';

/** One thing that gamma serves. */
export interface Attempt {
  readonly what: string;
  /** Lines that it says it holds of its own log: they decide how much may come. */
  readonly lines: number;
  readonly pack?: Answer;
  readonly heads?: Answer;
  /** Commit that it offers; a made-up one if not given. */
  readonly oid?: string;
  /** What the peer is marked with. */
  readonly reason: RegExp;
}

/** Long enough for an answer that keeps its promise, short enough that the pack is taken in as a pack. */
export const manyLines = 1_000;
const refusedPack = /^(PACK_REFUSED|TOO_LARGE|PROTOCOL|NOT_A_COMMIT|COMMIT_CHAIN|MISSING_OBJECT|REMOTE_ERROR)/;

/** Answers that are none. */
export function nonsense(): Attempt[] {
  const endlessHeads: Answer = packingWithoutEnd(function* () {
    for (;;) yield Buffer.alloc(65_536, 0x7b);
  });
  return [
    { what: 'garbage', lines: 1, pack: saying(Buffer.alloc(100_000, 0xa5)), reason: /^PROTOCOL/ },
    {
      what: 'terminal codes',
      lines: 1,
      pack: saying(Buffer.from('0015ERR \u001b[2J\u0007x')),
      reason: /^(PROTOCOL|REMOTE_ERROR)/,
    },
    { what: 'silence for ever', lines: 1, pack: (channel) => void channel.end(), reason: /^(CLOSED|PROTOCOL|TIMEOUT)/ },
    { what: 'heads without end', lines: 1, heads: endlessHeads, reason: /^TOO_LARGE/ },
    {
      what: 'heads that nest 100 000 deep',
      lines: 1,
      heads: saying(Buffer.from(`${'['.repeat(100_000)}\n`)),
      reason: /^PROTOCOL/,
    },
    { what: 'heads byte by byte', lines: 1, heads: trickling(Buffer.from('{"addresses":{}'), 300), reason: /^TIMEOUT/ },
    { what: 'no answer to a question', lines: 1, heads: silent, reason: /^TIMEOUT/ },
    {
      what: 'a pack without end, of one line',
      lines: 1,
      pack: packingWithoutEnd(endlessPack),
      reason: /^TOO_LARGE/,
    },
    {
      what: 'a pack without end, of a million lines',
      lines: 1_000_000,
      pack: packingWithoutEnd(endlessPack),
      reason: /^TOO_LARGE: log gamma: the pack is larger than 67108864 bytes/,
    },
  ];
}

/** Small packs, large objects. */
export function bombs(): Attempt[] {
  const made: [string, () => Buffer][] = [
    ['a blob of 256 MiB', () => blobBomb(256 * 1_048_576)],
    ['a delta of 1 GiB', () => deltaBomb(1, 16_384)],
    ['50 deltas of 15 MiB', () => deltaBomb(50, 240)],
    ['40 trees of 15 MiB', () => manyBlobs(40, 15 * 1_048_576)],
  ];
  const both = made.flatMap(([what, make]): Attempt[] => {
    const pack = packing(make());
    return [
      { what: `${what}, unpacked`, lines: 1, pack, reason: refusedPack },
      { what: `${what}, kept as a pack`, lines: manyLines, pack, reason: refusedPack },
    ];
  });
  const commits = packing(manyCommits(150_000));
  return [...both, { what: '150 000 commits', lines: 25_000, pack: commits, reason: refusedPack }];
}

/** Histories that are as long as they say, from one who has cost nothing in vain yet: in one answer, and in rounds. */
export function longHistories(odd: Repository): Attempt[] {
  const commits = 60_000;
  return [
    {
      what: `${commits} commits in rounds`,
      lines: 1_000_000,
      oid: layLongHistory(odd.gitDir, commits),
      pack: serving(odd.gitDir),
      reason: /^TREE_SHAPE/,
    },
    {
      what: '150 000 commits at once, whatever was asked for',
      lines: 1_000_000,
      pack: packing(manyCommits(150_000)),
      reason: refusedPack,
    },
    {
      what: '150 001 commits at once',
      lines: 1_000_000,
      pack: packing(manyCommits(150_001)),
      reason: /^TOO_LARGE/,
    },
  ];
}

/** Commits that each have a folder of their own, and are no log. @returns the newest. */
export function layLongHistory(gitDir: string, commits: number): string {
  const ref = 'refs/heads/long';
  const texts = Array.from({ length: commits }, (_, at) => {
    const said = `commit ${ref}\ncommitter x <x@x> ${at} +0000\ndata 0\n`;
    return `${said}M 100644 inline a\ndata 8\n${String(at).padStart(8, '0')}\n`;
  });
  execFileSync('git', ['--git-dir', gitDir, 'fast-import', '--quiet'], { input: texts.join('') });
  return execFileSync('git', ['--git-dir', gitDir, 'rev-parse', ref], { encoding: 'utf8' }).trim();
}

/** Trees and lines that are no log, written to a repository. */
export async function oddLogs(odd: Repository): Promise<Attempt[]> {
  const line = `{"v":1,"x":"${'x'.repeat(10_485_760)}"}\n`;
  const nested = `${'['.repeat(16_000)}${']'.repeat(16_000)}\n`;
  const link: Entry = { mode: '120000', oid: await blobOf(odd, '/etc/passwd') };
  const gitlink: Entry = { mode: '160000', oid: '1'.repeat(40) };
  const odds: [string, Record<string, Entry>, RegExp][] = [
    ['a line of 10 MB', logFolders([line]), /^(TOO_LARGE|PACK_REFUSED)/],
    ['a line that nests 16 000 deep', logFolders([nested]), /^LOG_CUT/],
    ['a link in the place of a segment', { '00': { '00': { '00.jsonl': link } } }, /^TREE_SHAPE/],
    ['a link in the place of a folder', { '00': link }, /^TREE_SHAPE/],
    ['a gitlink', { '00': gitlink }, /^TREE_SHAPE/],
    ['a name that leads elsewhere', { '..': { x: 'x' } }, /^(PACK_REFUSED|TREE_SHAPE)/],
    ['a folder .git', { '.git': { hooks: { 'post-checkout': 'x' } } }, /^(PACK_REFUSED|TREE_SHAPE)/],
    ['a name of control characters', { '\u001b[2J': 'x' }, /^(PACK_REFUSED|TREE_SHAPE)/],
    ['a file that no log has', { ...logFolders(['']), readme: 'x' }, /^TREE_SHAPE/],
    [
      '10 000 files',
      { '00': Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`f${at}`, 'x'])) },
      /^(TREE_SHAPE|TOO_LARGE)/,
    ],
  ];
  const attempts: Attempt[] = [];
  for (const [what, folder, reason] of odds) {
    const oid = await writeCommit(odd, await writeTree(odd, folder));
    attempts.push({ what, lines: manyLines, oid, pack: serving(odd.gitDir), reason });
  }
  return attempts;
}

async function blobOf(repository: Repository, content: string): Promise<string> {
  await writeTree(repository, { x: content });
  return execFileSync('git', ['hash-object', '--stdin'], { input: content, encoding: 'utf8' }).trim();
}

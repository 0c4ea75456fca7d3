/** Reads a log with stock git and tar, beside the store, and holds it against what clients were told. */
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { extendLog } from '../../src/core/log.ts';
import { childEnvironment } from '../../src/store/child.ts';
import { readKeys } from '../../src/store/home/keys.ts';
import { homePaths } from '../../src/store/home/home.ts';
import type { Ledger } from './clients.ts';
import { DrillFailure, type DrillContext } from './drill.ts';
import type { Target } from './target.ts';

const outputBytesMax = 1_073_741_824;

function git(home: string, args: readonly string[]): Buffer {
  return execFileSync('git', ['--git-dir', path.join(home, 'repo.git'), ...args], {
    env: childEnvironment({ GIT_CONFIG_COUNT: '0' }),
    maxBuffer: outputBytesMax,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Lines of a log branch as stock git has them: `git archive` through tar, files in the order of their names. */
export function readLogWithGit(home: string, host: string): string[] {
  const tar = git(home, ['archive', '--format=tar', `log/${host}`]);
  const text = execFileSync('tar', ['-xOf', '-'], { input: tar, maxBuffer: outputBytesMax }).toString('utf8');
  if (!text.endsWith('\n')) throw new DrillFailure('the last line is torn: no newline at its end');
  return text.slice(0, -1).split('\n');
}

/** `git fsck --strict`; fails the drill unless it says nothing. */
export function checkRepository(home: string): void {
  const said = git(home, ['fsck', '--strict', '--full', '--no-dangling', '--no-progress']).toString('utf8').trim();
  if (said !== '') throw new DrillFailure(`git fsck: ${said}`);
}

/** Fails unless every acknowledged event is in the log exactly once where it was said to be; gives the line count. */
export function checkAgainstLedger(
  context: DrillContext,
  target: Target,
  ledger: Ledger,
  options: { every: boolean },
): number {
  const texts = readLogWithGit(target.home, target.host);
  const raw = readKeys(homePaths(target.home)).sign.publicKey.raw32;
  if (raw === undefined) throw new DrillFailure('the host key has no raw form');
  const start = {
    host: target.host,
    mesh: target.meshId(),
    from: { seq: 0, link: target.meshId() },
    keys: [{ key: raw, from: 1, upto: null }],
    verifyEvery: options.every,
  };
  const { lines, fault } = extendLog(start, texts);
  context.check(fault === undefined, `line ${fault?.seq}: ${fault?.code} ${fault?.detail}`);
  context.check(lines.length === texts.length, `${texts.length} lines, ${lines.length} of them usable`);
  const seqByMarker = new Map<string, number>();
  for (const line of lines) {
    const marker = line.body?.content ?? '';
    context.check(
      !seqByMarker.has(marker),
      `event ${marker} is in the log twice: lines ${seqByMarker.get(marker)} and ${line.seq}`,
    );
    seqByMarker.set(marker, line.seq);
  }
  for (const [marker, { id, seq }] of ledger.acknowledged) {
    const line = lines[seq - 1];
    context.check(
      line?.id === id && line.body?.content === marker,
      `acknowledged event ${marker} (line ${seq}, ${id.slice(0, 12)}) is not there`,
    );
  }
  for (const marker of seqByMarker.keys()) {
    context.check(
      ledger.acknowledged.has(marker) || ledger.unknown.has(marker),
      `line ${seqByMarker.get(marker)} holds ${marker}, which nobody sent`,
    );
  }
  return lines.length;
}

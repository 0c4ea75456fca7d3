/** What a row of the store's fault table is, and how it is run: see test/contract/store-fault-table.test.ts. */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { childEnvironment } from '../../src/store/child.ts';
import { openRepository, prepareRepository } from '../../src/store/git/repository.ts';
import { lockHome } from '../../src/store/home/home-lock.ts';
import { createHome, homePaths, type Home } from '../../src/store/home/home.ts';
import { sweepHome } from '../../src/store/home/sweep.ts';
import { faultFs, type FaultFs, type Operation, type StoreFault } from './fault-fs.ts';
import { createRandom } from './random.ts';

/** Before the write; after it; or in between, where a row allows that. Anything else is a fault. */
export type Found = 'old' | 'new' | 'between';

export interface FaultRow {
  /** A sentence: what is written. */
  readonly name: string;
  /** Lays out a home as it is before. */
  readonly before?: (home: Home) => unknown;
  /** Makes it so; where it is so already, does nothing or the same again. Throws when it cannot. */
  readonly write: (home: Home) => unknown;
  /** What a home holds. Throws for anything that is half, torn or lost. */
  readonly find: (home: Home) => Promise<Found> | Found;
  /** What is acknowledged survives a power cut. Else it only has to be made again. */
  readonly durable: boolean;
  /** Every so many operations meets each fault, beginning with another for each; one that takes its time. Default 1. */
  readonly step?: number;
  /** Some of many pieces may be there. */
  readonly mayBeBetween?: true;
}

/** What one row came to. */
export interface RowReport {
  readonly operations: readonly Operation[];
  readonly runs: number;
}

interface Bench {
  readonly folder: string;
  readonly template: Home;
  fresh(): { readonly root: string; readonly home: Home };
}

async function openBench(row: FaultRow): Promise<Bench> {
  // Thousands of homes, and their flushes are watched, not needed: in memory where that can be.
  const place = fs.existsSync('/dev/shm') ? '/dev/shm' : fs.realpathSync(tmpdir());
  const folder = fs.mkdtempSync(path.join(place, 'memd-test-'));
  const template = createHome(path.join(folder, 'template', 'home'));
  await row.before?.(template);
  let count = 0;
  return {
    folder,
    template,
    fresh() {
      count += 1;
      const root = path.join(folder, `run-${count}`);
      fs.cpSync(path.dirname(template.dir), root, { recursive: true });
      if (fs.existsSync(path.join(root, 'home'))) fs.chmodSync(path.join(root, 'home'), 0o700);
      return { root, home: homePaths(path.join(root, 'home')) };
    },
  };
}

/** Faults that one operation meets, each in a home of its own. */
export async function runRow(row: FaultRow, faults: readonly StoreFault[]): Promise<RowReport> {
  const bench = await openBench(row);
  const all: Operation[] = [];
  let runs = 0;
  try {
    const { step = 1 } = row;
    for (const [start, fault] of faults.entries()) {
      for (let at = start % step; ; at += step) {
        const done = await runOnce(row, bench, { at, fault });
        runs += 1;
        all.push(...done.operations);
        if (!done.met) break;
      }
    }
    return { operations: all, runs };
  } finally {
    fs.rmSync(bench.folder, { recursive: true, force: true });
  }
}

async function runOnce(
  row: FaultRow,
  bench: Bench,
  { at, fault }: { readonly at: number; readonly fault: StoreFault },
): Promise<{ readonly met: boolean; readonly operations: readonly Operation[] }> {
  const { root, home } = bench.fresh();
  const faulty = faultFs(root);
  const crashes = fault.startsWith('crash');
  let where = `${fault} at operation ${at}`;
  try {
    if (crashes) faulty.model().settle();
    faulty.arm(at, fault);
    const said = await attempt(row, home);
    const operations = faulty.operations();
    where += ` (${operations[at]?.text.replaceAll(root, '') ?? 'none'})`;
    const met = operations.length > at;
    const acknowledged = said === undefined && !faulty.isDead();
    faulty.disarm();
    if (!met) {
      if (said !== undefined) throw new Error('fails without a fault', { cause: said });
      await expectFound(row, home, { acknowledged: true, where: 'without a fault' });
    } else if (crashes) {
      await afterCrash(row, { root, home, faulty, acknowledged, where, seed: at });
    } else {
      // The process lives on, and tries again without any help.
      await expectFound(row, home, { acknowledged, where });
    }
    await makeGood(row, home, where);
    return { met, operations };
  } catch (error) {
    throw new Error(`${row.name}: ${where}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  } finally {
    faulty.restore();
    fs.rmSync(root, { recursive: true, force: true });
  }
}

async function attempt(row: FaultRow, home: Home): Promise<unknown> {
  try {
    await row.write(home);
    return undefined;
  } catch (error) {
    return error ?? new Error('threw nothing');
  }
}

interface Crashed {
  readonly root: string;
  readonly home: Home;
  readonly faulty: FaultFs;
  readonly acknowledged: boolean;
  readonly where: string;
  /** Of the power cut by chance. */
  readonly seed: number;
}

/** What a new process finds after SIGKILL, and what one finds after the power went too. */
async function afterCrash(
  row: FaultRow,
  { root, home, faulty, acknowledged, where, seed: chance }: Crashed,
): Promise<void> {
  const seeds = row.durable ? [undefined, chance] : [undefined];
  for (const seed of seeds) {
    const kept = `${root}-cut`;
    faulty.model().cutPower(kept, seed === undefined ? undefined : createRandom(seed));
    try {
      const left = homePaths(path.join(kept, 'home'));
      if (fs.existsSync(left.dir)) fs.chmodSync(left.dir, 0o700);
      const place = `${where}, then a power cut${seed === undefined ? '' : ' by chance'}`;
      await restart(left);
      await expectFound(row, left, { acknowledged: acknowledged && row.durable, where: place });
      await makeGood(row, left, place);
      if (seed !== undefined && fs.existsSync(path.join(left.repository, 'HEAD'))) fsck(left);
    } finally {
      fs.rmSync(kept, { recursive: true, force: true });
    }
  }
  await restart(home);
  await expectFound(row, home, { acknowledged, where });
}

/** The write is done once more, and is there. */
async function makeGood(row: FaultRow, home: Home, where: string): Promise<void> {
  const said = await attempt(row, home);
  if (said !== undefined) throw new Error(`done again after ${where} it fails`, { cause: said });
  await expectFound(row, home, { acknowledged: true, where: `done again after ${where}` });
  // A removal that failed leaves what it was to remove; it is swept at the next start.
  const left = /\((rmSync|unlinkSync) /.test(where) ? [] : leftovers(home);
  if (left.length > 0) throw new Error(`done again after ${where} this is left: ${left.join(', ')}`);
}

async function expectFound(
  row: FaultRow,
  home: Home,
  { acknowledged, where }: { readonly acknowledged: boolean; readonly where: string },
): Promise<void> {
  const found = await row.find(home);
  if (acknowledged && found !== 'new') throw new Error(`acknowledged, and not there (${found}) after ${where}`);
  if (found === 'between' && row.mayBeBetween !== true) throw new Error(`half of it is there after ${where}`);
}

/** A new process: takes the lock, sweeps, prepares. */
async function restart(home: Home): Promise<void> {
  if (!fs.existsSync(home.dir)) return;
  const lock = lockHome(home, { program: 'test', now: new Date(0) });
  try {
    sweepHome(lock);
    if (['HEAD', 'objects', 'refs'].every((part) => fs.existsSync(path.join(home.repository, part))))
      await prepareRepository(openRepository(home.repository));
  } finally {
    lock.release();
  }
}

/** Temporary files; a write that was done again leaves none of its own behind. */
function leftovers(home: Home): readonly string[] {
  const names = fs.readdirSync(home.dir, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => /\.tmp|tmp_|\.lock$|quarantine\/.|refs\/memd\/./.test(name) && name !== 'memd.lock');
}

function fsck(home: Home): void {
  const args = ['--git-dir', home.repository, 'fsck', '--strict', '--full', '--no-dangling', '--no-progress'];
  const said = execFileSync('git', args, { env: childEnvironment(), encoding: 'utf8', stdio: 'pipe' });
  if (said !== '') throw new Error(`git fsck: ${said}`);
}

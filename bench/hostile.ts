/**
 * What an enemy costs a sound peer: cycles with the sound one, in stretches with an enrolled enemy that offers another bad
 * log ten times a second and stretches in which it keeps still, in turns. Other work on the machine moves the time of a
 * cycle by far more than five percent from one stretch to the next, so each disturbed stretch is held against the quiet ones
 * before and after it, what these differ among themselves is said and allowed for, and the processor time that the enemy takes is
 * a figure of its own: that hardly depends on who else is at work.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openApi, type ApiConnection } from '../drills/lib/api.ts';
import { formHostileMesh, packing, type HostileHost } from '../drills/lib/hostile-host.ts';
import { manyCommits } from '../drills/lib/hostile-packs.ts';
import { layHost, type TestHost } from '../drills/lib/hosts.ts';
import type { DrillProcess } from '../drills/lib/process.ts';
import { ceilingFigure, quantiles, ratioFigure, timed, type Figure } from './lib/figures.ts';
import { cpuWithChildrenMs } from './lib/cpu.ts';

const pairs = 4;
const stretchMs = 12_000;
/** An enemy that was quiet for a while may cost a second at once: over when it is measured what it costs for good. */
const warmUpMs = 8_000;
/** What a watch is heeded at most. */
const nudgeMs = 100;

export async function benchHostile(): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'memd-bench-'));
  const started: DrillProcess[] = [];
  try {
    const lay = (name: string): Promise<TestHost> =>
      layHost({ folder, name, started: (memd) => void started.push(memd) });
    const { alpha, beta, memd, enemy } = await formHostileMesh(lay);
    try {
      return await measure({ alpha, beta, enemy, pid: memd.pid });
    } finally {
      await enemy.close();
    }
  } finally {
    for (const memd of started) await memd.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Bench {
  readonly alpha: TestHost;
  readonly beta: TestHost;
  readonly enemy: HostileHost;
  /** Of the memd that is disturbed. */
  readonly pid: number;
}

async function measure({ alpha, beta, enemy, pid }: Bench): Promise<Figure[]> {
  const [to, from] = [await openApi(join(alpha.home, 'memd.sock')), await openApi(join(beta.home, 'memd.sock'))];
  let asked = 0;
  const pack = packing(manyCommits(200));
  enemy.answers.pack = (channel) => ((asked += 1), pack(channel));
  // The first answer makes alpha watch it.
  await to.call('fetch', { peer: 'gamma' });
  const cycle = cycleOf(from, to);
  for (let round = 0; round < 100; round += 1) await cycle();
  const quiet = [await stretch(cycle, pid)];
  const disturbed: Stretch[] = [];
  for (let pair = 0; pair < pairs; pair += 1) {
    const nudging = nudge(enemy);
    await stretch(cycle, pid, warmUpMs);
    disturbed.push(await stretch(cycle, pid));
    nudging.stop();
    quiet.push(await stretch(cycle, pid));
  }
  to.close();
  from.close();
  if (asked < 2 * pairs) throw new Error(`the enemy was asked ${asked} times only: nothing was measured`);
  const beside = `beside an enemy that was fetched from ${asked} times in ${(pairs * (stretchMs + warmUpMs)) / 1_000} s`;
  return [
    ceilingFigure({
      what: `processor time of a host ${beside}, beyond what its cycles with a sound peer take`,
      value: 100 * beyond(quiet, disturbed),
      unit: '% of the time',
      atMost: 5,
    }),
    slower(`cycle with a sound peer ${beside}, mean`, 1.05, by(quiet, mean), by(disturbed, mean)),
    slower('the same, p95', 1.25, by(quiet, p95), by(disturbed, p95)),
  ];
}

/** Processor time of the disturbed stretches without that of their cycles at the price of the quiet ones around, as a part of their time. */
function beyond(quiet: readonly Stretch[], disturbed: readonly Stretch[]): number {
  let [extra, lasted] = [0, 0];
  for (const [at, { cpuMs, cycles, lastedMs }] of disturbed.entries()) {
    const around = quiet.slice(at, at + 2);
    const each = mean(around.map((one) => one.cpuMs / one.cycles.length));
    extra += cpuMs - each * cycles.length;
    lasted += lastedMs;
  }
  return Math.max(0, extra) / lasted;
}

/** Held against the quiet stretches around each, the median of that; what quiet ones differ from one to the next is allowed besides. */
function slower(what: string, atMost: number, quiet: readonly number[], disturbed: readonly number[]): Figure {
  const noise = mean(quiet.slice(1).map((value, at) => Math.abs(value / (quiet[at] ?? value) - 1)));
  const ratios = disturbed.map((value, at) => value / mean(quiet.slice(at, at + 2)));
  const floor = mean(quiet);
  return ratioFigure({
    what: `${what}; quiet stretches differ by ${(100 * noise).toFixed(0)} % from one to the next`,
    value: quantiles(ratios).p50 * floor,
    unit: 'ms',
    floor: { what: 'the enemy keeps still', value: floor },
    atMost: Number((atMost + noise).toFixed(2)),
  });
}

function by(stretches: readonly Stretch[], work: (cycles: readonly number[]) => number): readonly number[] {
  return stretches.map(({ cycles }) => work(cycles));
}

function p95(values: readonly number[]): number {
  return quantiles(values).p95;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The sound peer says one thing, and a cycle brings it. @returns what the cycle took. */
function cycleOf(from: ApiConnection, to: ApiConnection): () => Promise<number> {
  let round = 0;
  return async () => {
    round += 1;
    await from.call('append', { events: [{ kind: 'lesson', subject: `lesson/b-${round}`, content: `rule ${round}` }] });
    return timed(() => to.call('fetch', { peer: 'beta' }));
  };
}

interface Stretch {
  /** What each took. */
  readonly cycles: readonly number[];
  readonly lastedMs: number;
  /** Of the disturbed memd and its children. */
  readonly cpuMs: number;
}

async function stretch(cycle: () => Promise<number>, pid: number, lastingMs = stretchMs): Promise<Stretch> {
  const cycles: number[] = [];
  const [start, before] = [performance.now(), cpuWithChildrenMs(pid)];
  while (performance.now() - start < lastingMs) cycles.push(await cycle());
  return { cycles, lastedMs: performance.now() - start, cpuMs: cpuWithChildrenMs(pid) - before };
}

let offers = 0;

/** Another commit every time, over the watch. */
function nudge(enemy: HostileHost): { stop(): void } {
  const timer = setInterval(() => {
    offers += 1;
    const oid = offers.toString(16).padStart(40, 'a');
    enemy.claim({ gamma: { oid, seq: 1_000, link: oid.padEnd(64, 'b') } });
    enemy.tell();
  }, nudgeMs);
  return { stop: () => clearInterval(timer) };
}

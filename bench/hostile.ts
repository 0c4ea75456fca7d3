/**
 * What an enemy costs a sound peer: cycles with the sound one, in stretches with an enrolled enemy that offers another bad
 * log ten times a second and stretches in which it keeps still, in turns.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openApi, type ApiConnection } from '../drills/lib/api.ts';
import { beHostile, packing, type HostileHost } from '../drills/lib/hostile-host.ts';
import { manyCommits } from '../drills/lib/hostile-packs.ts';
import { enrol, layHost, type TestHost } from '../drills/lib/hosts.ts';
import type { DrillProcess } from '../drills/lib/process.ts';
import { quantiles, ratioFigure, timed, type Figure } from './lib/figures.ts';

const pairs = 3;
const stretchMs = 15_000;
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
    const [alpha, beta, gamma] = [await lay('alpha'), await lay('beta'), await lay('gamma')];
    const { mesh } = await alpha.json<{ mesh: string }>('init', '--host', 'alpha', '--listen', alpha.address);
    await alpha.start();
    await enrol(alpha, beta, mesh);
    await beta.start();
    await enrol(alpha, gamma, mesh);
    await beta.ctl('fetch', 'alpha');
    const { trust } = await alpha.json<{ trust: string }>('status');
    const enemy = await beHostile(gamma, { mesh, trust });
    try {
      return await measure(alpha, beta, enemy);
    } finally {
      await enemy.close();
    }
  } finally {
    for (const memd of started) await memd.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure(alpha: TestHost, beta: TestHost, enemy: HostileHost): Promise<Figure[]> {
  const [to, from] = [await openApi(join(alpha.home, 'memd.sock')), await openApi(join(beta.home, 'memd.sock'))];
  let asked = 0;
  const pack = packing(manyCommits(200));
  enemy.answers.pack = (channel) => ((asked += 1), pack(channel));
  // The first answer makes alpha watch it.
  await to.call('fetch', { peer: 'gamma' });
  const cycle = cycleOf(from, to);
  for (let round = 0; round < 100; round += 1) await cycle();
  const quiet: number[] = [];
  const disturbed: number[] = [];
  for (let pair = 0; pair < pairs; pair += 1) {
    quiet.push(...(await stretch(cycle)));
    const nudging = nudge(enemy);
    await stretch(cycle, warmUpMs);
    disturbed.push(...(await stretch(cycle)));
    nudging.stop();
  }
  to.close();
  from.close();
  if (asked < 2 * pairs) throw new Error(`the enemy was asked ${asked} times only: nothing was measured`);
  const floor = 'the enemy keeps still';
  const what = `cycle with a sound peer beside an enemy that was fetched from ${asked} times in ${(pairs * (stretchMs + warmUpMs)) / 1_000} s`;
  return [
    ratioFigure({
      what: `${what}, mean`,
      value: mean(disturbed),
      unit: 'ms',
      floor: { what: floor, value: mean(quiet) },
      atMost: 1.05,
    }),
    ratioFigure({
      what: 'the same, p95',
      value: quantiles(disturbed).p95,
      unit: 'ms',
      floor: { what: floor, value: quantiles(quiet).p95 },
      atMost: 1.25,
    }),
  ];
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

async function stretch(cycle: () => Promise<number>, lastingMs = stretchMs): Promise<number[]> {
  const figures: number[] = [];
  for (const start = performance.now(); performance.now() - start < lastingMs;) figures.push(await cycle());
  return figures;
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

/**
 * Carrying out purges on a simulated disk, in the order in which memd does it: every log, then the objects that are left, and
 * last the note of what is done. Power may fail between any two of the steps, and each write may fail.
 */
import { duePurges, hasPurgeWork, stillNoted } from '../../src/core/trust/purge-work.ts';
import { withoutBody } from '../../src/store/logs/log-rewrite.ts';
import { meshId } from './charter.ts';
import { DiskFault } from './disk.ts';
import { reread } from './beliefs.ts';
import { commitOf, judgeLines, readTexts, store } from './judge.ts';
import { workOf } from './purge-work.ts';
import { sayLater } from './say.ts';
import { later, type Memory, type Sim, type SimHost } from './types.ts';

const stepMs = 4;
/** What failed is tried again after this time. */
const retryMs = 20_000;

/** Carries out what is due, while nobody appends, fetches or is served. */
export function carryOutPurges(sim: Sim, host: SimHost): void {
  const { memory } = host;
  if (memory === undefined) return;
  if (memory.writing || memory.purge.working) {
    memory.purge.wanted = true;
    return;
  }
  const { purges } = memory.trust.charter;
  const work = workOf(host, memory);
  if (stillNoted(purges, work).length < work.noted.length) attempt(() => note(host, stillNoted(purges, work)));
  if (!hasPurgeWork(purges, workOf(host, memory))) return;
  sim.trace.note(`${sim.agenda.now()} ${host.node} purges ${duePurges(purges, work).length}`);
  memory.purge.working = true;
  const logs = host.disk.names().flatMap((name) => (name.startsWith('ref ') ? [name.slice(4)] : []));
  const purged = new Set(purges.keys());
  let failed = false;
  const steps = [
    ...logs.map((log) => () => rewrite(host, log, purged)),
    () => purgeBranches(host, purged),
    () => (sim.bug.keepsObjects === true ? undefined : dropObjects(host, logs)),
  ];
  const next = (): void => {
    const step = steps.shift();
    if (step !== undefined) {
      failed = attempt(step) || failed;
      return later(sim, host, stepMs, next);
    }
    if (!failed || sim.bug.forgetsPurgeFault === true) failed = attempt(() => note(host, [...purged]));
    finish(sim, host, memory, failed);
  };
  later(sim, host, stepMs, next);
}

/** @returns true when it failed. */
function attempt(step: () => void): boolean {
  try {
    step();
    return false;
  } catch (error) {
    if (!(error instanceof DiskFault)) throw error;
    return true;
  }
}

function rewrite(host: SimHost, log: string, purged: ReadonlySet<string>): void {
  const kept = readTexts(host, log).map((text) => withoutBody({ meshId, purged }, text));
  if (kept.some(({ hole }) => hole))
    store(
      host,
      log,
      kept.map(({ line }) => String(line)),
    );
}

/** Branches that count no more. */
function purgeBranches({ disk }: SimHost, purged: ReadonlySet<string>): void {
  for (const name of disk.names().filter((one) => one.startsWith('fork '))) {
    const kept = (disk.read(name) as readonly string[]).map((text) => withoutBody({ meshId, purged }, text));
    if (kept.some(({ hole }) => hole))
      disk.write(
        name,
        kept.map(({ line }) => String(line)),
      );
  }
  disk.sync();
}

/** Objects that no branch leads to. */
function dropObjects(host: SimHost, logs: readonly string[]): void {
  const kept = new Set(logs.map((log) => `object ${log} ${commitOf(readTexts(host, log))}`));
  for (const name of host.disk.names()) if (name.startsWith('object ') && !kept.has(name)) host.disk.remove(name);
  host.disk.sync();
}

function note({ disk }: SimHost, done: readonly string[]): void {
  disk.write('purged', done);
  disk.sync();
}

/** Every log is read again; whoever waited has his turn. */
function finish(sim: Sim, host: SimHost, memory: Memory, failed: boolean): void {
  memory.covered.clear();
  reread(sim, host);
  for (const [log, { texts }] of memory.logs) {
    const { covered = 0 } = judgeLines(sim, memory, { log, from: { seq: 0, link: meshId }, texts });
    if (covered > 0) memory.covered.add(log);
  }
  const { purge } = memory;
  purge.working = false;
  if (failed) later(sim, host, retryMs, () => carryOutPurges(sim, host));
  else sayLater(sim, host);
  for (const work of purge.held.splice(0)) work();
  if (purge.wanted) {
    purge.wanted = false;
    carryOutPurges(sim, host);
  }
  sim.goOn(host);
}

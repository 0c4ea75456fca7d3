/** A host starts from what is on its disk, and crashes. */
import { createFold } from '../../src/core/fold/fold.ts';
import { openSync } from '../../src/core/sync/state.ts';
import type { TrustOp } from '../../src/core/trust/op.ts';
import { judgeLines, readTexts } from './judge.ts';
import { believe } from './beliefs.ts';
import { foundedTrust, meshId, simPorts } from './charter.ts';
import { checkOwnBranch, checkRestart } from './checks.ts';
import { openDisk } from './disk.ts';
import { tell } from './machine.ts';
import { carryOutPurges } from './purge.ts';
import { settle } from './recover.ts';
import { noteTrustSet } from './truth.ts';
import { later, type Memory, type Sim, type SimHost } from './types.ts';
import { readViews } from './views.ts';

export function makeHost(sim: Sim, name: string, node = name): SimHost {
  return {
    node,
    name,
    disk: openDisk(),
    up: false,
    epoch: 0,
    memory: undefined,
    backup: undefined,
    clockMs: sim.random.below(1_000_000),
    wallMs: 0,
    slept: false,
    lies: new Set(),
    acknowledged: [],
  };
}

/** How often the schedule is due, and how far hosts are apart in it. */
const scheduleMs = 30_000;
const scheduleJitterMs = 5_000;

/** Starts from what is on the disk: trust set, logs, fold; then the machine. */
export function startHost(sim: Sim, host: SimHost): void {
  if (host.up) return;
  host.up = true;
  host.memory = emptyMemory(sim, host);
  for (const name of host.disk.names().filter((entry) => entry.startsWith('ref '))) readLog(sim, host, name.slice(4));
  sim.trace.note(`${sim.agenda.now()} ${host.node} starts`);
  checkRestart(sim, host);
  noteTrustSet(sim, host);
  believe(sim, host);
  carryOutPurges(sim, host);
  settle(sim, host);
  const { epoch } = host;
  const due = (): void => {
    const { slept } = host;
    host.slept = false;
    tell(sim, host, { kind: 'schedule', slept });
    settle(sim, host);
    if (host.epoch === epoch) later(sim, host, scheduleMs + sim.random.below(scheduleJitterMs), due);
  };
  due();
}

export function crashHost(sim: Sim, host: SimHost): void {
  if (!host.up) return;
  host.up = false;
  host.epoch += 1;
  host.memory = undefined;
  host.disk.crash(sim.random);
  sim.trace.note(`${sim.agenda.now()} ${host.node} crashes`);
}

function emptyMemory(sim: Sim, host: SimHost): Memory {
  const ops = (host.disk.read('trust') ?? []) as readonly TrustOp[];
  const trust = sim.unions(foundedTrust(sim.plan.hosts), ops, host.name);
  const options = {
    seed: sim.random.below(2 ** 31),
    ownAskMs: 2_000,
    ownProofMs: 15_000,
    appendAlone: false,
    watches: false,
  };
  return {
    sync: openSync(options),
    trust,
    logs: new Map(),
    fold: createFold(trust.charter, trust.hash, simPorts),
    folded: new Map(),
    answers: new Map(),
    proofs: new Map(),
    waiting: new Map(),
    queue: [],
    writing: false,
    purge: { working: false, wanted: false, held: [] },
    covered: new Set(),
    views: readViews(host),
    caughtUp: false,
    events: [],
    telling: false,
    timeAt: Infinity,
    asked: new Map(),
    trustFailed: new Set(),
    originals: new WeakMap(),
    tokens: 0,
  };
}

function readLog(sim: Sim, host: SimHost, log: string): void {
  const { memory, name } = host;
  if (memory === undefined) return;
  const texts = readTexts(host, log);
  const { lines, covered = 0 } = judgeLines(sim, memory, { log, from: { seq: 0, link: meshId }, texts });
  if (covered > 0) memory.covered.add(log);
  memory.logs.set(log, { lines, texts: texts.slice(0, lines.length) });
  // A write that failed may have persisted: then it is here as well as any other.
  for (const { link } of lines) sim.truth.durable.add(`${name} ${link}`);
  if (log === name) checkOwnBranch(sim, host, lines);
}

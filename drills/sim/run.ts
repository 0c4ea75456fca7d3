/** One simulation: the plan under faults, with every promise checked at every step; then everything is healed. */
import { createRandom } from '../../test/lib/random.ts';
import { act } from './actions.ts';
import { openAgenda } from './agenda.ts';
import { hostNames, openUnions } from './charter.ts';
import { checkWhole, differenceBetween, unknownPurge } from './checks.ts';
import { addTrust, carry } from './effects.ts';
import { heal } from './heal.ts';
import { makeHost, startHost } from './host.ts';
import type { Plan } from './plan.ts';
import { openTrace } from './trace.ts';
import { writeNext } from './write.ts';
import { Violation, type Bug, type Sim } from './types.ts';

export interface RunResult {
  /** The broken promise; undefined when all held. */
  readonly violation: string | undefined;
  /** When, in simulated milliseconds. */
  readonly at: number;
  /** 16 hex digits over everything that happened. */
  readonly trace: string;
  readonly steps: number;
  /** Lines that the hosts hold at the end, and whether all hosts had to agree in everything. */
  readonly lines: number;
  readonly forked: number;
  /** The last things that happened, when asked for. */
  readonly tail: readonly string[];
}

/**
 * Hosts agree within so much simulated time after everything was healed: a person settles forks after seven minutes, and what
 * was refused is forgotten after ten.
 */
const healedWithinMs = 1_500_000;
/** And they know of each other what was purged: journals without other news are asked for every ten minutes. */
const receiptsWithinMs = 2_300_000;
const lookMs = 30_000;

export function runPlan(plan: Plan, bug: Bug, keep = 0): RunResult {
  const sim = openSim(plan, bug, keep);
  const violation = attempt(() => {
    for (const name of hostNames.slice(0, plan.hosts)) {
      const host = makeHost(sim, name);
      sim.hosts.push(host);
      startHost(sim, host);
    }
    for (const action of plan.actions) sim.agenda.after(action.at, () => act(sim, action));
    runUntil(sim, plan.untilMs);
    for (const host of sim.hosts) checkWhole(host);
    heal(sim);
    waitFor(sim, plan.untilMs + healedWithinMs, differenceBetween);
    waitFor(sim, plan.untilMs + receiptsWithinMs, unknownPurge);
    // They are all equal now.
    for (const host of sim.hosts.slice(0, 1)) checkWhole(host);
  });
  const [first] = sim.hosts;
  const lines = [...(first?.memory?.logs.values() ?? [])].reduce((sum, log) => sum + log.lines.length, 0);
  const { trace, truth, agenda } = sim;
  return {
    violation,
    at: agenda.now(),
    trace: trace.hash(),
    steps: trace.count(),
    lines,
    forked: truth.forked.size,
    tail: trace.tail(),
  };
}

function openSim(plan: Plan, bug: Bug, keep: number): Sim {
  const sim: Sim = {
    plan,
    random: createRandom(plan.seed ^ 0x5eed),
    agenda: openAgenda(),
    unions: openUnions(),
    trace: openTrace(keep),
    truth: {
      authored: new Map(),
      trustSets: new Map(),
      conclusions: new Map(),
      durable: new Set(),
      liars: new Set(),
      forked: new Set(),
      rewound: new Set(),
      signedWith: new Map(),
      onBranch: new Map(),
      said: new Set(),
      trusts: new Map(),
    },
    bug,
    hosts: [],
    cuts: new Set(),
    healed: false,
    askedAtEnd: new Map(),
    decisions: 0,
    carry: (host, effect) => carry(sim, host, effect),
    admit: (host, ops) => addTrust(sim, host, ops),
    goOn: (host) => writeNext(sim, host),
  };
  return sim;
}

function attempt(work: () => void): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof Violation) return error.message;
    // A part of the program that throws where it may not is a finding too.
    return `crash: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
  }
}

function runUntil({ agenda }: Sim, at: number): void {
  while (agenda.step(at));
  agenda.passTo(at);
}

function waitFor(sim: Sim, until: number, differenceIn: (sim: Sim) => string | undefined): void {
  for (let difference = differenceIn(sim); difference !== undefined; difference = differenceIn(sim)) {
    const after = (until - sim.plan.untilMs) / 1_000;
    if (sim.agenda.now() >= until)
      throw new Violation(`liveness: ${after} s after everything was healed, ${difference}`);
    runUntil(sim, sim.agenda.now() + lookMs);
  }
}

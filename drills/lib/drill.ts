/** What a drill is: one promise, exercised with real processes, and the evidence for it. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createRandom, type Random } from '../../test/lib/random.ts';
import { startProcess, type DrillProcess, type ProcessRequest } from './process.ts';

/** A drill module exports these three. */
export interface Drill {
  /** Also the name of its file. */
  readonly name: string;
  /** One sentence. */
  readonly promise: string;
  run(context: DrillContext): Promise<void>;
}

/** The promise was broken, or the drill could not finish; the message says what was expected and what was seen. */
export class DrillFailure extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'DrillFailure';
  }
}

/** The drill cannot run on this machine; fails the run unless `--allow-skip`. */
export class DrillSkipped extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'DrillSkipped';
  }
}

export interface DrillContext {
  /** Printed first; everything random is drawn from it. */
  readonly random: Random;
  /** Options given after the drill's name: `--kills=50` is ['kills', '50']. */
  readonly options: ReadonlyMap<string, string>;
  /** Says what is being done. */
  step(text: string): void;
  /** Says what was seen: numbers, ids, outputs. */
  evidence(text: string): void;
  /** Fails the drill unless `condition`; otherwise counts it as evidence when a sentence is to be shown. */
  check(condition: unknown, sentence: string): asserts condition;
  /** Cannot run here. */
  skip(reason: string): never;
  /** A fresh folder, removed at the end. */
  temporaryFolder(): string;
  /** A process of its own group, ended at the end. */
  start(request: ProcessRequest): DrillProcess;
  /** Takes over a process that a helper started: it is ended at the end. */
  readonly adopt: (started: DrillProcess) => void;
  /** Runs at the end, last added first, whatever happened. */
  onCleanup(work: () => void | Promise<void>): void;
}

export type Outcome = { readonly kind: 'PASS' } | { readonly kind: 'FAIL' | 'SKIPPED'; readonly reason: string };

/** Exit code of a run: 1 when a drill failed, or was skipped and that was not allowed. */
export function exitCodeOf(outcomes: readonly Outcome[], allowSkip: boolean): 0 | 1 {
  const good = outcomes.every(({ kind }) => kind === 'PASS' || (kind === 'SKIPPED' && allowSkip));
  return good ? 0 : 1;
}

export interface RunOptions {
  readonly seed: number;
  readonly options: ReadonlyMap<string, string>;
  readonly print: (line: string) => void;
  readonly deadlineMs: number;
}

/** Runs one drill to its end and cleans up; never throws. */
export async function runDrill(drill: Drill, run: RunOptions): Promise<Outcome> {
  const { print } = run;
  print(`drill    ${drill.name}`);
  print(`promise  ${drill.promise}`);
  print(`seed     ${run.seed}`);
  const held: Held = { cleanups: [], processes: [], stopped: false };
  const context = createContext(run, held);
  const forget = cleanUpOnSignals(held, print);
  let outcome = await attempt(drill, context, run.deadlineMs);
  forget();
  const left = await cleanUp(held, print);
  if (outcome.kind === 'PASS' && left.length > 0) outcome = { kind: 'FAIL', reason: left.join('; ') };
  print(`${outcome.kind.padEnd(8)} ${drill.name}${outcome.kind === 'PASS' ? '' : `: ${outcome.reason}`}`);
  return outcome;
}

/** What has to be ended and undone, whatever comes. */
interface Held {
  readonly cleanups: (() => void | Promise<void>)[];
  readonly processes: DrillProcess[];
  /** A signal came: what is started now is ended at once. */
  stopped: boolean;
}

const endingSignals = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;

/** Whoever stops a drill that takes too long wants nothing of it left: its hosts would go on beside whatever comes next. */
function cleanUpOnSignals(held: Held, print: (line: string) => void): () => void {
  const onSignal = (signal: NodeJS.Signals): void => {
    if (held.stopped) return;
    held.stopped = true;
    print(`FAIL     stopped by ${signal}`);
    const code = 128 + (endingSignals[signal as keyof typeof endingSignals] ?? 0);
    void cleanUp(held, print).then(() => process.exit(code));
  };
  const signals = Object.keys(endingSignals) as (keyof typeof endingSignals)[];
  for (const signal of signals) process.on(signal, onSignal);
  return () => {
    for (const signal of signals) process.off(signal, onSignal);
  };
}

function createContext(run: RunOptions, held: Held): DrillContext {
  const { cleanups, processes } = held;
  const hold = (started: DrillProcess): void => {
    processes.push(started);
    if (held.stopped) started.kill(true);
  };
  return {
    random: createRandom(run.seed),
    options: run.options,
    step: (text) => run.print(`step     ${text}`),
    evidence: (text) => run.print(`evidence ${text}`),
    check(condition, sentence) {
      if (!condition) throw new DrillFailure(sentence);
    },
    skip: (reason) => {
      throw new DrillSkipped(reason);
    },
    temporaryFolder: () => {
      const folder = mkdtempSync(path.join(realpathSync(tmpdir()), 'memd-drill-'));
      // What a killed process left behind may still write for a moment.
      cleanups.push(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }));
      return folder;
    },
    start: (request) => {
      const started = startProcess(request);
      hold(started);
      return started;
    },
    adopt: hold,
    onCleanup: (work) => void cleanups.push(work),
  };
}

async function attempt(drill: Drill, context: DrillContext, deadlineMs: number): Promise<Outcome> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new DrillFailure(`not finished after ${deadlineMs / 1_000} s`)), deadlineMs);
  });
  try {
    await Promise.race([drill.run(context), late]);
    return { kind: 'PASS' };
  } catch (error) {
    if (error instanceof DrillSkipped) return { kind: 'SKIPPED', reason: error.message };
    const reason = error instanceof Error ? error.message : String(error);
    return {
      kind: 'FAIL',
      reason:
        error instanceof DrillFailure ? reason : `${reason}\n${error instanceof Error ? (error.stack ?? '') : ''}`,
    };
  } finally {
    clearTimeout(timer);
  }
}

async function cleanUp(held: Held, print: (line: string) => void): Promise<string[]> {
  const problems: string[] = [];
  for (const started of held.processes.reverse()) {
    await started.end();
    if (started.groupAlive()) problems.push(`process group ${started.pid} is still there`);
  }
  for (const work of held.cleanups.reverse()) {
    try {
      await work();
    } catch (error) {
      problems.push(`clean-up: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  if (held.processes.length > 0 && problems.length === 0)
    print(`evidence ${held.processes.length} process${held.processes.length === 1 ? '' : 'es'} started, none left`);
  return problems;
}

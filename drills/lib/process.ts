/** Real processes of a drill: each in a group of its own, killable alone or whole, its output line by line. */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

export interface ProcessRequest {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

export interface DrillProcess {
  readonly pid: number;
  /** Resolves with the first stdout line that matches; rejects when the process ends before or time runs out. */
  line(pattern: RegExp, deadlineMs?: number): Promise<string>;
  /** Everything said so far, the last 200 lines of stdout and stderr. */
  said(): string;
  /** SIGKILL to the process alone, or to its whole group. */
  kill(whole: boolean): void;
  signal(name: NodeJS.Signals): void;
  /** Resolves with the exit code (128 + n for signal n) when the process is gone and all that it said was heard. */
  readonly ended: Promise<number>;
  alive(): boolean;
  groupAlive(): boolean;
  /** Ends the whole group and waits until it is gone. */
  end(): Promise<void>;
}

const linesKept = 200;
/** How long the last words of a process that is gone are waited for. */
const lastWordsMs = 2_000;
/** And how long the other members of its group, which were killed with it. */
const groupGoneMs = 20_000;
/** How long a line is waited for when nobody says. */
const lineDeadlineMs = 60_000;
const signals: Readonly<Record<string, number>> = { SIGINT: 2, SIGKILL: 9, SIGTERM: 15 };

/** Starts a process in its own group. Its environment is ours plus `env`. */
export function startProcess(request: ProcessRequest): DrillProcess {
  const child = spawn(request.command, [...request.args], {
    cwd: request.cwd,
    env: { ...process.env, ...request.env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const pid = child.pid ?? 0;
  const lines: string[] = [];
  const all: string[] = [];
  const waiting = new Set<() => void>();
  const hear = (line: string, stdout: boolean): void => {
    if (stdout) lines.push(line);
    all.push(line);
    if (all.length > linesKept) all.shift();
    for (const wake of waiting) wake();
  };
  createInterface({ input: child.stdout }).on('line', (line) => hear(line, true));
  createInterface({ input: child.stderr }).on('line', (line) => hear(line, false));
  let over = false;
  const ended = new Promise<number>((resolve) => {
    child.on('error', (error) => {
      hear(error.message, false);
      finish(127);
    });
    const exitOf = (code: number | null, signal: string | null): number => code ?? 128 + (signals[signal ?? ''] ?? 0);
    // What it said last is read once its pipes are closed; a child of it that lives on may keep them open.
    child.on('close', (code, signal) => finish(exitOf(code, signal)));
    child.on('exit', (code, signal) => setTimeout(() => finish(exitOf(code, signal)), lastWordsMs).unref());
    function finish(code: number): void {
      if (over) return;
      over = true;
      resolve(code);
      for (const wake of waiting) wake();
    }
  });
  const groupAlive = (): boolean => pid > 0 && isAlive(-pid) && !onlyZombies(pid);
  const kill = (whole: boolean): void => send(whole ? -pid : pid, 'SIGKILL');
  return {
    pid,
    said: () => all.join('\n'),
    kill,
    signal: (name) => send(pid, name),
    ended,
    alive: () => !over,
    groupAlive,
    line: (pattern, deadlineMs = lineDeadlineMs) =>
      waitForLine({ pattern, deadlineMs, lines, waiting, over: () => over, said: () => all.join('\n') }),
    async end() {
      kill(true);
      await ended;
      // Other members of the group are no children of ours: look until they are gone.
      for (const start = performance.now(); groupAlive() && performance.now() - start < groupGoneMs;) await pause(10);
    },
  };
}

function waitForLine(wait: {
  pattern: RegExp;
  deadlineMs: number;
  lines: string[];
  waiting: Set<() => void>;
  over: () => boolean;
  said: () => string;
}): Promise<string> {
  const { pattern, lines, waiting } = wait;
  return new Promise((resolve, reject) => {
    const done = (): void => {
      clearTimeout(timer);
      waiting.delete(look);
    };
    const look = (): void => {
      const found = lines.find((line) => pattern.test(line));
      if (found !== undefined) {
        done();
        resolve(found);
      } else if (wait.over()) {
        done();
        reject(new Error(`process ended before it said ${String(pattern)}:\n${wait.said()}`));
      }
    };
    const timer = setTimeout(() => {
      waiting.delete(look);
      reject(new Error(`no line ${String(pattern)} after ${wait.deadlineMs} ms:\n${wait.said()}`));
    }, wait.deadlineMs);
    waiting.add(look);
    look();
  });
}

function send(target: number, signal: NodeJS.Signals): void {
  if (target === 0) return;
  try {
    process.kill(target, signal);
  } catch {
    // Gone already.
  }
}

/** True when every member of a group has ended and only waits for its parent to notice (Linux; false elsewhere). */
function onlyZombies(group: number): boolean {
  const states = allProcesses().flatMap((pid) => {
    const fields = /\) (\S) \d+ (\d+) /.exec(readProc(pid, 'stat'));
    return fields !== null && Number(fields[2]) === group ? [fields[1]] : [];
  });
  return states.length > 0 && states.every((state) => state === 'Z');
}

function allProcesses(): number[] {
  if (!existsSync('/proc/self/stat')) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

/** Whether a process (or, negative, a group) exists. */
function isAlive(target: number): boolean {
  try {
    process.kill(target, 0);
    return true;
  } catch {
    return false;
  }
}

/** Waits; drills have real processes and so real time. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
}

/** Direct children of a process whose program has this name (Linux: from /proc; empty elsewhere). */
export function childrenOf(pid: number, program: string): number[] {
  const file = `/proc/${pid}/task/${pid}/children`;
  if (!existsSync(file)) return [];
  try {
    const pids = readFileSync(file, 'utf8').split(' ').filter(Boolean).map(Number);
    return pids.filter((child) => readFileSync(`/proc/${child}/comm`, 'utf8').trim() === program);
  } catch {
    return [];
  }
}

/** SIGKILL to one process by its id. */
export function killProcess(pid: number): void {
  send(pid, 'SIGKILL');
}

/** Processes whose command line holds this text (Linux: from /proc; empty elsewhere), this process left out. */
export function processesMentioning(text: string): number[] {
  return allProcesses().filter((pid) => pid !== process.pid && readProc(pid, 'cmdline').includes(text));
}

/**
 * Every child process (git, ssh, ssh-keygen) starts here: scrubbed environment, a deadline that ends the whole process
 * group and waits for nobody who left it, bounded output, errors that carry command, exit code and the last line of
 * stderr.
 */

import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { childDeadlineMs, childOutputBytesMax, childPipesMs, childStderrBytesMax } from '../core/limits.ts';
import { diskFullHint, OperatingError, printable, readOnlyHint, systemCode } from './errors.ts';

/** What the parent's environment may hand on; everything else, and so every `GIT_*` and agent variable, stays out. */
const inherited = ['PATH', 'HOME', 'USER', 'LOGNAME', 'TMPDIR', 'LD_LIBRARY_PATH'] as const;

/**
 * Set for every child. Hooks of other repositories export GIT_DIR and GIT_INDEX_FILE, which beat `-C`; a user's
 * configuration can sign, page, prompt or run helpers; a locale changes messages.
 */
const fixed = {
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_TERMINAL_PROMPT: '0',
  GIT_NO_REPLACE_OBJECTS: '1',
  // No git child ever opens a transport: memd speaks the protocol itself.
  GIT_ALLOW_PROTOCOL: 'none',
  SSH_ASKPASS_REQUIRE: 'never',
  LC_ALL: 'C',
} as const;

/** The environment of every child: a short list of inherited names, the fixed settings, then the caller's own. */
export function childEnvironment(extra: Readonly<Record<string, string>> = {}): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const name of inherited) {
    const value = process.env[name];
    if (value !== undefined) environment[name] = value;
  }
  return { ...environment, ...fixed, ...extra };
}

/** One call. `deadlineMs` is for the whole call; `outputBytesMax` bounds stdout (a longer answer is an error). */
export interface ChildRequest {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: Uint8Array | string;
  readonly deadlineMs?: number;
  readonly outputBytesMax?: number;
  readonly cwd?: string;
}

/** How it ended. `stderr` is what it said, at most the first 64 KiB, not yet fit for a terminal (`lastLine`); `code` is 128 + n when signal n ended it. */
export interface ChildResult {
  readonly code: number;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** A running child whose streams the caller drives. */
export interface RunningChild {
  readonly pid: number;
  readonly stdin: ChildProcessWithoutNullStreams['stdin'];
  readonly stdout: ChildProcessWithoutNullStreams['stdout'];
  /** Settles when the process is gone and its streams are closed; rejects `PROGRAM_MISSING` or `CHILD_TIMEOUT`. */
  readonly done: Promise<{ readonly code: number; readonly stderr: string }>;
  /** Ends the whole process group now. Safe to call twice. */
  kill(): void;
}

/** Signals that say what a child met, and not that somebody ended it. */
const crashes: ReadonlySet<string> = new Set(['SIGABRT', 'SIGIOT', 'SIGBUS', 'SIGSEGV', 'SIGFPE', 'SIGILL']);
const running = new Set<RunningChild>();

/** Ends every child that is still running; called when this process exits, so that none outlives it. */
export function killChildren(): void {
  for (const child of running) child.kill();
}
process.on('exit', killChildren);

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The group is gone already.
  }
}

/** Starts a child in its own process group. Throws nothing: a program that cannot start rejects `done`. */
export function startChild(request: ChildRequest): RunningChild {
  const deadlineMs = request.deadlineMs ?? childDeadlineMs;
  const child = spawn(request.command, [...request.args], {
    cwd: request.cwd,
    env: childEnvironment(request.env),
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const pid = child.pid ?? 0;
  let late = false;
  let pipes: NodeJS.Timeout | undefined;
  const end = (): void => {
    if (pid > 0) killGroup(pid);
    // Who left the group lives on and may hold the pipes open: nobody waits for that.
    pipes ??= setTimeout(() => {
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
    }, childPipesMs);
  };
  const timer = setTimeout(() => {
    // One that has ended said how: only what it left behind is late.
    late = child.exitCode === null && child.signalCode === null;
    end();
  }, deadlineMs);
  // A child that ends early closes the pipe: its exit code says why, EPIPE adds nothing.
  child.stdin.on('error', () => undefined);
  const stderr = collectText(child.stderr);
  const done = new Promise<{ code: number; stderr: string }>((resolve, reject) => {
    child.on('error', (error) => reject(startError(request, error)));
    child.on('close', (code, signal) => {
      if (late) reject(timeoutError(request, deadlineMs));
      else resolve({ code: code ?? 128 + (signal === null ? 0 : constants.signals[signal]), stderr: stderr() });
    });
  }).finally(() => {
    clearTimeout(timer);
    clearTimeout(pipes);
    running.delete(handle);
  });
  done.catch(() => undefined);
  const handle: RunningChild = {
    pid,
    stdin: child.stdin,
    stdout: child.stdout,
    done,
    kill: () => {
      if (running.has(handle)) end();
    },
  };
  running.add(handle);
  return handle;
}

function collectText(stream: NodeJS.ReadableStream): () => string {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream.on('data', (chunk: Buffer) => {
    if (bytes < childStderrBytesMax) chunks.push(chunk.subarray(0, childStderrBytesMax - bytes));
    bytes += chunk.length;
  });
  return () => Buffer.concat(chunks).toString('utf8');
}

/**
 * Runs a child to its end. Any exit code is a result; see `runGit` for calls that must succeed.
 * Errors: `PROGRAM_MISSING`, `CHILD_TIMEOUT`, `CHILD_OUTPUT`.
 */
export async function runChild(request: ChildRequest): Promise<ChildResult> {
  const bytesMax = request.outputBytesMax ?? childOutputBytesMax;
  const child = startChild(request);
  const chunks: Buffer[] = [];
  let bytes = 0;
  child.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= bytesMax) chunks.push(chunk);
    else child.kill();
  });
  child.stdin.end(request.input ?? '');
  const { code, stderr } = await child.done;
  if (bytes > bytesMax) {
    throw new OperatingError('CHILD_OUTPUT', `${commandLine(request)}: more than ${bytesMax} bytes of output`);
  }
  return { code, stdout: Buffer.concat(chunks), stderr };
}

/** True for the exit code of a child that was ended from outside: what it did until then says nothing about what it read. Pure. */
export function wasKilled(code: number): boolean {
  return Object.entries(constants.signals).some(([name, number]) => code === 128 + number && !crashes.has(name));
}

/** The command as a person would read it; arguments that came from elsewhere cannot carry control characters. */
export function commandLine(request: Pick<ChildRequest, 'command' | 'args'>): string {
  return printable([request.command, ...request.args].join(' '), 200);
}

/** Last line of what a child said, printable, or ''. */
export function lastLine(stderr: string): string {
  return printable(stderr.trimEnd().split('\n').at(-1) ?? '');
}

/** What a child says whose write found no room, in the C locale, which every child has. The last is git of its packs. */
const noRoom = /No space left on device|Disk quota exceeded|Out of diskspace/;

/** `CHILD_FAILED` with command, exit code and last stderr line; `DISK_FULL` where the child says that there was no room. */
export function failedChild(
  request: Pick<ChildRequest, 'command' | 'args'>,
  result: { code: number; stderr: string },
): OperatingError {
  const said = lastLine(result.stderr);
  const message = `${commandLine(request)}: exit code ${result.code}${said === '' ? '' : `: ${said}`}`;
  if (isOutOfRoom(result.stderr)) return new OperatingError('DISK_FULL', message, { hint: diskFullHint });
  // In the C locale, which every child has.
  if (result.stderr.includes('Read-only file system'))
    return new OperatingError('DISK_READ_ONLY', message, { hint: readOnlyHint });
  return new OperatingError('CHILD_FAILED', message);
}

/** Whether a child failed for want of room on a disk. Pure. */
export function isOutOfRoom(stderr: string): boolean {
  return noRoom.test(stderr);
}

function startError(request: ChildRequest, error: Error): OperatingError {
  const { command, cwd } = request;
  // A missing working folder is reported by the system as if the program were missing.
  if (cwd !== undefined && !existsSync(cwd)) {
    return new OperatingError('CHILD_FAILED', `cannot start ${command} in ${cwd}: there is no such folder`, {
      cause: error,
    });
  }
  const missing = systemCode(error) === 'ENOENT';
  const reason = missing ? `${command} is not on PATH` : `cannot start ${command}: ${systemCode(error)}`;
  const git = 'install git 2.36 or newer';
  const other = `install the program that provides ${command} (OpenSSH 8.2 or newer for ssh tools)`;
  return new OperatingError('PROGRAM_MISSING', reason, { cause: error, hint: command === 'git' ? git : other });
}

function timeoutError(request: ChildRequest, deadlineMs: number): OperatingError {
  return new OperatingError(
    'CHILD_TIMEOUT',
    `${commandLine(request)}: not finished after ${deadlineMs} ms, ended with its process group`,
  );
}

/** Real hosts for the tests of one file: laid out when asked for, ended and removed after the last test. */
import { spawn } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect } from 'vitest';
import { openApi, type ApiConnection } from '../../drills/lib/api.ts';
import { layHost, type CtlResult, type TestHost } from '../../drills/lib/hosts.ts';
import { startProcess, type DrillProcess } from '../../drills/lib/process.ts';

export interface RunOptions {
  readonly input?: string | Uint8Array;
  /** Beside, or over, the environment of the bench. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
}

/** An error as `--json` prints it. */
export interface ErrorJson {
  readonly code: string;
  readonly message: string;
  readonly hint: string | null;
}

export interface BenchHost extends TestHost {
  readonly repository: string;
  /** The memd that was started last. */
  memd(): DrillProcess;
  /** Starts memd at the address of another host: for a copy of its home. */
  startAt(address: string): Promise<DrillProcess>;
  /** Ends it with SIGTERM. @returns its exit code. */
  stop(): Promise<number>;
  /** Runs memctl for this home with input, another environment or another working folder. */
  run(args: readonly string[], options?: RunOptions): Promise<CtlResult>;
  /** Runs memctl --json, requires this exit code and one JSON document on stdout that is an error. */
  refused(exit: number, args: readonly string[], options?: RunOptions): Promise<ErrorJson>;
  /** Appends JSON lines as one transaction, and requires that it worked. */
  append(lines: string): Promise<void>;
  /** Runs verify --deep, requires exit 1, and gives the problems. */
  refusedVerify(): Promise<readonly string[]>;
  /** A connection to its local socket, closed with the bench. */
  api(): Promise<ApiConnection>;
}

export interface Bench {
  folder(): string;
  lay(name: string, environment?: Readonly<Record<string, string>>): Promise<BenchHost>;
  /** Started by a test itself; ended with the bench. */
  adopt(process: DrillProcess): void;
}

const memctl = fileURLToPath(new URL('../../bin/memctl', import.meta.url));
const memdFile = fileURLToPath(new URL('../../bin/memd', import.meta.url));
/** A cron expression that never comes while a test runs. */
const neverSync = '0 0 0 1 1 *';

/** Call it once at the top of a test file. */
export function openBench(): Bench {
  const started: DrillProcess[] = [];
  const connections: ApiConnection[] = [];
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(realpathSync(tmpdir()), 'memd-bench-'));
  });
  afterAll(async () => {
    for (const connection of connections) connection.close();
    await Promise.all(started.map((process) => process.end()));
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    folder: () => folder,
    adopt: (process) => void started.push(process),
    async lay(name, environment = {}) {
      const own: DrillProcess[] = [];
      const adopt = (memd: DrillProcess): void => {
        own.push(memd);
        started.push(memd);
      };
      const host = await layHost({ folder, name, environment, started: adopt });
      const base = { ...isolated(folder), ...environment };
      return {
        ...host,
        ...runsOf(host.home, base),
        repository: join(host.home, 'repo.git'),
        start: () => host.start(),
        async startAt(address) {
          const args = [memdFile, '--home', host.home, '--listen', address, '--sync', neverSync, '--json'];
          const memd = startProcess({ command: process.execPath, args, env: base });
          adopt(memd);
          await memd.line(/"ready":true/);
          return memd;
        },
        memd: () => lastOf(own),
        async stop() {
          lastOf(own).signal('SIGTERM');
          return lastOf(own).ended;
        },
        async api() {
          const connection = await openApi(join(host.home, 'memd.sock'));
          connections.push(connection);
          return connection;
        },
      };
    },
  };
}

function lastOf(processes: readonly DrillProcess[]): DrillProcess {
  const last = processes.at(-1);
  if (last === undefined) throw new Error('no memd was started');
  return last;
}

function isolated(folder: string): Record<string, string> {
  return {
    XDG_CONFIG_HOME: join(folder, 'config'),
    XDG_CACHE_HOME: join(folder, 'cache'),
    HOME: folder,
    MEMD_HOME: '',
    SSH_AUTH_SOCK: '',
  };
}

function runsOf(
  home: string,
  base: Readonly<Record<string, string>>,
): Pick<BenchHost, 'run' | 'append' | 'refused' | 'refusedVerify'> {
  const run: BenchHost['run'] = (args, options = {}) =>
    runMemctl(['--home', home, ...args], { ...options, env: { ...base, ...options.env } });
  return {
    run,
    async append(input) {
      const { code, stderr } = await run(['append', '--file', '-'], { input });
      if (code !== 0) throw new Error(`append: ${stderr}`);
    },
    async refusedVerify() {
      const { code, stdout } = await run(['verify', '--deep', '--json']);
      expect(code).toBe(1);
      return (JSON.parse(stdout) as { problems: readonly string[] }).problems;
    },
    async refused(exit, args, options) {
      const { code, stdout, stderr } = await run([...args, '--json'], options);
      expect({ code, stdout, stderr }).toMatchObject({
        code: exit,
        stdout: expect.stringMatching(/^\{"error":.*\}\n$/),
      });
      return (JSON.parse(stdout) as { error: ErrorJson }).error;
    },
  };
}

/** Runs memctl to its end with exactly these arguments; an environment value of undefined takes the variable away. */
export function runMemctl(args: readonly string[], options: RunOptions): Promise<CtlResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [memctl, ...args], {
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
      stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      timeout: 60_000,
    });
    let [stdout, stderr] = ['', ''];
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    // A command that refuses before it has read everything closes the pipe.
    child.stdin?.on('error', () => undefined).end(options.input);
    child.on('error', reject);
    child.on('close', (code) => resolve({ code: code ?? 255, stdout, stderr }));
  });
}

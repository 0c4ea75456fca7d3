/** Real hosts for the tests of one file: laid out when asked for, ended and removed after the last test. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { openApi, type ApiConnection } from '../../drills/lib/api.ts';
import {
  isolated,
  layHost,
  runMemctl,
  type CtlResult,
  type RunOptions,
  type TestHost,
} from '../../drills/lib/hosts.ts';
import type { DrillProcess } from '../../drills/lib/process.ts';

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
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
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
        startAt: (address) => host.start(address),
        memd: () => lastOf(own),
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

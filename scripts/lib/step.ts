/** Runs a tool of node_modules with the running Node. */
import { spawn } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Folder of the checkout. */
export const root: string = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** How a tool ended. `output` is empty unless it was asked for. */
export interface StepResult {
  readonly code: number;
  readonly output: string;
}

/** Passed on, so that ending a script ends the tool that it waits for. */
const endings = ['SIGTERM', 'SIGHUP'] as const;

/** Where a step runs and what becomes of its output: shown (default), or kept and returned. */
export interface StepOptions {
  readonly cwd?: string;
  readonly keepOutput?: boolean;
}

/** Runs `node_modules/<pkg>/<script>`; a signal counts as exit code 1. */
export function runStep(
  pkg: string,
  script: string,
  args: readonly string[],
  options: StepOptions = {},
): Promise<StepResult> {
  return runNode([join(root, 'node_modules', pkg, script), ...args], options);
}

/** Runs the running Node (with its flags, so that TypeScript sources work) on a script. */
export function runNode(args: readonly string[], options: StepOptions = {}): Promise<StepResult> {
  const kept = options.keepOutput === true;
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...process.execArgv, ...args], {
      cwd: options.cwd ?? root,
      stdio: ['ignore', kept ? 'pipe' : 'inherit', kept ? 'pipe' : 'inherit'],
    });
    const chunks: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => chunks.push(chunk));
    const end = (signal: NodeJS.Signals): void => void child.kill(signal);
    for (const signal of endings) process.on(signal, end);
    child.once('error', reject);
    child.once('close', (code) => {
      for (const signal of endings) process.off(signal, end);
      resolve({ code: code ?? 1, output: Buffer.concat(chunks).toString('utf8') });
    });
  });
}

/** True in the script that Node was started with (`import.meta.main` is younger than the oldest Node we run on). */
export function isMain(url: string): boolean {
  const started = process.argv[1];
  return started !== undefined && realpathSync(started) === realpathSync(fileURLToPath(url));
}

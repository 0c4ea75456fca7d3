/** Real processes in temporary folders, for the tests of launchers and bootstrap. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

export const checkout: string = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A temporary folder that goes away with the test. */
export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'memctl-scripts-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Writes files below a folder; those that start with `#!` become executable. */
export function writeFiles(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    const file = join(folder, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    if (text.startsWith('#!')) chmodSync(file, 0o755);
  }
}

/** Puts links to real programs into a folder that then serves as PATH. */
export function linkPrograms(folder: string, programs: Readonly<Record<string, string>>): void {
  mkdirSync(folder, { recursive: true });
  for (const [name, target] of Object.entries(programs)) symlinkSync(target, join(folder, name));
}

/** Starts a process whose output is read by `ended`; it is killed with the test at the latest. */
export function start(
  command: readonly string[],
  env: NodeJS.ProcessEnv,
): { child: ChildProcess; ended: Promise<Ended> } {
  const [file = '', ...args] = command;
  const child = spawn(file, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  return { child, ended };
}

/** Runs a process to its end. */
export function runToEnd(command: readonly string[], env: NodeJS.ProcessEnv): Promise<Ended> {
  return start(command, env).ended;
}

/** Resolves when the process has printed this text on stdout. */
export function printed(child: ChildProcess, text: string): Promise<void> {
  let seen = '';
  return new Promise((resolve, reject) => {
    child.stdout?.on('data', (chunk: Buffer) => {
      seen += chunk.toString();
      if (seen.includes(text)) resolve();
    });
    child.once('close', () => reject(new Error(`ended before it printed ${text}`)));
  });
}

/** A command line prefix that behaves like an old Node. */
export interface OldNode {
  readonly name: string;
  readonly command: (folder: string) => readonly string[];
}

/** The running Node with an old version number; and a really old one where the machine has one. */
export function oldNodes(): OldNode[] {
  const real = ['/usr/bin/node', '/usr/local/bin/node'].find((file) => existsSync(file) && isOld(file));
  const pretending: OldNode = { name: 'a Node that says 20.1.0', command: pretendOld };
  return real ? [pretending, { name: `the old ${real}`, command: () => [real] }] : [pretending];
}

function pretendOld(folder: string): readonly string[] {
  const file = join(folder, 'pretend-old.cjs');
  writeFileSync(
    file,
    `Object.defineProperty(process, 'version', { value: 'v20.1.0' });
     Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.1.0' } });`,
  );
  return [process.execPath, '--require', file];
}

function isOld(file: string): boolean {
  const said = spawnSync(file, ['--version'], { encoding: 'utf8' }).stdout;
  const [major = 0, minor = 0] = said.slice(1).split('.').map(Number);
  return major >= 18 && (major < 22 || (major === 22 && minor < 12));
}

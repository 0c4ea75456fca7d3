/** A host with memory, and hooks run against it as a harness runs them. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished } from 'vitest';
import { layHost, type TestHost } from '../../drills/lib/hosts.ts';
import type { DrillProcess } from '../../drills/lib/process.ts';
import { temporaryFolder } from '../lib/temporary.ts';

export const memctl: string = fileURLToPath(new URL('../../bin/memctl', import.meta.url));

export interface HookRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly milliseconds: number;
}

/** A mesh of one with a rule and a fact in it. `start` runs its memd, which ends with the test. */
export async function hostWithMemory(): Promise<{
  host: TestHost;
  folder: string;
  start: () => Promise<DrillProcess>;
}> {
  const folder = temporaryFolder();
  const running: DrillProcess[] = [];
  onTestFinished(async () => {
    for (const one of running) await one.end();
  });
  const host = await layHost({ folder, name: 'alpha', started: (memd) => void running.push(memd) });
  await host.json('init', '--host', 'alpha', '--listen', host.address);
  await host.json('lesson', 'lesson/quote-paths', 'Quote every path in shell commands');
  await host.json('assert', 'ssh-route/mini', '--value', 'via desk', '--home-ref', 'file:docs/routes.md');
  return { host, folder, start: () => host.start() };
}

export interface RunOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** False leaves stdin open, as a harness that forgets to close it. */
  readonly end?: boolean;
}

/** Runs a program with this on its stdin, to its end. */
export function run(command: readonly string[], stdin: string | Buffer, options: RunOptions = {}): Promise<HookRun> {
  const [file = '', ...args] = command;
  return new Promise((resolve, reject) => {
    const start = performance.now();
    const child = spawn(file, args, { cwd: options.cwd, env: { ...process.env, ...options.env } });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    // A hook that has read enough closes its end.
    child.stdin.on('error', () => undefined);
    child.stdin.write(stdin);
    if (options.end !== false) child.stdin.end();
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, stdout, stderr, milliseconds: performance.now() - start }));
  });
}

/** Runs one hook of a home. */
export function runHook(
  home: string,
  words: readonly string[],
  stdin: string | Buffer,
  options: RunOptions = {},
): Promise<HookRun> {
  return run([process.execPath, memctl, '--home', home, 'hook', ...words], stdin, options);
}

/** The text that an answer adds; '' for no answer. Everything else about it must be what every harness accepts. */
export function addedText(done: HookRun, event: string): string {
  expect(done.code).toBe(0);
  if (done.stdout === '') return '';
  expect(done.stdout.endsWith('\n')).toBe(true);
  expect(done.stdout.trimEnd()).not.toContain('\n');
  const answer = JSON.parse(done.stdout) as { hookSpecificOutput: Record<string, unknown> };
  expect(Object.keys(answer)).toEqual(['hookSpecificOutput']);
  expect(Object.keys(answer.hookSpecificOutput)).toEqual(['hookEventName', 'additionalContext']);
  expect(answer.hookSpecificOutput['hookEventName']).toBe(event);
  return String(answer.hookSpecificOutput['additionalContext']);
}

export interface RecordedEvent {
  readonly event: string;
  readonly stdin: Readonly<Record<string, unknown>>;
}

/** The events of one recorded session, in order. */
export function recording(harness: string): readonly RecordedEvent[] {
  const file = join(import.meta.dirname, 'recorded', `${harness}.jsonl`);
  return readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as RecordedEvent);
}

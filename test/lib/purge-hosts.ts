/** What tests of purges say, and what a home must show afterwards. */
import { execFileSync } from 'node:child_process';
import { expect } from 'vitest';
import { childEnvironment } from '../../src/store/child.ts';
import { findBytes } from './byte-search.ts';
import type { BenchHost } from './hosts-bench.ts';

export const secret = 'xylophone-4711-quagga';
export const subject = 'note/leak';

/** What `memctl purge` and `memctl purge --list` say. */
export interface Purged {
  readonly id: string;
  readonly targets: readonly string[];
  readonly done: boolean;
  readonly unconfirmed: readonly string[];
  readonly exports: readonly { readonly dir: string; readonly there: boolean }[];
}

export interface Claim {
  readonly id: string;
  readonly status: string;
  readonly content?: string;
}

export function git(host: BenchHost, ...args: readonly string[]): string {
  const options = { env: childEnvironment(), encoding: 'utf8', stdio: 'pipe' } as const;
  return execFileSync('git', ['--git-dir', host.repository, ...args], options).trim();
}

/** Lessons around an event that says the secret wherever it can, with what names it. @returns its id. */
export async function tellSecret(host: BenchHost): Promise<string> {
  const lessons = (from: number): string =>
    Array.from({ length: 40 }, (_, n) =>
      JSON.stringify({ kind: 'lesson', subject: `lesson/rule-${from + n}`, content: `rule ${from + n}` }),
    ).join('\n');
  await host.append(lessons(0));
  const leak = {
    kind: 'assert',
    subject,
    content: `the key is ${secret}`,
    value: 'gate-nine',
    hook: secret,
    text: secret,
  };
  await host.append(JSON.stringify({ ...leak, names: [secret], home: `file:${secret}.md` }));
  await host.append(lessons(40));
  const id = await idOf(host);
  const cites = { kind: 'decision', subject, content: 'we keep it there', basis: [id] };
  await host.append(JSON.stringify(cites));
  return id;
}

export async function idOf(host: BenchHost): Promise<string> {
  const { stdout } = await host.ctl('log', subject, '--json');
  const [first = '{}'] = stdout.trim().split('\n');
  return (JSON.parse(first) as Claim).id;
}

export async function expectSound(host: BenchHost): Promise<void> {
  expect(findBytes(host.home, secret)).toEqual([]);
  expect(git(host, 'fsck', '--strict', '--full')).toBe('');
  const { code, stdout } = await host.ctl('verify', '--deep', '--json');
  expect({ code, ...(JSON.parse(stdout) as object) }).toMatchObject({ code: 0, ok: true, problems: [] });
}

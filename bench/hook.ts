/**
 * What a harness waits for at every session start, and an agent at a look-up: whole processes against a memd with the
 * standard corpus and five peers that are gone, beside `node -e 0` of the same binary in the same run.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BodyInput } from '../src/core/event.ts';
import { openApi } from '../drills/lib/api.ts';
import { layHost, type TestHost } from '../drills/lib/hosts.ts';
import type { DrillProcess } from '../drills/lib/process.ts';
import { quantiles, ratioFigure, type Figure } from './lib/figures.ts';

const rounds = 60;
const peers = ['beta', 'gamma', 'delta', 'epsilon', 'zeta'];
const memctl = fileURLToPath(new URL('../bin/memctl', import.meta.url));

export async function benchHook(options: { readonly count: number }): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'memd-bench-'));
  const started: DrillProcess[] = [];
  try {
    const host = await layHost({ folder, name: 'alpha', started: (memd) => void started.push(memd) });
    await host.json('init', '--host', 'alpha', '--listen', host.address);
    await addDeadPeers(host, folder);
    await host.start();
    await fill(host, options.count);
    await host.json('agent', 'install', 'claude-code', '--yes');
    return measure(host, folder, options.count);
  } finally {
    for (const memd of started) await memd.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function addDeadPeers(host: TestHost, folder: string): Promise<void> {
  for (const name of peers) {
    const peer = await layHost({ folder, name, started: () => undefined });
    const { line } = await peer.json<{ line: string }>('host', 'request', '--host', name, '--listen', peer.address);
    await host.json('host', 'add', line, '--yes');
  }
}

/** Subjects are reused four times over, as in the standard corpus; a third are rules. */
async function fill(host: TestHost, count: number): Promise<void> {
  const api = await openApi(join(host.home, 'memd.sock'));
  const event = (index: number): BodyInput => {
    const subject = Math.floor(index / 4);
    const content = `what was learned about case ${subject} `.repeat(8).trim();
    return index % 3 === 0
      ? { kind: 'lesson', subject: `lesson/bench-${subject}`, content }
      : { kind: 'assert', subject: `note/bench-${subject}`, value: 'v', home: `file:docs/b${subject}.md`, content };
  };
  const step = 10_000;
  for (let from = 0; from < count; from += step) {
    const events = Array.from({ length: Math.min(step, count - from) }, (_, i) => event(from + i));
    const { error } = await api.call('append', { events, session: 'bench' });
    if (error !== undefined) throw new Error(`${error.code}: ${error.message}`);
  }
  await api.call('status', {});
  api.close();
}

interface Call {
  readonly command: readonly string[];
  readonly stdin: string;
}

function measure(host: TestHost, folder: string, count: number): Figure[] {
  const stdin = JSON.stringify({ session_id: 's1', hook_event_name: 'SessionStart', source: 'startup', cwd: folder });
  const run = [process.execPath, memctl, '--home', host.home];
  const settings = JSON.parse(readFileSync(join(folder, '.claude', 'settings.json'), 'utf8')) as {
    hooks: { SessionStart: { hooks: { command: string }[] }[] };
  };
  const launcher = settings.hooks.SessionStart[0]?.hooks[0]?.command.split(' ')[0] ?? '';
  const prompt = JSON.stringify({ session_id: 's1', hook_event_name: 'UserPromptSubmit', prompt: 'go on' });
  const calls: Readonly<Record<string, Call>> = {
    floor: { command: [process.execPath, '-e', '0'], stdin: '' },
    start: { command: [...run, 'hook', 'claude-code', 'SessionStart'], stdin },
    prompt: { command: [...run, 'hook', 'claude-code', 'UserPromptSubmit'], stdin: prompt },
    launcher: { command: [launcher, 'claude-code', 'SessionStart'], stdin },
    recall: { command: [...run, 'recall', 'note/bench-1', '--json'], stdin: '' },
  };
  const times = new Map<string, number[]>(Object.keys(calls).map((name) => [name, []]));
  for (let round = -3; round < rounds; round += 1) {
    // Taking turns: what else the machine does meets all of them alike. The first rounds fill caches.
    for (const [name, call] of Object.entries(calls)) {
      const milliseconds = timeCall(call, folder);
      if (round >= 0) times.get(name)?.push(milliseconds);
    }
  }
  const of = (name: string): { p50: number; p95: number } => quantiles(times.get(name) ?? []);
  const floor = { what: 'node -e 0', value: of('floor').p50 };
  const figure = (what: string, name: string, atMost: number): Figure =>
    ratioFigure({
      what: `${what}, whole process, p50 of ${rounds} (p95 ${of(name).p95.toFixed(0)} ms)`,
      value: of(name).p50,
      unit: 'ms',
      floor,
      atMost,
    });
  const begun = of('start');
  return [
    figure('session hook', 'start', 1.6),
    figure('prompt hook', 'prompt', 1.6),
    figure('recall SUBJECT --json', 'recall', 1.6),
    // The shell and its time limit come on top; no target of its own.
    figure('session hook through its launcher', 'launcher', 2),
    {
      what: `session start with ${count} events and ${peers.length} dead peers, p50 (p95 ${begun.p95.toFixed(0)} ms)`,
      value: begun.p50,
      unit: 'ms',
      target: '≤ 200 ms',
      met: begun.p50 <= 200,
    },
  ];
}

function timeCall({ command: [file = '', ...args], stdin }: Call, folder: string): number {
  const env = {
    ...process.env,
    HOME: folder,
    XDG_CACHE_HOME: join(folder, 'cache'),
    XDG_CONFIG_HOME: join(folder, 'config'),
  };
  const start = performance.now();
  const done = spawnSync(file, args, { input: stdin, env });
  const milliseconds = performance.now() - start;
  if (done.status !== 0) throw new Error(`${file} ${args.join(' ')}: ${done.stderr.toString('utf8')}`);
  return milliseconds;
}

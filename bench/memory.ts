/**
 * What memd holds after a start, idle, with more and more events: resident memory, what it is made of, and how it grows.
 * The parts come from the process itself, at the same moment, by a signal that only this measurement answers.
 */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openApi } from '../drills/lib/api.ts';
import { layHost, type TestHost } from '../drills/lib/hosts.ts';
import { pause, type DrillProcess } from '../drills/lib/process.ts';
import { memoryOf } from '../drills/lib/process-memory.ts';
import { ceilingFigure, type Figure } from './lib/figures.ts';

const perAppend = 10_000;
/** Until memd has noticed that nothing happens (3 s), and V8 has collected twice (8 s and a little). */
const settleMs = 25_000;
const answerMs = 5_000;

/** Megabytes, at one moment. `file`: pages of programs; `rest`: everything that no other part counts. */
interface Parts {
  readonly rss: number;
  readonly file: number;
  readonly used: number;
  readonly total: number;
  readonly external: number;
  readonly rest: number;
}

export async function benchMemory({ count }: { readonly count: number }): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'memd-bench-'));
  const started: DrillProcess[] = [];
  try {
    const probe = layProbe(folder);
    const environment = { NODE_OPTIONS: `--require ${probe.script}` };
    const host = await layHost({ folder, name: 'alpha', environment, started: (memd) => void started.push(memd) });
    await host.json('init', '--host', 'alpha', '--listen', host.address);
    await host.start();
    const figures: Figure[] = [];
    let held = 0;
    for (const events of [0, 1_000, 10_000, 100_000].filter((step) => step <= count)) {
      await fill(join(host.home, 'memd.sock'), held, events);
      held = events;
      const parts = await measure(host, probe);
      process.stderr.write(`  ${events} events: ${told(parts)}\n`);
      const what = `memory of memd (RSS), idle after a start, ${events} events: ${told(parts)}`;
      figures.push(ceilingFigure({ what, value: parts.rss, unit: 'MB', atMost: 120 }));
    }
    return figures;
  } finally {
    for (const memd of started) await memd.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Probe {
  readonly script: string;
  readonly answer: string;
}

/** Collects nothing: what is measured is what a host has, not what it could have. */
function layProbe(folder: string): Probe {
  const script = join(folder, 'probe.cjs');
  const answer = join(folder, 'probe.json');
  const text = `if (/memd$/.test(process.argv[1] ?? ''))
  process.on('SIGUSR2', () => require('node:fs').writeFileSync(${JSON.stringify(answer)}, JSON.stringify(process.memoryUsage())));`;
  writeFileSync(script, text);
  return { script, answer };
}

async function measure(host: TestHost, probe: Probe): Promise<Parts> {
  const memd = await host.restart();
  await host.json('status');
  await pause(settleMs);
  rmSync(probe.answer, { force: true });
  memd.signal('SIGUSR2');
  for (let waited = 0; !isWritten(probe.answer) && waited < answerMs; waited += 100) await pause(100);
  const heap = JSON.parse(readFileSync(probe.answer, 'utf8')) as NodeJS.MemoryUsage;
  const [rss, anonymous] = [memoryOf(memd.pid).now, anonymousMb(memd.pid)];
  const [used, total, external] = [heap.heapUsed, heap.heapTotal, heap.external].map((bytes) => bytes / 1_048_576);
  const parts = { used: used ?? 0, total: total ?? 0, external: external ?? 0 };
  return { rss, file: rss - anonymous, ...parts, rest: anonymous - parts.total };
}

function isWritten(file: string): boolean {
  return (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/** External memory is part of the rest where it is touched, so it is told apart and not subtracted. */
function told({ file, used, total, external, rest }: Parts): string {
  const [a, b, c, d, e] = [file, total, used, rest, external].map((mb) => mb.toFixed(0));
  return `programs ${a}, heap ${b} (${c} in use), rest ${d} (external ${e})`;
}

/** Subjects are reused four times over, as in the standard corpus. */
async function fill(socket: string, held: number, count: number): Promise<void> {
  const api = await openApi(socket);
  for (let from = held; from < count; from += perAppend) {
    const events = Array.from({ length: Math.min(perAppend, count - from) }, (_, at) => ({
      kind: 'lesson',
      subject: `lesson/bench-${Math.floor((from + at) / 4)}`,
      content: `what was learned about case ${from + at} `.repeat(8).trim(),
    }));
    const { error } = await api.call('append', { events, session: 'bench' });
    if (error !== undefined) throw new Error(`${error.code}: ${error.message}`);
  }
  await api.call('status', {});
  api.close();
}

function anonymousMb(pid: number): number {
  const match = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(match?.[1] ?? Number.NaN) / 1_024;
}

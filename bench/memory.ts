/** What memd holds: idle after a start, with as many events as the standard corpus has. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openApi } from '../drills/lib/api.ts';
import { layHost } from '../drills/lib/hosts.ts';
import { pause, type DrillProcess } from '../drills/lib/process.ts';
import { memoryOf } from '../drills/lib/process-memory.ts';
import { ceilingFigure, type Figure } from './lib/figures.ts';

const perAppend = 10_000;
/** Until what a start makes is made, and some of it collected. */
const settleMs = 10_000;

export async function benchMemory({ count }: { readonly count: number }): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'memd-bench-'));
  const started: DrillProcess[] = [];
  try {
    const host = await layHost({ folder, name: 'alpha', started: (memd) => void started.push(memd) });
    await host.json('init', '--host', 'alpha', '--listen', host.address);
    await host.start();
    await fill(join(host.home, 'memd.sock'), count);
    const memd = await host.restart();
    await host.json('status');
    await pause(settleMs);
    return [
      ceilingFigure({
        what: `memory of memd (RSS), idle after a start, ${count} events`,
        value: memoryOf(memd.pid).now,
        unit: 'MB',
        atMost: 120,
      }),
    ];
  } finally {
    for (const memd of started) await memd.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Subjects are reused four times over, as in the standard corpus. */
async function fill(socket: string, count: number): Promise<void> {
  const api = await openApi(socket);
  for (let from = 0; from < count; from += perAppend) {
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

/**
 * Maintenance under load: an hour's worth of appends is packed while a client goes on appending, one event at a time over a
 * kept connection, and a peer fetches each of them. The longest append counts, not a percentile.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MaintainedJson } from '../src/daemon/api/api-types.ts';
import { openApi, type ApiConnection } from '../drills/lib/api.ts';
import { formMesh, layHost, type TestHost } from '../drills/lib/hosts.ts';
import type { DrillProcess } from '../drills/lib/process.ts';
import { watchMemory } from '../drills/lib/process-memory.ts';
import { ceilingFigure, quantiles, timed, type Figure } from './lib/figures.ts';

/** Targets: what maintenance may cost whoever waits, and what a child of memd may hold. */
const delayMsMax = 250;
const childMbMax = 64;

export async function benchMaintenance(options: { readonly appends: number }): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'memd-bench-'));
  const started: DrillProcess[] = [];
  try {
    const lay = (name: string): Promise<TestHost> =>
      layHost({ folder, name, started: (memd) => void started.push(memd) });
    const hosts = [await lay('alpha'), await lay('beta')] as const;
    await formMesh(hosts);
    const [memd] = started;
    if (memd === undefined) throw new Error('a memd was started');
    return await measure(hosts[0], memd.pid, options.appends);
  } finally {
    for (const memd of started) await memd.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure(host: TestHost, pid: number, appends: number): Promise<Figure[]> {
  const socket = join(host.home, 'memd.sock');
  const [writer, keeper] = [await openApi(socket), await openApi(socket)];
  const quiet: number[] = [];
  for (let index = 0; index < appends; index += 1) quiet.push(await timed(() => append(writer, index)));
  const memory = watchMemory(pid);
  const runs: MaintainedJson[] = [];
  const work = new AbortController();
  const maintenance = (async () => {
    // Packing alone, as every hour; then all of it, as it rarely is.
    for (const full of [false, true]) {
      const { result, error } = await keeper.call('maintain', { full });
      if (error !== undefined) throw new Error(`${error.code}: ${error.message}`);
      runs.push(result as MaintainedJson);
    }
  })().finally(() => work.abort());
  const busy: number[] = [];
  for (let index = appends; !work.signal.aborted; index += 1) busy.push(await timed(() => append(writer, index)));
  await maintenance;
  const { mib: childMb } = memory.child();
  memory.stop();
  for (const api of [writer, keeper]) api.close();
  return figuresOf({ quiet, busy, runs, childMb });
}

function figuresOf(measured: {
  readonly quiet: readonly number[];
  readonly busy: readonly number[];
  readonly runs: readonly MaintainedJson[];
  readonly childMb: number;
}): Figure[] {
  const { quiet, busy, runs, childMb } = measured;
  const [packing, full] = runs;
  if (packing === undefined || full === undefined || !packing.packed) throw new Error('nothing was packed');
  const took = `${packing.loose.before} objects in ${packing.seconds} s, then all again in ${full.seconds} s`;
  // Over what one takes anyway.
  const usual = quantiles(quiet).p50;
  const delay = Math.max(...busy) - usual;
  return [
    {
      what: `longest delay of ${busy.length} appends, maintenance at work (${took})`,
      value: delay,
      unit: 'ms',
      floor: { what: `of ${quiet.length} appends before it`, value: Math.max(...quiet) - usual },
      target: `≤ ${delayMsMax} ms`,
      met: delay <= delayMsMax,
    },
    ceilingFigure({
      what: `append, p50 of them (before it ${usual.toFixed(1)} ms)`,
      value: quantiles(busy).p50,
      unit: 'ms',
      atMost: delayMsMax,
    }),
    ceilingFigure({ what: 'largest child during it', value: childMb, unit: 'MB', atMost: childMbMax }),
  ];
}

async function append(api: ApiConnection, index: number): Promise<void> {
  const events = [
    {
      kind: 'assert',
      subject: `note/maintained-${index}`,
      value: `v${index}`,
      home: `file:docs/m${index}.md#top`,
      content: 'the route from desk to mini was checked by hand after a reboot '.repeat(3).trim(),
    },
  ];
  const { error } = await api.call('append', { events, session: 'bench' });
  if (error !== undefined) throw new Error(`${error.code}: ${error.message}`);
}

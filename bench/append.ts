/**
 * Appends against a real memd: acknowledged over a kept connection, beside one-shot `git fast-import` and the same
 * directory fsyncs of the same bytes; 64 connections at once; a bulk file.
 */
import { spawnSync } from 'node:child_process';
import { closeSync, fsyncSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BodyInput } from '../src/core/event.ts';
import { segmentSealBytes } from '../src/core/limits.ts';
import { childEnvironment } from '../src/store/child.ts';
import { openApi, type ApiConnection } from '../drills/lib/api.ts';
import { layHost } from '../drills/lib/hosts.ts';
import type { DrillProcess } from '../drills/lib/process.ts';
import { quantiles, rateFigure, ratioFigure, timed, type Figure } from './lib/figures.ts';

const singles = 200;
const connections = 64;
const perConnection = 100;

export async function benchAppend(options: { readonly bulk: number }): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'memd-bench-'));
  const started: DrillProcess[] = [];
  try {
    const host = await layHost({ folder, name: 'alpha', started: (memd) => void started.push(memd) });
    await host.json('init', '--host', 'alpha', '--listen', host.address);
    await host.start();
    const socket = join(host.home, 'memd.sock');
    return [await single(socket, folder), await parallel(socket), await bulk(socket, options.bulk)];
  } finally {
    for (const memd of started) await memd.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** An event of about 600 bytes as a line. */
function event(index: number): BodyInput {
  return {
    kind: 'assert',
    subject: `note/bench-${index}`,
    value: `v${index}`,
    home: `file:docs/b${index}.md#top`,
    content: 'the route from desk to mini was checked by hand after a reboot '.repeat(3).trim(),
  };
}

async function append(api: ApiConnection, events: readonly BodyInput[]): Promise<void> {
  const { error } = await api.call('append', { events, session: 'bench' });
  if (error !== undefined) throw new Error(`${error.code}: ${error.message}`);
}

async function single(socket: string, folder: string): Promise<Figure> {
  const api = await openApi(socket);
  const floor = createImportFloor(folder);
  const figures: number[] = [];
  const floors: number[] = [];
  for (let index = 0; index < singles; index += 1) {
    figures.push(await timed(() => append(api, [event(index)])));
    floors.push(await timed(() => floor(`${JSON.stringify(event(index)).padEnd(600)}\n`)));
  }
  api.close();
  return ratioFigure({
    what: `append acknowledged, kept connection, p50 of ${singles} (p95 ${quantiles(figures).p95.toFixed(2)} ms)`,
    value: quantiles(figures).p50,
    unit: 'ms',
    floor: { what: 'git fast-import + directory fsync', value: quantiles(floors).p50 },
    atMost: 0.6,
  });
}

/** One commit a call, with the growing open segment, by a git child that starts and ends. */
function createImportFloor(folder: string): (line: string) => void {
  const repo = join(folder, 'floor.git');
  const env = childEnvironment();
  const git = (args: readonly string[], input = ''): void => {
    const done = spawnSync('git', [...args], { env, input });
    if (done.status !== 0) throw new Error(done.stderr.toString('utf8'));
  };
  git(['init', '--quiet', '--bare', repo]);
  git(['-C', repo, 'config', 'core.fsync', 'all']);
  const ref = 'refs/heads/log/alpha';
  let [segment, index, first] = ['', 0, true];
  return (line) => {
    if (segment.length >= segmentSealBytes) [segment, index] = ['', index + 1];
    segment += line;
    const path = `00/00/${String(index).padStart(2, '0')}.jsonl`;
    const from = first ? '' : `from ${ref}^0\n`;
    first = false;
    git(
      ['-C', repo, 'fast-import', '--quiet', '--done'],
      `commit ${ref}\ncommitter m <m@m> 1700000000 +0000\ndata 6\nappend\n${from}M 100644 inline ${path}\ndata ${segment.length}\n${segment}\ndone\n`,
    );
    for (const directory of ['objects', 'objects/pack', 'refs/heads/log']) syncDirectory(join(repo, directory));
  };
}

function syncDirectory(directory: string): void {
  const descriptor = openSync(directory, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}

async function parallel(socket: string): Promise<Figure> {
  const apis = await Promise.all(Array.from({ length: connections }, () => openApi(socket)));
  const writer = async (api: ApiConnection, base: number): Promise<void> => {
    for (let index = 0; index < perConnection; index += 1) await append(api, [event(base + index)]);
  };
  const milliseconds = await timed(() => Promise.all(apis.map((api, at) => writer(api, 10_000 + at * perConnection))));
  for (const api of apis) api.close();
  return rateFigure({
    what: `append, ${connections} connections, one event each at a time`,
    value: (connections * perConnection * 1_000) / milliseconds,
    unit: 'events/s',
    atLeast: 2_000,
  });
}

async function bulk(socket: string, count: number): Promise<Figure> {
  const api = await openApi(socket);
  const events = Array.from({ length: count }, (_, index) => event(100_000 + index));
  const milliseconds = await timed(() => append(api, events));
  api.close();
  return rateFigure({
    what: `bulk append of ${count}, one transaction, durable, through the secret gate`,
    value: (count * 1_000) / milliseconds,
    unit: 'events/s',
    atLeast: 15_000,
  });
}

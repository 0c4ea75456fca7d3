/** One host and five peers: two that work, one that says nothing, one that is gone, one that was installed anew. */
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { formMesh } from '../../drills/lib/hosts.ts';
import { servedOn } from '../../drills/lib/recovery.ts';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';

const bench = openBench();
const preload = fileURLToPath(new URL('../../drills/lib/shift-clock.ts', import.meta.url));
const dayMs = 86_400_000;
let alpha: BenchHost;
let beta: BenchHost;
let gamma: BenchHost;
/** Where zeta was; another installation answers there. */
let zeta: BenchHost;
let reinstalled: BenchHost;
let mesh: string;

const clock = (): string => join(bench.folder(), 'alpha.clock');
const sockets = new Set<Socket>();
const silent = createServer((socket) => void sockets.add(socket.on('error', () => undefined)));

interface Outcome {
  readonly peer: string;
  readonly state: string;
  readonly reason?: string;
}

interface Peer {
  readonly host: string;
  readonly state: string;
  readonly lastContact: string | null;
  readonly lastNewEvent: string | null;
  readonly quietDays?: number;
}

interface Status {
  readonly line: string;
  readonly peers: readonly Peer[];
}

beforeAll(async () => {
  writeFileSync(clock(), '0');
  const shifted = { MEMD_DRILL_CLOCK: clock(), NODE_OPTIONS: `--import=${preload}` };
  [alpha, beta, gamma] = [await bench.lay('alpha', shifted), await bench.lay('beta'), await bench.lay('gamma')];
  zeta = await bench.lay('zeta');
  mesh = await formMesh([alpha, beta, gamma]);
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const nobody = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
  for (const [name, at] of [
    ['delta', nobody],
    ['epsilon', '127.0.0.1:1'],
    ['zeta', zeta.address],
  ] as const) {
    const peer = name === 'zeta' ? zeta : await bench.lay(name);
    const { line } = await peer.json<{ line: string }>('host', 'request', '--host', name, '--listen', at);
    await alpha.json('host', 'add', line, '--yes');
  }
  await zeta.json('join', `ssh://${alpha.address}`, '--mesh', mesh);
  reinstalled = await bench.lay('reinstalled');
  await reinstalled.json('init', '--host', 'zeta', '--listen', zeta.address);
  await reinstalled.startAt(zeta.address);
  for (const host of [beta, gamma]) await host.json('lesson', `lesson/of-${host.name}`, 'x');
}, 90_000);

afterAll(() => {
  for (const socket of sockets) socket.destroy();
  silent.close();
});

/** What came of asking one peer, or all of them. */
const fetched = async (...peer: string[]): Promise<Record<string, Outcome>> => {
  const { stdout } = await alpha.ctl('fetch', ...peer, '--json');
  return Object.fromEntries((JSON.parse(stdout) as Outcome[]).map((outcome) => [outcome.peer, outcome]));
};

test('C1: one peer of five that never answers holds up neither an append nor the others, and is given up', async () => {
  const started = performance.now();
  const fetching = fetched();
  const api = await alpha.api();
  const lesson = { kind: 'lesson', subject: 'lesson/meanwhile', content: 'x' };
  expect((await api.call('append', { events: [lesson] })).error).toBeUndefined();
  await expect.poll(() => servedOn(alpha, 'lesson/of-gamma'), { timeout: 40_000 }).toBe(true);
  const outcomes = await fetching;
  expect(performance.now() - started).toBeLessThan(60_000);
  expect(outcomes).toMatchObject({
    beta: { state: 'up' },
    gamma: { state: 'up' },
    delta: { state: 'down', reason: expect.stringMatching(/\w/) },
    epsilon: { state: 'down', reason: expect.stringMatching(/\w/) },
  });
}, 90_000);

test('C4: a peer whose host key changed is marked and stays refused, also after a restart; a signer alone lets it in', async () => {
  for (const restart of [false, true]) {
    if (restart) await alpha.stop().then(() => alpha.start());
    const { zeta: refused } = await fetched('zeta');
    expect(await fetched('beta')).toMatchObject({ beta: { state: 'up' } });
    expect(refused).toMatchObject({
      state: 'refused',
      reason: expect.stringMatching(/HOST_KEY_MISMATCH|other key|whose key/),
    });
    expect((await alpha.ctl('status')).stdout).toMatch(/zeta.*refused/);
  }
  await reinstalled.stop();
  const fresh = await bench.lay('fresh');
  const { line } = await fresh.json<{ line: string }>('host', 'request', '--host', 'zeta', '--listen', zeta.address);
  expect(await alpha.refused(6, ['host', 'add', line, '--yes'])).toMatchObject({ code: 'OP_REFUSED' });
  await alpha.json('host', 'rekey', line, '--yes');
  await fresh.json('join', `ssh://${alpha.address}`, '--mesh', mesh);
  await fresh.startAt(zeta.address);
  expect((await fetched('zeta'))['zeta']).toMatchObject({ state: 'up' });
  await fresh.stop();
}, 90_000);

test('C7: a peer that answers and has said nothing new for days is not green: last contact and last new event are two', async () => {
  writeFileSync(clock(), String(4 * dayMs));
  await gamma.json('lesson', 'lesson/news', 'x');
  for (const peer of ['beta', 'gamma']) await fetched(peer);
  const { line, peers } = await alpha.json<Status>('status');
  const of = (name: string): Peer | undefined => peers.find(({ host }) => host === name);
  expect(of('beta')).toMatchObject({ state: 'up', quietDays: 4 });
  const apart = Date.parse(of('beta')?.lastContact ?? '') - Date.parse(of('beta')?.lastNewEvent ?? '');
  expect(apart).toBeGreaterThan(3 * dayMs);
  expect(of('gamma')).toMatchObject({ state: 'up' });
  expect(of('gamma')?.quietDays).toBeUndefined();
  expect(line).toMatch(/quiet/);
  expect((await alpha.ctl('status')).stdout).toMatch(/beta.*nothing new/);
}, 60_000);

test('B15: with every way to a peer gone, what was said stays named as unsynced, since when, until somebody holds it', async () => {
  await Promise.all([alpha, beta, gamma].map((host) => host.stop()));
  rmSync(join(alpha.home, 'peers.json'));
  await alpha.start();
  await alpha.json('lesson', 'lesson/alone', 'x');
  writeFileSync(clock(), String(4 * dayMs + 5 * 3_600_000));
  const { stdout } = await alpha.ctl('status');
  expect(stdout).toMatch(/^memd: .*, replicated to 0 of 5 peers, unsynced for \d+ [hd]\n/);
  expect(stdout).toMatch(/alpha:\d+ replicated to 0 of 5 peers, unsynced since \d+ [hd] ago/);
  expect((await alpha.ctl('lesson', 'lesson/more', 'x')).stdout).toContain('replicated to 0 of 5 peers');
  await gamma.start();
  await gamma.json('fetch', 'alpha');
  await fetched('gamma');
  const { replicated } = await alpha.json<{ replicated: object }>('status');
  expect(replicated).toMatchObject({ peers: 1, of: 5 });
  expect(replicated).not.toHaveProperty('since');
}, 60_000);

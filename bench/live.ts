/**
 * What a running mesh costs and how fast it is: from an append on one host until another serves it, a cycle that finds
 * nothing new, and `memctl status` while five peers are gone.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openApi, type ApiConnection } from '../drills/lib/api.ts';
import { converge, formMesh, layHost, type TestHost } from '../drills/lib/hosts.ts';
import { pause, type DrillProcess } from '../drills/lib/process.ts';
import { ceilingFigure, quantiles, timed, type Figure } from './lib/figures.ts';

const appends = 100;
const cycles = 100;
const statuses = 20;
const names = ['alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta'] as const;

/** `visible`: three hosts that watch each other; the last polls, the first appends. */
export function benchVisible(): Promise<Figure[]> {
  return withHosts(3, async ([alpha, , gamma]) => {
    if (alpha === undefined || gamma === undefined) throw new Error('three hosts were laid out');
    const from = await openApi(join(alpha.home, 'memd.sock'));
    const to = await openApi(join(gamma.home, 'memd.sock'));
    const figures: number[] = [];
    for (let round = 0; round < appends + 5; round += 1) {
      // The first few open what is kept open afterwards. Sleeps of another length each, so that no timer is in step.
      const took = await timed(() => untilServed(from, to, round));
      if (round >= 5) figures.push(took);
      await pause(20 + ((round * 37) % 160));
    }
    from.close();
    to.close();
    const { p50, p95 } = quantiles(figures);
    const what = `append on one host until another serves it, ${appends} times`;
    return [
      ceilingFigure({ what: `${what}, p50`, value: p50, unit: 'ms', atMost: 100 }),
      ceilingFigure({ what: `${what}, p95`, value: p95, unit: 'ms', atMost: 250 }),
    ];
  });
}

async function untilServed(from: ApiConnection, to: ApiConnection, round: number): Promise<void> {
  const subject = `note/visible-${round}`;
  const events = [{ kind: 'assert', subject, value: `v${round}`, home: 'file:docs/visible.md', content: 'seen' }];
  const { error } = await from.call('append', { events });
  if (error !== undefined) throw new Error(`${error.code}: ${error.message}`);
  for (const start = performance.now(); performance.now() - start < 20_000; await pause(1)) {
    const { result } = await to.call('recall', { subject });
    if ((result as { status?: string } | undefined)?.status === 'served') return;
  }
  throw new Error(`${subject} was not served elsewhere within 20 s`);
}

/** `idle`: a cycle with five peers that finds nothing new, and the status beside five that never answer. */
export async function benchIdle(): Promise<Figure[]> {
  const idle = await withHosts(6, async ([alpha], started) => {
    const [memd] = started;
    if (alpha === undefined || memd === undefined) throw new Error('six hosts were laid out');
    const api = await openApi(join(alpha.home, 'memd.sock'));
    for (let round = 0; round < 10; round += 1) await api.call('fetch', {});
    const [cpuBefore, childrenBefore] = [cpuMs(memd.pid), reapedFaults(memd.pid)];
    for (let round = 0; round < cycles; round += 1) await api.call('fetch', {});
    const cpu = (cpuMs(memd.pid) - cpuBefore) / cycles;
    const children = reapedFaults(memd.pid) - childrenBefore;
    api.close();
    const what = 'cycle with 5 peers, nothing new';
    return [
      ceilingFigure({ what: `${what}, CPU of memd, mean of ${cycles}`, value: cpu, unit: 'ms', atMost: 5 }),
      ceilingFigure({ what: `${what}, page faults of child processes`, value: children, unit: '', atMost: 0 }),
    ];
  });
  return [...idle, ...(await benchDeadPeers())];
}

async function benchDeadPeers(): Promise<Figure[]> {
  const silent = await Promise.all(names.slice(1).map(() => silentServer()));
  try {
    return await withHosts(1, async ([alpha], _started, lay) => {
      if (alpha === undefined) throw new Error('a host was laid out');
      for (const [index, server] of silent.entries()) {
        const name = names[index + 1] ?? '';
        const peer = await lay(name);
        const address = server.address();
        const port = typeof address === 'object' && address !== null ? address.port : 0;
        const at = ['--listen', `127.0.0.1:${port}`];
        const { line } = await peer.json<{ line: string }>('host', 'request', '--host', name, ...at);
        await alpha.json('host', 'add', line, '--yes');
      }
      const api = await openApi(join(alpha.home, 'memd.sock'));
      void api.call('fetch', {}).catch(() => undefined);
      const figures: number[] = [];
      for (let round = 0; round < statuses; round += 1) figures.push(await timed(() => alpha.json('status')));
      api.close();
      const { p95 } = quantiles(figures);
      return [
        ceilingFigure({
          what: 'memctl status while five peers never answer, p95',
          value: p95,
          unit: 'ms',
          atMost: 200,
        }),
      ];
    });
  } finally {
    for (const server of silent) server.close();
  }
}

/** Accepts, and never says a word. */
function silentServer(): Promise<Server> {
  return new Promise((resolve) => {
    const server = createServer((socket) => void socket.on('error', () => undefined).unref());
    server.listen(0, '127.0.0.1', () => resolve(server));
  });
}

async function withHosts(
  count: number,
  work: (
    hosts: readonly TestHost[],
    started: readonly DrillProcess[],
    lay: (name: string) => Promise<TestHost>,
  ) => Promise<Figure[]>,
): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'memd-bench-'));
  const started: DrillProcess[] = [];
  try {
    const lay = (name: string): Promise<TestHost> =>
      layHost({ folder, name, started: (memd) => void started.push(memd) });
    const hosts = await Promise.all(names.slice(0, count).map(lay));
    await formMesh(hosts);
    if (count > 1) await converge(hosts);
    return await work(hosts, started, lay);
  } finally {
    for (const memd of started) await memd.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Processor time of every thread of a process. */
function cpuMs(pid: number): number {
  const tasks = readdirSync(`/proc/${pid}/task`);
  const nanoseconds = tasks.map((task) => {
    const [ran = '0'] = readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ');
    return Number(ran);
  });
  return nanoseconds.reduce((sum, one) => sum + one, 0) / 1e6;
}

/** Page faults of children that have ended: no program starts without one. Source: proc(5), cminflt. */
function reapedFaults(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return Number(fields[8]);
}

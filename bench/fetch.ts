/** One new commit from a peer: memd's own fetch over its kept connection, beside stock `git fetch` over stock ssh. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { childEnvironment } from '../src/store/child.ts';
import { openApi } from '../drills/lib/api.ts';
import { converge, formMesh, layHost, type TestHost } from '../drills/lib/hosts.ts';
import type { DrillProcess } from '../drills/lib/process.ts';
import { quantiles, ratioFigure, timed, type Figure } from './lib/figures.ts';

const rounds = 40;

export async function benchFetch(): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'memd-bench-'));
  const started: DrillProcess[] = [];
  try {
    const lay = (name: string): Promise<TestHost> =>
      layHost({ folder, name, started: (memd) => void started.push(memd) });
    const hosts = [await lay('alpha'), await lay('beta')] as const;
    await formMesh(hosts);
    await converge(hosts);
    return [await oneCommit(hosts, folder)];
  } finally {
    for (const memd of started) await memd.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function oneCommit([alpha, beta]: readonly [TestHost, TestHost], folder: string): Promise<Figure> {
  const from = await openApi(join(alpha.home, 'memd.sock'));
  const to = await openApi(join(beta.home, 'memd.sock'));
  const stock = createStockFetch(alpha, beta, folder);
  const figures: number[] = [];
  const floors: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const events = [{ kind: 'lesson', subject: `lesson/bench-${round}`, content: `rule ${round} `.repeat(40) }];
    await from.call('append', { events });
    figures.push(await timed(async () => requireNew(await to.call('fetch', {}))));
    floors.push(await timed(stock));
  }
  from.close();
  to.close();
  return ratioFigure({
    what: `fetch of one new commit until folded, p50 of ${rounds}`,
    value: quantiles(figures).p50,
    unit: 'ms',
    floor: { what: 'git fetch over stock ssh', value: quantiles(floors).p50 },
    atMost: 0.5,
  });
}

function requireNew(reply: { readonly result?: unknown }): void {
  const { peers } = reply.result as { peers: { state: string; new: number }[] };
  if (peers[0]?.new !== 1) throw new Error(`the fetch brought ${JSON.stringify(peers)}`);
}

function createStockFetch(alpha: TestHost, beta: TestHost, folder: string): () => void {
  const repo = join(folder, 'stock.git');
  const ssh = `ssh -i ${join(beta.home, 'keys', 'ssh_ed25519')} -o IdentitiesOnly=yes -o IdentityAgent=none -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o BatchMode=yes`;
  const env = childEnvironment({ GIT_SSH_COMMAND: ssh, GIT_ALLOW_PROTOCOL: 'ssh' });
  const git = (...args: readonly string[]): void => {
    const done = spawnSync('git', [...args], { env });
    if (done.status !== 0) throw new Error(done.stderr.toString('utf8'));
  };
  git('init', '--quiet', '--bare', repo);
  git('-C', repo, 'config', 'core.fsync', 'all');
  git('-C', repo, 'config', 'gc.auto', '0');
  const fetch = (): void =>
    git('-C', repo, 'fetch', '--quiet', `ssh://memd@${alpha.address}/log`, 'refs/heads/log/alpha:refs/heads/log/alpha');
  return fetch;
}

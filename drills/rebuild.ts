/** Drill: everything lost but one host. */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { viewNames } from '../src/core/views/render.ts';
import { layMeshHost, startMesh, type AuthorityMesh } from './lib/authority.ts';
import type { DrillContext } from './lib/drill.ts';
import { fetchUp, type TestHost } from './lib/hosts.ts';
import { until } from './lib/live-mesh.ts';
import { statusOf, untilOneRoot } from './lib/recovery.ts';

export const name = 'rebuild';
export const promise = 'all hosts but one destroyed: two new ones join from it and serve identical bytes';

/** Runs the drill. */
export async function run(context: DrillContext): Promise<void> {
  const mesh = await startMesh(context);
  const { alpha, beta, gamma, folder, id } = mesh;
  await write(context, mesh);
  const before = await servedBytes(gamma);
  context.step('alpha and beta are destroyed, homes and keys; gamma is left');
  for (const host of [alpha, beta]) {
    await host.stop();
    rmSync(host.home, { recursive: true });
  }
  const [delta, again] = [await layMeshHost(context, folder, 'delta'), await layMeshHost(context, folder, 'beta2')];
  context.step('delta joins from gamma under a new name, and beta comes back on a new machine with new keys');
  await joinAs(mesh, gamma, delta);
  await comeBack(context, mesh, again);
  for (const host of [gamma, delta, again, gamma]) await host.ctl('fetch');
  const hosts = [gamma, delta, again];
  await untilOneRoot(context, hosts);
  for (const host of hosts) {
    const bytes = await servedBytes(host);
    context.check(bytes === (await servedBytes(gamma)), `${host.name} serves the bytes that gamma serves`);
    context.check((await host.json<{ ok: boolean }>('verify', '--deep')).ok, `${host.name} verifies`);
  }
  context.check((await servedBytes(gamma)) === before, 'what gamma serves is what it served before the loss');
  context.evidence(`${before.length} bytes of views, equal on ${hosts.map(({ name: one }) => one).join(', ')}`);
  const said = await again.json<{ host: string; seq: number }>('lesson', 'lesson/back', 'beta goes on');
  await gamma.json('fetch');
  await until(`beta goes on where it was: line ${said.seq} of mesh ${id.slice(0, 8)}`, async () => {
    const { heads } = await statusOf(gamma);
    return heads['beta']?.seq === said.seq || `line ${heads['beta']?.seq}`;
  });
}

async function write(context: DrillContext, { hosts, gamma }: AuthorityMesh): Promise<void> {
  context.step('all three hosts say things; gamma holds them');
  for (const host of hosts)
    for (let n = 1; n <= 5; n += 1) await host.json('lesson', `lesson/${host.name}-${n}`, `said on ${host.name}`);
  for (const host of hosts) if (host !== gamma) await fetchUp(gamma, host.name);
}

async function joinAs({ id, craig }: AuthorityMesh, from: TestHost, host: TestHost): Promise<void> {
  const { line } = await host.json<{ line: string }>('host', 'request', '--host', host.name, '--listen', host.address);
  await from.json('host', 'add', line, '--key', craig.file, '--yes');
  await host.json('join', `ssh://${from.address}`, '--mesh', id);
  await host.start();
  await host.ctl('fetch', from.name);
}

/** The name stays, and with it the log: new keys, pinned at the last line that gamma holds. */
async function comeBack(context: DrillContext, mesh: AuthorityMesh, host: TestHost): Promise<void> {
  const { gamma, id, craig } = mesh;
  const request = ['host', 'request', '--host', 'beta', '--listen', host.address, '--address', `ssh://${host.address}`];
  const { line } = await host.json<{ line: string }>(...request);
  const { pin } = await gamma.json<{ pin: { seq: number } }>('host', 'rekey', line, '--key', craig.file, '--yes');
  context.evidence(`beta has new keys, pinned at line ${pin.seq}`);
  await host.json('join', `ssh://${gamma.address}`, '--mesh', id);
  await host.start();
  await host.ctl('fetch', 'gamma');
}

function servedBytes({ home, json }: TestHost): Promise<string> {
  return json('index').then(() =>
    viewNames.map((view) => readFileSync(join(home, 'views', 'operator', view), 'utf8')).join('\n'),
  );
}

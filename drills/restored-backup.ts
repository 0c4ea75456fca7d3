/** Drill: a host that is put back from an old copy. */
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startMesh, type AuthorityMesh } from './lib/authority.ts';
import type { DrillContext } from './lib/drill.ts';
import { fetchUp, type TestHost } from './lib/hosts.ts';
import { until } from './lib/live-mesh.ts';
import { forkAlarms, rootsOf, servedOn, statusOf } from './lib/recovery.ts';

export const name = 'restored-backup';
export const promise = 'a host restored from an old copy fetches its own log before it writes; no fork';

/** Runs the drill. */
export async function run(context: DrillContext): Promise<void> {
  // Beta has to ask, however long its peers take to answer.
  const mesh = await startMesh(context, { environment: { MEMD_OFFLINE: '' } });
  const backup = await backUp(context, mesh);
  await restoreAndWrite(context, mesh, { backup, by: 'memctl alone' });
  await restoreAndWrite(context, mesh, { backup, by: 'memd' });
  await throughRelay(context, mesh, backup);
}

async function backUp(context: DrillContext, { alpha, beta, gamma, folder }: AuthorityMesh): Promise<string> {
  context.step(
    'beta says two things and is backed up: repo.git and keys; then it says three more, which its peers fetch',
  );
  const backup = join(folder, 'backup');
  for (const n of [1, 2]) await beta.json('lesson', `lesson/early${n}`, 'in the backup');
  await beta.stop();
  for (const part of ['repo.git', 'keys']) cpSync(join(beta.home, part), join(backup, part), { recursive: true });
  await beta.start();
  for (const n of [1, 2, 3]) await beta.json('lesson', `lesson/late${n}`, 'after the backup');
  for (const host of [alpha, gamma]) await fetchUp(host, 'beta');
  await beta.stop();
  return backup;
}

interface Restoring {
  readonly backup: string;
  readonly by: string;
}

function restore({ beta }: AuthorityMesh, backup: string): void {
  for (const part of ['repo.git', 'keys', 'last-heads.json', 'state.sqlite', 'machine.marker', 'logs', 'views'])
    rmSync(join(beta.home, part), { recursive: true, force: true });
  cpSync(backup, beta.home, { recursive: true });
}

async function restoreAndWrite(context: DrillContext, mesh: AuthorityMesh, { backup, by }: Restoring): Promise<void> {
  const { alpha, beta, gamma } = mesh;
  context.step(`beta is put back from it, and appends at once, by ${by}`);
  const before = (await statusOf(alpha)).heads['beta']?.seq ?? 0;
  restore(mesh, backup);
  if (by === 'memd') await beta.start();
  const seq = await appendOn(beta, `lesson/${by.replace(' ', '-')}`);
  context.check(seq === before + 1, `the new line follows what peers hold: line ${seq} after ${before}`);
  context.evidence(`peers held ${before} lines, the backup 2; the first append is line ${seq}`);
  if (by !== 'memd') await beta.start();
  for (const host of [alpha, gamma]) await fetchUp(host, 'beta');
  await noFork(context, mesh);
  await beta.stop();
}

async function throughRelay(context: DrillContext, mesh: AuthorityMesh, backup: string): Promise<void> {
  const { alpha, beta, gamma } = mesh;
  context.step('alpha is down: gamma, which has the lines from alpha, is enough');
  const before = (await statusOf(gamma)).heads['beta']?.seq ?? 0;
  await alpha.stop();
  restore(mesh, backup);
  await beta.start();
  const seq = await appendOn(beta, 'lesson/relay');
  context.check(seq === before + 1, `line ${seq} after ${before}`);
  await alpha.start();
  for (const host of [alpha, gamma]) await fetchUp(host, 'beta');
  await noFork(context, mesh);
}

/** An append is refused (exit 5) while nobody has answered what is held of this log; on a busy machine that takes its time. */
async function appendOn(host: TestHost, subject: string): Promise<number> {
  let seq = 0;
  await until(`${host.name} appends ${subject}`, async () => {
    const { code, stdout, stderr } = await host.ctl('lesson', subject, 'after the restore', '--json');
    if (code === 0) seq = (JSON.parse(stdout) as { seq: number }).seq;
    else if (code !== 5) throw new Error(`an append on ${host.name}: exit ${code}: ${stderr}${stdout}`);
    return code === 0 || stdout;
  });
  return seq;
}

async function noFork(context: DrillContext, { hosts }: AuthorityMesh): Promise<void> {
  for (const host of hosts) {
    const forks = await forkAlarms(host);
    context.check(forks.length === 0, `${host.name} alarms no fork: ${forks.join('; ')}`);
    // A peer that beta could not reach in time may hold a line of its journal that beta then says anew, until they meet.
    await until(`${host.name} alarms nothing`, async () => {
      const { alarms } = await statusOf(host);
      if (alarms.length > 0) await host.ctl('fetch');
      return alarms.length === 0 || alarms.map(({ kind, detail }) => `${kind} ${detail}`).join('; ');
    });
    for (const subject of ['early1', 'early2', 'late1', 'late2', 'late3'])
      context.check(await servedOn(host, `lesson/${subject}`), `${host.name} serves lesson/${subject}`);
  }
  await rootsOf(context, hosts);
}

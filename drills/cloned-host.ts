/** Drill: one home on two machines, and what the mesh makes of it. */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { layMeshHost, startMesh, type AuthorityMesh } from './lib/authority.ts';
import type { DrillContext } from './lib/drill.ts';
import { fetchUp, isolated, runMemctl, type TestHost } from './lib/hosts.ts';
import { until } from './lib/live-mesh.ts';
import { charterHost, forkAlarms, servedOn, untilNoAlarm, untilOneRoot } from './lib/recovery.ts';

export const name = 'cloned-host';
export const promise =
  'the whole home folder copied to a second machine, both append: detected within one cycle on every host, no side lost, recovery by one signed act';

interface Hosts extends Pick<AuthorityMesh, 'alpha' | 'beta' | 'gamma' | 'craig'> {
  readonly clone: TestHost;
}

/** Runs the drill. */
export async function run(context: DrillContext): Promise<void> {
  const mesh = await startMesh(context);
  const { alpha, beta, gamma, craig } = mesh;
  const hosts = { alpha, beta, gamma, craig, clone: await layMeshHost(context, mesh.folder, 'clone') };
  await beta.json('lesson', 'lesson/before', 'said before the copy');
  for (const host of [alpha, gamma]) await host.json('fetch');
  await refusedCopy(context, hosts);
  await bothAppend(context, hosts);
  await detected(context, hosts);
  await recovered(context, hosts);
  await strangerNow(context, hosts);
}

async function refusedCopy(context: DrillContext, { beta, clone }: Hosts): Promise<void> {
  context.step('beta is stopped and its home copied, file by file');
  await beta.stop();
  const env = isolated(join(beta.home, '..'));
  await runMemctl(['--home', beta.home, 'status'], { bound: true, env });
  cpSync(beta.home, clone.home, { recursive: true });
  const args = ['--home', clone.home, 'lesson', 'lesson/copy', 'x', '--json'];
  const { code, stdout } = await runMemctl(args, { bound: true, env });
  const { error } = JSON.parse(stdout) as { error: { code: string; hint: string } };
  context.check(code === 6 && error.code === 'MACHINE_CHANGED', `a copy writes nothing: exit ${code} ${stdout}`);
  context.evidence(`the copy: exit ${code} ${error.code}; next: ${error.hint}`);
}

async function bothAppend(context: DrillContext, { alpha, beta, gamma, clone }: Hosts): Promise<void> {
  context.step(
    'a copy of the whole disk cannot be told from the machine: both append three lines, and each meets one peer',
  );
  // Who is offline cannot hear of the other: the peers are down while they write.
  for (const host of [alpha, gamma]) await host.stop();
  for (const n of [1, 2, 3]) await beta.json('lesson', `lesson/beta${n}`, 'said on beta');
  for (const n of [1, 2, 3]) await clone.json('lesson', `lesson/clone${n}`, 'said on the clone');
  await alpha.start();
  await beta.start();
  await fetchUp(alpha, 'beta');
  await alpha.stop();
  await beta.stop();
  await gamma.start();
  await clone.start(beta.address);
  await fetchUp(gamma, 'beta');
  context.check(await servedOn(alpha, 'lesson/beta3'), 'alpha took the lines of beta');
  context.check(await servedOn(gamma, 'lesson/clone3'), 'gamma took the lines of the clone');
}

async function detected(context: DrillContext, { alpha, beta, gamma, clone }: Hosts): Promise<void> {
  context.step('the mesh meets: one cycle');
  await clone.stop();
  await beta.start();
  await alpha.start();
  // A copy of a forked log is refused, which is what fetch says with its exit code.
  for (const host of [gamma, alpha, beta, gamma, alpha]) await host.ctl('fetch');
  for (const host of [alpha, beta, gamma]) {
    // A peer that was slow to answer has told it since, over its watch.
    await until(`${host.name} says that beta is forked, usable up to 1, and alarms it once`, async () => {
      const { status, end } = await charterHost(host, 'beta');
      const alarms = await forkAlarms(host);
      const known = status === 'forked' && end === 1 && alarms.length === 1;
      return known || `${status}, usable up to ${end}, ${alarms.length} alarms: ${alarms.join('; ')}`;
    });
    context.evidence(`${host.name}: ${(await forkAlarms(host)).join('; ')}`);
  }
  await untilOneRoot(context, [alpha, beta, gamma]);
  const refused = await beta.ctl('lesson', 'lesson/x', 'x', '--json');
  context.check(
    refused.code === 6 && refused.stdout.includes('HOST_FORKED'),
    `beta appends nothing: ${refused.stdout}`,
  );
}

async function recovered(context: DrillContext, { alpha, beta, gamma, craig }: Hosts): Promise<void> {
  context.step('one signed act');
  const recover = ['host', 'recover', '--key', craig.file, '--yes'];
  const done = await beta.json<{ id: string; pin: { seq: number }; unsaid: number }>(...recover);
  context.evidence(`memctl host recover: op ${done.id.slice(0, 12)}, pin ${done.pin.seq}, ${done.unsaid} left unsaid`);
  // The first round brings the op, the second the lines: until a host has heard of it, the other branch is refused.
  for (const host of [alpha, beta, gamma]) await host.ctl('fetch');
  // Its journal goes on with the new keys; memd would say it within a minute.
  await beta.json('replay', '--at', 'now');
  // Twice: who is asked before it has heard of the new journal still offers that of the clone.
  for (const host of [alpha, beta, gamma, alpha, beta, gamma]) await host.json('fetch');
  for (const host of [alpha, beta, gamma]) {
    for (const subject of ['before', ...[1, 2, 3].flatMap((n) => [`beta${n}`, `clone${n}`])])
      await until(`${host.name} serves lesson/${subject}`, () => servedOn(host, `lesson/${subject}`));
    await untilNoAlarm(host);
    const verified = await host.json<{ ok: boolean }>('verify', '--deep');
    context.check(verified.ok, `${host.name} verifies`);
  }
  await untilOneRoot(context, [alpha, beta, gamma]);
  await beta.json('lesson', 'lesson/after', 'said with the new keys');
  await alpha.json('fetch');
  await until('alpha serves what beta says with its new keys', () => servedOn(alpha, 'lesson/after'));
}

async function strangerNow(context: DrillContext, { alpha, clone }: Hosts): Promise<void> {
  context.step('the clone comes back');
  await clone.start(clone.address);
  const { stdout } = await clone.ctl('fetch', '--json');
  const fetched = JSON.parse(stdout) as { peer: string; state: string; reason?: string }[];
  for (const { peer, state, reason = '' } of fetched) {
    context.check(state === 'refused' && reason.includes('has other keys since'), `${peer}: ${state} ${reason}`);
    context.evidence(`the clone hears of ${peer}: ${reason}`);
  }
  await clone.ctl('lesson', 'lesson/late', 'x');
  await alpha.json('fetch');
  context.check(!(await servedOn(alpha, 'lesson/late')), 'nothing of the clone is heard any more');
}

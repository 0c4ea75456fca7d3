/** Drill: a host that resets its branch and writes another history. */
import { cpSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startMesh, type AuthorityMesh } from './lib/authority.ts';
import { readLogWithGit } from './lib/check-log.ts';
import type { DrillContext } from './lib/drill.ts';
import { fetchUp, type TestHost } from './lib/hosts.ts';
import { until } from './lib/live-mesh.ts';
import { charterHost, forkAlarms, servedOn, untilNoAlarm, untilOneRoot } from './lib/recovery.ts';

export const name = 'rewritten-history';
export const promise =
  'a host resets and rewrites its branch: peers refuse, keep what they had, alarm, publish a fork-proof when it is one; all agree on the cut after the trust set is exchanged';

/** Runs the drill. */
export async function run(context: DrillContext): Promise<void> {
  const mesh = await startMesh(context);
  await rewrite(context, mesh);
  await refused(context, mesh);
  await agreed(context, mesh);
  await settled(context, mesh);
}

/** Beta has five lines that its peers hold; it goes back to two, and writes three others. */
async function rewrite(context: DrillContext, { alpha, beta, gamma, folder }: AuthorityMesh): Promise<void> {
  context.step(
    'beta says five things; the home is set back to the second, and says three others while nobody can be asked',
  );
  for (const n of [1, 2]) await beta.json('lesson', `lesson/base${n}`, 'on both');
  await beta.stop();
  cpSync(beta.home, join(folder, 'old'), { recursive: true });
  await beta.start();
  for (const n of [3, 4, 5]) await beta.json('lesson', `lesson/first${n}`, 'the first history');
  for (const host of [alpha, gamma]) await fetchUp(host, 'beta');
  for (const host of [alpha, beta, gamma]) await host.stop();
  rmSync(beta.home, { recursive: true });
  cpSync(join(folder, 'old'), beta.home, { recursive: true });
  for (const n of [3, 4, 5]) await beta.json('lesson', `lesson/second${n}`, 'the second history');
  for (const host of [alpha, gamma]) await host.start();
}

async function refused(context: DrillContext, { alpha, beta, gamma }: AuthorityMesh): Promise<void> {
  context.step('beta is served to alpha alone');
  const links = linksOf(alpha);
  await gamma.stop();
  await beta.start();
  await until('alpha refuses', async () => {
    const { stdout } = await alpha.ctl('fetch', 'beta', '--json');
    return stdout.includes('NOT_EXTENSION') || stdout;
  });
  context.check(JSON.stringify(linksOf(alpha)) === JSON.stringify(links), 'alpha keeps every line that it had');
  await until('alpha alarms, and has made the proof', async () => {
    const alarms = await forkAlarms(alpha);
    return alarms.length === 1 || `${alarms.length} alarms: ${alarms.join('; ')}`;
  });
  const kept = existsSync(join(alpha.home, 'forks')) ? readdirSync(join(alpha.home, 'forks')) : [];
  context.check(kept.length === 1, `alpha keeps the other side: ${kept.join(', ')}`);
  context.evidence(`alpha: ${(await forkAlarms(alpha))[0]}; other side in forks/${kept[0]}`);
}

function linksOf({ home }: TestHost): readonly string[] {
  return readLogWithGit(home, 'beta');
}

async function agreed(context: DrillContext, { alpha, beta, gamma, hosts }: AuthorityMesh): Promise<void> {
  context.step('beta goes; gamma, which never met the second history, hears of it from alpha by the trust set');
  await beta.stop();
  await gamma.start();
  await gamma.ctl('fetch', 'alpha');
  await beta.start();
  await beta.ctl('fetch');
  for (const host of hosts) {
    // What a peer was too slow to say when it was asked has come over its watch since.
    await until(`${host.name} says that beta is forked, usable up to 2`, async () => {
      const { status, end } = await charterHost(host, 'beta');
      return (status === 'forked' && end === 2) || `${status}, up to ${end}`;
    });
    context.check(!(await servedOn(host, 'lesson/first3')), `${host.name} serves nothing behind the split`);
    context.check(await servedOn(host, 'lesson/base2'), `${host.name} serves what stands before it`);
  }
  await untilOneRoot(context, [alpha, beta, gamma]);
}

async function settled(context: DrillContext, { alpha, beta, gamma, hosts, craig }: AuthorityMesh): Promise<void> {
  context.step('a signer on another host: memctl host recover --request on beta, memctl host rekey on alpha');
  const { line } = await beta.json<{ line: string }>('host', 'recover', '--request');
  const { pin } = await alpha.json<{ pin: { seq: number } }>('host', 'rekey', line, '--key', craig.file, '--yes');
  context.evidence(`rekey with a pin at line ${pin.seq}`);
  for (const host of [beta, alpha, gamma, beta]) await host.ctl('fetch');
  // Its journal goes on with the new keys; memd would say it within a minute.
  await beta.json('replay', '--at', 'now');
  // Twice: who is asked before it has heard of the new journal still offers the old one.
  for (const host of [alpha, gamma, beta, alpha, gamma, beta]) await host.json('fetch');
  for (const host of hosts) {
    for (const n of [3, 4, 5])
      for (const history of ['first', 'second'])
        await until(`${host.name} serves lesson/${history}${n}`, () => servedOn(host, `lesson/${history}${n}`));
    await untilNoAlarm(host);
    context.check((await host.json<{ ok: boolean }>('verify', '--deep')).ok, `${host.name} verifies`);
  }
  await untilOneRoot(context, hosts);
}

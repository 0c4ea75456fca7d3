/** What the drills of repairs share: three hosts that agree, one of them damaged while it is stopped, and put right. */
import { join } from 'node:path';
import { startMesh, type AuthorityMesh } from './authority.ts';
import type { DrillContext } from './drill.ts';
import { converge, type TestHost } from './hosts.ts';
import { alarmsOf, rootsOf, statusOf } from './recovery.ts';

/** What `doctor --repair --json` prints, as far as drills look at it. */
export interface RepairAnswer {
  readonly ok: boolean;
  readonly repaired: readonly { readonly what: string; readonly detail: string }[];
  readonly left: readonly { readonly what: string; readonly detail: string; readonly fix: string }[];
  readonly aside: string | null;
}

/** Three hosts, all of them with a few lines that all hold. */
export async function startSoundMesh(context: DrillContext, linesEach = 5): Promise<AuthorityMesh> {
  const mesh = await startMesh(context);
  context.step(`each host says ${linesEach} things, and all fetch them`);
  for (const host of mesh.hosts)
    for (let n = 1; n <= linesEach; n += 1)
      await host.json('lesson', `lesson/${host.name}-${n}`, `said by ${host.name}`);
  await converge(mesh.hosts);
  await rootsOf(context, mesh.hosts);
  return mesh;
}

/** Repairs a host whose memd is stopped. */
export async function repairOn(host: TestHost, ...args: readonly string[]): Promise<RepairAnswer> {
  const { stdout } = await host.ctl('doctor', '--repair', ...args, '--json');
  return JSON.parse(stdout) as RepairAnswer;
}

/** Fails the drill unless nothing is left to a person; tells what was done. */
export function requireRepaired(context: DrillContext, done: RepairAnswer): void {
  const left = done.left.map(({ what, detail }) => `${what}: ${detail}`).join('; ');
  context.check(done.left.length === 0, `the repair leaves nothing to a person (${left})`);
  context.check(done.repaired.length > 0, 'it says what it did');
  for (const { what, detail } of done.repaired.slice(0, 4)) context.evidence(`${what}: ${detail.slice(0, 160)}`);
}

/** Fails the drill unless the host holds every line it had, verifies, and every host believes the same. */
export async function requireWhole(
  context: DrillContext,
  mesh: AuthorityMesh,
  { host, heads }: { readonly host: TestHost; readonly heads: Readonly<Record<string, { readonly seq: number }>> },
): Promise<void> {
  const { ok, problems } = await host.json<{ ok: boolean; problems: string[] }>('verify', '--deep');
  context.check(ok, `verify --deep on ${host.name} finds nothing (${problems.join('; ')})`);
  const now = await statusOf(host);
  for (const [log, { seq }] of Object.entries(heads))
    context.check(
      (now.heads[log]?.seq ?? 0) >= seq,
      `${host.name} holds ${log} to line ${now.heads[log]?.seq} of ${seq}`,
    );
  // The newest lines of a journal are on no other host yet, and only a record: the host says so until it has written on.
  const alarms = (await alarmsOf(host)).filter((alarm) => !alarm.startsWith('VIEW_REWOUND'));
  context.check(alarms.length === 0, `${host.name} alarms nothing: ${alarms.join('; ')}`);
  await rootsOf(context, mesh.hosts);
}

export function repositoryOf(host: TestHost, ...names: readonly string[]): string {
  return join(host.home, 'repo.git', ...names);
}

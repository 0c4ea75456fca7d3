/** Drill: files that a power cut left empty, or filled with NUL. */
import { existsSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { branchFile, emptyObjects, objectFile } from '../test/lib/damage.ts';
import type { AuthorityMesh } from './lib/authority.ts';
import { repairOn, requireRepaired, requireWhole, startSoundMesh } from './lib/damaged-mesh.ts';
import type { DrillContext } from './lib/drill.ts';
import { converge } from './lib/hosts.ts';
import { statusOf } from './lib/recovery.ts';

export const name = 'zero-byte';
export const promise =
  'a file that is empty or filled with NUL is found, whichever it is, never read as "nothing was there", and comes back';

/** Files of a home that one power cut can leave so, one after the other. Keys are not among them: nobody can make them again. */
function filesOf(home: string): readonly string[] {
  const branches = ['log/beta', 'log/alpha', 'trust', 'view/beta'].filter((ref) => existsSync(branchFile(home, ref)));
  const objects = [
    'log/beta',
    'log/beta~1',
    'log/beta:00/00/00.jsonl',
    'log/beta:00',
    'trust',
    'log/alpha',
    'view/beta',
  ];
  const loose = objects.flatMap((ref) => {
    try {
      return objectFile(home, ref);
    } catch {
      // Packed, or not that long yet.
      return [];
    }
  });
  const derived = ['last-heads.json', 'peers.json', 'state.sqlite', 'logs/beta.jsonl', 'views/operator/INDEX.md'];
  const repository = ['repo.git/HEAD', 'repo.git/config'];
  return [
    ...loose,
    ...branches.map((ref) => branchFile(home, ref)),
    ...[...derived, ...repository].map((file) => join(home, file)).filter((file) => existsSync(file)),
  ];
}

/** Runs the drill. */
export async function run(context: DrillContext): Promise<void> {
  const mesh = await startSoundMesh(context);
  const { beta } = mesh;
  const { heads } = await statusOf(beta);
  await beta.stop();
  context.step(
    'beta is stopped; its files become empty, or filled with NUL, one after the other, and each time it is repaired',
  );
  const files = filesOf(beta.home);
  for (const [index, file] of files.entries()) {
    if (!existsSync(file)) continue;
    blank(file, index % 2 === 0);
    const done = await repairOn(beta);
    const left = done.left.map(({ what, detail }) => `${what}: ${detail}`).join('; ');
    context.check(done.left.length === 0, `${file.slice(beta.home.length + 1)}: nothing is left to a person (${left})`);
  }
  context.evidence(`${files.length} files, each empty or NUL once, each repaired`);
  await beta.start();
  await converge(mesh.hosts);
  await requireWhole(context, mesh, { host: beta, heads });
  await allAtOnce(context, mesh);
  await neverANewLog(context, mesh);
}

function blank(file: string, empty: boolean): void {
  if (empty) truncateSync(file, 0);
  else writeFileSync(file, Buffer.alloc(Math.max(1, statSync(file).size)));
}

async function allAtOnce(context: DrillContext, mesh: AuthorityMesh): Promise<void> {
  const { beta } = mesh;
  context.step('all of them at once');
  const { heads } = await statusOf(beta);
  await beta.stop();
  for (const [index, file] of filesOf(beta.home).entries()) blank(file, index % 2 === 0);
  requireRepaired(context, await repairOn(beta));
  await beta.start();
  const { seq } = await beta.json<{ seq: number }>('lesson', 'lesson/after-all', 'x');
  context.check(seq === (heads['beta']?.seq ?? 0) + 1, `the next line is ${seq}, behind ${heads['beta']?.seq}`);
  await converge(mesh.hosts);
  await requireWhole(context, mesh, { host: beta, heads });
}

async function neverANewLog(context: DrillContext, mesh: AuthorityMesh): Promise<void> {
  const { alpha, beta, gamma } = mesh;
  context.step('branch, commit, last-heads.json and copies of beta are gone, and no peer answers: no new log begins');
  const { heads } = await statusOf(beta);
  for (const host of mesh.hosts) await host.stop();
  emptyObjects(beta.home, 'log/beta');
  writeFileSync(branchFile(beta.home, 'log/beta'), '');
  for (const file of ['last-heads.json', 'logs']) rmSync(join(beta.home, file), { recursive: true });
  const done = await repairOn(beta);
  context.check(done.left.length > 0, 'the repair says that lines may be lost, and leaves it to a person');
  for (const { detail, fix } of done.left) context.evidence(`${detail.slice(0, 140)}; fix: ${fix.slice(0, 140)}`);
  const said = await beta.ctl('lesson', 'lesson/new-log', 'x');
  context.check(said.code !== 0, `an append is refused: ${said.stderr.trim().split('\n')[0]}`);
  for (const host of [alpha, gamma]) await host.start();
  requireRepaired(context, await repairOn(beta));
  await beta.start();
  await converge(mesh.hosts);
  await requireWhole(context, mesh, { host: beta, heads });
  context.evidence(`with peers again: beta holds ${(await statusOf(beta)).heads['beta']?.seq} lines of its log`);
  context.check(readdirSync(join(beta.home, 'damaged')).length > 0, 'what was damaged is kept in damaged/');
}

/** Drill: a disk that gives other bytes than it took. */
import { readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { emptyObjects, flipBit, gitIn, objectFile, packAll, removeCopies } from '../test/lib/damage.ts';
import type { AuthorityMesh } from './lib/authority.ts';
import { repairOn, repositoryOf, requireRepaired, requireWhole, startSoundMesh } from './lib/damaged-mesh.ts';
import type { DrillContext } from './lib/drill.ts';
import { converge } from './lib/hosts.ts';
import { servedOn, statusOf } from './lib/recovery.ts';

export const name = 'corrupt-store';
export const promise =
  'whatever the disk did to a store, damage is named, never served, and put right from what is left, from peers and from plain copies; nothing acknowledged is lost';

interface Damage {
  readonly what: string;
  /** The plain copies are damaged with it. */
  readonly withoutCopies?: boolean;
  readonly alone?: boolean;
  readonly make: (home: string) => void;
}

const damages: readonly Damage[] = [
  { what: 'a flipped bit in the newest commit of the own log', make: (home) => flipBit(objectFile(home, 'log/beta')) },
  { what: 'every pack damaged: one flipped bit', make: (home) => flipBit(packAll(home)) },
  {
    what: 'the index of the only pack cut off',
    make: (home) => truncateSync(packAll(home).replace(/pack$/, 'idx'), 100),
  },
  { what: 'the only pack cut in half, its index gone, no plain copy', withoutCopies: true, make: cutPack },
  {
    what: 'own log, the logs of others, trust set and journals: every object, no plain copy',
    withoutCopies: true,
    make: emptyAll,
  },
  { what: 'database, copies and views overwritten', make: overwriteDerived },
  { what: 'repo.git gone', withoutCopies: true, make: (home) => rmSync(join(home, 'repo.git'), { recursive: true }) },
  {
    what: 'own log: every object, no peer: the plain copy alone',
    alone: true,
    make: (home) => emptyObjects(home, 'log/beta'),
  },
];

function cutPack(home: string): void {
  const pack = packAll(home);
  rmSync(pack.replace(/pack$/, 'idx'));
  truncateSync(pack, Math.floor(statSync(pack).size / 2));
}

function emptyAll(home: string): void {
  const branches = gitIn(home, 'for-each-ref', '--format=%(refname:short)').split('\n');
  const oids = new Set(branches.flatMap((branch) => gitIn(home, 'rev-list', '--objects', branch).split('\n')));
  // Loose or packed.
  gitIn(home, 'repack', '-adq');
  for (const file of readdirSync(join(home, 'repo.git/objects/pack')))
    rmSync(join(home, 'repo.git/objects/pack', file));
  if (oids.size === 0) throw new Error('there was nothing to damage');
}

function overwriteDerived(home: string): void {
  writeFileSync(join(home, 'state.sqlite'), 'not a database '.repeat(2_000));
  flipBit(join(home, 'logs/alpha.jsonl'));
  writeFileSync(join(home, 'last-heads.json'), '{"v":1,"logs":');
  rmSync(join(home, 'views/operator'), { recursive: true });
}

/** Runs the drill. */
export async function run(context: DrillContext): Promise<void> {
  const mesh = await startSoundMesh(context);
  for (const damage of damages) await damageAndRepair(context, mesh, damage);
  await refusesWhatIsDamaged(context, mesh);
}

async function damageAndRepair(context: DrillContext, mesh: AuthorityMesh, damage: Damage): Promise<void> {
  const { alpha, beta, gamma, hosts } = mesh;
  context.step(`beta is stopped; damage: ${damage.what}`);
  const { heads } = await statusOf(beta);
  await beta.stop();
  if (damage.alone === true) for (const peer of [alpha, gamma]) await peer.stop();
  if (damage.withoutCopies === true) removeCopies(beta.home);
  damage.make(beta.home);
  const done = await repairOn(beta);
  requireRepaired(context, done);
  if (damage.alone === true) for (const peer of [alpha, gamma]) await peer.start();
  await beta.start();
  const { seq } = await beta.json<{ seq: number }>('lesson', `lesson/after-${heads['beta']?.seq}`, 'after the repair');
  context.check(seq === (heads['beta']?.seq ?? 0) + 1, `beta appends line ${seq} behind ${heads['beta']?.seq}`);
  await converge(hosts);
  await requireWhole(context, mesh, { host: beta, heads });
}

async function refusesWhatIsDamaged(context: DrillContext, mesh: AuthorityMesh): Promise<void> {
  const { alpha, beta, gamma } = mesh;
  context.step(
    'before a repair, and no peer answers: damage in the own log stops the writes of beta, and what stands before it is served',
  );
  const { heads } = await statusOf(beta);
  for (const host of [alpha, beta, gamma]) await host.stop();
  truncateSync(objectFile(beta.home, 'log/beta'), 0);
  rmSync(join(beta.home, 'state.sqlite'));
  const said = await beta.ctl('lesson', 'lesson/refused', 'x');
  context.check(said.code === 1, `an append is refused: ${said.stderr.trim().split('\n')[0]}`);
  context.evidence(said.stderr.trim().split('\n').join(' | '));
  context.check(await servedOn(beta, 'lesson/alpha-1'), 'what another log says is served meanwhile');
  const found = await beta.ctl('doctor');
  context.check(found.stdout.includes('memctl doctor --repair'), 'doctor says what to run');
  requireRepaired(context, await repairOn(beta));
  for (const host of [alpha, gamma]) await host.start();
  context.check(readdirSync(repositoryOf(beta, 'quarantine')).length === 0, 'nothing is left in quarantine');
  await beta.start();
  await converge(mesh.hosts);
  await requireWhole(context, mesh, { host: beta, heads });
}

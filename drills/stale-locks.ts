/** Drill: locks that a crash left behind, and locks that somebody holds. */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { branchFile } from '../test/lib/damage.ts';
import { repairOn, repositoryOf, requireWhole, startSoundMesh } from './lib/damaged-mesh.ts';
import type { AuthorityMesh } from './lib/authority.ts';
import type { DrillContext } from './lib/drill.ts';
import { converge } from './lib/hosts.ts';
import { statusOf } from './lib/recovery.ts';

export const name = 'stale-locks';
export const promise =
  'a lock that a crash left is no obstacle; a lock that a living process holds is never taken away';

/** Every lock that git, or a killed memd, can leave in a home. */
const staleLocks = [
  'repo.git/index.lock',
  'repo.git/HEAD.lock',
  'repo.git/config.lock',
  'repo.git/packed-refs.lock',
  'repo.git/shallow.lock',
  'repo.git/gc.pid',
  'repo.git/objects/maintenance.lock',
  'repo.git/refs/heads/trust.lock',
  'repo.git/refs/heads/log/beta.lock',
  'repo.git/refs/heads/log/alpha.lock',
  'memd.lock.owner.tmp',
] as const;

/** Runs the drill. */
export async function run(context: DrillContext): Promise<void> {
  const mesh = await startSoundMesh(context);
  await staleOnes(context, mesh);
  await gitLockHeld(context, mesh);
  await homeLockHeld(context, mesh);
}

function leaveLocks(home: string): void {
  for (const lock of staleLocks) writeFileSync(join(home, lock), '1 gone\n');
}

async function staleOnes(context: DrillContext, mesh: AuthorityMesh): Promise<void> {
  const { alpha, beta, hosts } = mesh;
  context.step(`memd of beta is killed with SIGKILL; ${staleLocks.length} locks are left; it starts again`);
  const { heads } = await statusOf(beta);
  await beta.halt();
  leaveLocks(beta.home);
  await beta.start();
  const { seq } = await beta.json<{ seq: number }>('lesson', 'lesson/after-locks', 'x');
  context.check(seq === (heads['beta']?.seq ?? 0) + 1, `beta appends line ${seq} at once`);
  await alpha.json('lesson', 'lesson/alpha-after-locks', 'x');
  await converge(hosts);
  context.step('the same under memctl alone, and under a repair');
  for (const how of ['memctl', 'repair']) {
    await beta.stop();
    leaveLocks(beta.home);
    if (how === 'repair')
      context.check((await repairOn(beta)).left.length === 0, 'the repair leaves nothing to a person');
    await beta.json('lesson', `lesson/locks-${how}`, 'x');
    // Nobody here has an index; this one disturbs nobody.
    const left = staleLocks.filter((lock) => existsSync(join(beta.home, lock)) && !lock.endsWith('index.lock'));
    context.check(left.length === 0, `by ${how} every lock that could disturb is gone (${left.join(', ')})`);
    await beta.start();
  }
  await converge(hosts);
  await requireWhole(context, mesh, { host: beta, heads });
}

/** A process that has a file open, as a git that is at work has its lock. */
async function openFile(context: DrillContext, file: string): Promise<ChildProcess> {
  const code = 'require("fs").openSync(process.argv[1], "r"); console.log("open"); setInterval(() => {}, 60000)';
  const owner = spawn(process.execPath, ['-e', code, file], { stdio: ['ignore', 'pipe', 'ignore'] });
  context.onCleanup(() => void owner.kill('SIGKILL'));
  await new Promise((resolve) => owner.stdout.once('data', resolve));
  return owner;
}

async function gitLockHeld(context: DrillContext, mesh: AuthorityMesh): Promise<void> {
  const { beta, hosts } = mesh;
  context.step("a living process holds the lock of beta's branch: it stays over a start and a repair");
  await beta.stop();
  const lock = `${branchFile(beta.home, 'log/beta')}.lock`;
  writeFileSync(lock, '');
  const owner = await openFile(context, lock);
  await repairOn(beta);
  context.check(existsSync(lock), 'the lock is there after a repair');
  await beta.start();
  const said = await beta.ctl('lesson', 'lesson/held', 'x');
  context.check(
    said.code === 1 && existsSync(lock),
    `an append is refused, and the lock stays: ${said.stderr.trim().split('\n')[0]}`,
  );
  owner.kill('SIGKILL');
  await new Promise((resolve) => owner.once('exit', resolve));
  await beta.stop();
  await beta.start();
  await beta.json('lesson', 'lesson/held', 'x');
  context.check(!existsSync(lock), 'its owner is gone: the next start takes it away, and the append goes through');
  await converge(hosts);
}

async function homeLockHeld(context: DrillContext, mesh: AuthorityMesh): Promise<void> {
  const { beta } = mesh;
  context.step('memd of beta runs: neither a second memd nor a repair takes its home');
  const said = await beta.ctl('doctor', '--repair', '--json');
  context.check(said.code === 1 && said.stdout.includes('HOME_LOCKED'), 'a repair beside memd is refused');
  context.evidence(said.stdout.trim().slice(0, 240));
  const { heads } = await statusOf(beta);
  context.step('its memd.lock is overwritten, and memd lives: the lock is still its own');
  await beta.stop();
  writeFileSync(join(beta.home, 'memd.lock'), 'overwritten '.repeat(1_000));
  const owner = await openFile(context, join(beta.home, 'memd.lock'));
  const kept = await beta.ctl('doctor', '--repair', '--json');
  context.check(kept.stdout.includes('HOME_LOCK_DAMAGED'), 'while a process has the file open nothing is moved');
  owner.kill('SIGKILL');
  await new Promise((resolve) => owner.once('exit', resolve));
  const done = await repairOn(beta);
  context.check(done.left.length === 0, 'once nobody has it open it is moved aside');
  context.check(existsSync(repositoryOf(beta, 'HEAD')), 'the repository is where it was');
  await beta.start();
  await converge(mesh.hosts);
  await requireWhole(context, mesh, { host: beta, heads });
}

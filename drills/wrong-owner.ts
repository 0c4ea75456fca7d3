/** Drill: files of a home that belong to another user. */
import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { DrillContext } from './lib/drill.ts';
import { converge, formMesh, isolated, layHost, runMemctl, type CtlResult, type TestHost } from './lib/hosts.ts';

export const name = 'wrong-owner';
export const promise =
  'a home, key, branch, object or socket of another user is refused, naming file, users, machine and command; nothing is lost';

/** A user that no machine has a name for. */
const other = 47_111;
/** `nobody`: ssh-keygen works for users only that the machine knows. */
const stranger = 65_534;

/** Runs the drill; without root only what needs none, and says so. */
export async function run(context: DrillContext): Promise<void> {
  const folder = context.temporaryFolder();
  const hosts: TestHost[] = [];
  for (const host of ['alpha', 'beta', 'gamma'])
    hosts.push(await layHost({ folder, name: host, started: context.adopt }));
  const [alpha, beta] = hosts as [TestHost, TestHost, TestHost];
  await formMesh(hosts);
  await alpha.json('lesson', 'lesson/one', 'said before');
  await converge(hosts);
  const env = isolated(folder);
  if (process.getuid?.() === 0) {
    await underMemd(context, { folder, hosts, env });
    await everyPart(context, { alpha, env });
    await asAnother(context, { alpha, folder, env });
  } else {
    context.evidence('not root: no file can be given to another user here; what follows needs no root');
  }
  await somebodyElses(context, env);
  for (const host of hosts) await host.restart();
  await converge(hosts);
  const roots = await Promise.all(hosts.map((host) => host.json<{ root: string }>('status')));
  context.check(new Set(roots.map(({ root }) => root)).size === 1, 'the roots are equal');
  for (const host of hosts)
    context.check((await host.ctl('verify', '--deep')).code === 0, `${host.name} is clean, every byte`);
  const { status } = await beta.json<{ status: string }>('recall', 'lesson/one');
  context.check(status === 'served', 'what was said before is served');
  context.evidence(`roots are equal again, verify --deep is clean on ${hosts.length} hosts`);
}

interface Refused {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}

function refusalOf({ code, stdout, stderr }: CtlResult): Refused {
  if (code === 0) throw new Error(`memctl answered: ${stdout}`);
  try {
    return (JSON.parse(stdout) as { error: Refused }).error;
  } catch {
    throw new Error(`memctl refused without a document: ${stdout}${stderr}`);
  }
}

/** Gives everything below a path to a user, links themselves included. */
function give(file: string, uid: number): void {
  lchownSync(file, uid, uid);
  if (lstatSync(file).isDirectory()) for (const entry of readdirSync(file)) give(join(file, entry), uid);
}

interface Running {
  readonly folder: string;
  readonly hosts: readonly TestHost[];
  readonly env: Readonly<Record<string, string>>;
}

interface Status {
  readonly alarms: readonly { readonly kind: string; readonly detail: string }[];
  readonly peers: readonly { readonly host: string; readonly state: string; readonly reason?: string }[];
}

async function underMemd(context: DrillContext, { folder, hosts, env }: Running): Promise<void> {
  const [alpha, beta, gamma] = hosts as [TestHost, TestHost, TestHost];
  context.step(
    'while memd runs, the repository of alpha is given to another user; safe.directory = * in every setting',
  );
  writeFileSync(join(folder, '.gitconfig'), '[safe]\n\tdirectory = *\n');
  give(join(alpha.home, 'repo.git'), other);
  // Root may write there all the same.
  await alpha.json('lesson', 'lesson/two', 'said after the chown');
  await gamma.json('lesson', 'lesson/three', 'said on gamma');
  const fetched = await beta.json<readonly { peer: string; state: string; new: number; reason?: string }[]>('fetch');
  const from = fetched.find(({ peer }) => peer === 'alpha');
  context.check(
    from?.state === 'refused' && from.reason?.includes('another user') === true,
    `beta says that alpha cannot be fetched from: ${JSON.stringify(from)}`,
  );
  const others = fetched.find(({ peer }) => peer === 'gamma');
  const three = await beta.json<{ status: string }>('recall', 'lesson/three');
  context.check(
    others?.state === 'up' && three.status === 'served',
    `gamma is not affected: ${JSON.stringify(others)}`,
  );
  context.evidence(`beta: alpha ${from?.state}, ${from?.reason}; gamma ${others.state}`);
  const status = await alpha.json<Status>('status');
  const alarm = status.alarms.find(({ kind }) => kind === 'WRONG_OWNER');
  context.check(alarm !== undefined, `alpha alarms WRONG_OWNER: ${JSON.stringify(status.alarms)}`);
  requireWords(context, alarm.detail, [String(other), hostname(), `chown -R 0:0 ${alpha.home}`]);
  const { checks } = await doctorOf(alpha.home, env);
  const owner = checks.find((one) => one.name === 'owner');
  context.check(owner?.ok === false, 'doctor finds it');
  requireWords(context, `${owner.detail} ${owner.fix ?? ''}`, [String(other), hostname(), 'chown -R 0:0']);
  context.evidence(`doctor: ${owner.detail}; fix: ${owner.fix}`);

  context.step('memd is started again: it refuses; then the owner is put right, and everybody has everything');
  await alpha.halt();
  const failed = await alpha.start().then(
    () => 'it started',
    (error: unknown) => String(error),
  );
  context.check(failed.includes(`belongs to user id ${other}`), `memd does not start: ${failed.slice(0, 300)}`);
  give(join(alpha.home, 'repo.git'), 0);
  await alpha.start();
  await converge(hosts);
  const held = await beta.json<{ heads: Record<string, { seq: number }> }>('status');
  context.check(held.heads['alpha']?.seq === 2, 'beta has what alpha said meanwhile');
}

function requireWords(context: DrillContext, text: string, words: readonly string[]): void {
  const missing = words.filter((word) => !text.includes(word));
  context.check(missing.length === 0, `it names ${missing.join(', ')}: ${text}`);
}

async function doctorOf(
  home: string,
  env: Readonly<Record<string, string>>,
): Promise<{ readonly checks: readonly { name: string; ok: boolean; detail: string; fix?: string }[] }> {
  const { stdout } = await runMemctl(['--home', home, 'doctor', '--json'], { env, bound: true });
  return JSON.parse(stdout) as Awaited<ReturnType<typeof doctorOf>>;
}

/** Every kind of file of a home, one after the other, without memd. */
async function everyPart(
  context: DrillContext,
  { alpha, env }: { readonly alpha: TestHost; readonly env: Readonly<Record<string, string>> },
): Promise<void> {
  context.step('without memd, one file of alpha after the other belongs to another user');
  await alpha.halt();
  const { home } = alpha;
  const fan = readdirSync(join(home, 'repo.git/objects')).find((entry) => /^[0-9a-f]{2}$/.test(entry)) ?? 'pack';
  const parts = [
    ['.', 'HOME_UNSAFE'],
    ['views', 'HOME_UNSAFE'],
    ['logs', 'HOME_UNSAFE'],
    ['state.sqlite', 'HOME_UNSAFE'],
    ['memd.lock', 'HOME_UNSAFE'],
    ['last-heads.json', 'HOME_UNSAFE'],
    ['keys', 'KEY_UNSAFE'],
    ['keys/host_ed25519', 'KEY_UNSAFE'],
    ['keys/ssh_ed25519', 'KEY_UNSAFE'],
    ['keys/identity.json', 'KEY_UNSAFE'],
    ['repo.git', 'REPOSITORY_OWNER'],
    ['repo.git/HEAD', 'REPOSITORY_OWNER'],
    ['repo.git/config', 'REPOSITORY_OWNER'],
    [`repo.git/objects/${fan}`, 'REPOSITORY_OWNER'],
    ['repo.git/refs/heads/trust', 'REPOSITORY_OWNER'],
    ['repo.git/refs/heads/log/alpha', 'REPOSITORY_OWNER'],
  ] as const;
  const told = new Map<string, number>();
  for (const [part, code] of parts) {
    const file = join(home, part);
    chownSync(file, other, other);
    const refused = refusalOf(
      await runMemctl(['--home', home, 'lesson', 'lesson/no', 'x', '--json'], { env, bound: true }),
    );
    context.check(refused.code === code, `${part} is refused as ${code}: ${refused.code}: ${refused.message}`);
    requireWords(context, refused.message, [file, String(other)]);
    requireWords(context, refused.hint, [hostname(), 'as root', `chown -R 0:0 ${home}`]);
    chownSync(file, 0, 0);
    told.set(code, (told.get(code) ?? 0) + 1);
  }
  context.evidence(
    `${parts.length} kinds of file refused: ${[...told].map(([code, count]) => `${count} ${code}`).join(', ')}`,
  );

  context.step('a socket of another user stands in the home: nobody asks there');
  const socket = join(home, 'memd.sock');
  if (!existsSync(socket)) writeFileSync(socket, '');
  chownSync(socket, other, other);
  const refused = refusalOf(await runMemctl(['--home', home, 'status', '--json'], { env, bound: true }));
  context.check(refused.code === 'HOME_UNSAFE', `the socket is refused: ${refused.message}`);
  requireWords(context, refused.message, [socket]);
  chownSync(socket, 0, 0);
  const again = await runMemctl(['--home', home, 'status', '--json'], { env, bound: true });
  context.check(again.code === 0, 'with every owner put right alpha answers');
}

/** As an ordinary user: the home of root, and a home in which a sudo has left something. */
async function asAnother(
  context: DrillContext,
  {
    alpha,
    folder,
    env,
  }: { readonly alpha: TestHost; readonly folder: string; readonly env: Readonly<Record<string, string>> },
): Promise<void> {
  context.step(`as user id ${stranger}: the home of root, and an own home in which root has left a file`);
  const place = join(folder, 'stranger');
  mkdirSync(place, { mode: 0o755 });
  // Temporary folders of a drill are closed to others.
  chmodSync(folder, 0o755);
  chownSync(place, stranger, stranger);
  const own = { ...env, HOME: place, XDG_CONFIG_HOME: join(place, 'config'), XDG_CACHE_HOME: join(place, 'cache') };
  const as = (...args: readonly string[]): Promise<CtlResult> =>
    runMemctl([...args, '--json'], { env: own, uid: stranger, bound: true, cwd: place });
  const roots = refusalOf(await as('--home', alpha.home, 'status'));
  context.check(roots.code === 'HOME_UNSAFE', `the home of root: ${roots.code}`);
  requireWords(context, roots.message, ['user id 0', String(stranger)]);
  const home = join(place, 'home');
  const made = await as('--home', home, 'init', '--host', 'delta', '--listen', '127.0.0.1:0');
  context.check(made.code === 0, `an ordinary user makes a home: ${made.stdout}${made.stderr}`);
  const branch = join(home, 'repo.git/refs/heads/log');
  chownSync(branch, 0, 0);
  const left = refusalOf(await as('--home', home, 'lesson', 'lesson/x', 'x'));
  context.check(left.code === 'REPOSITORY_OWNER', `what root left: ${left.code}: ${left.message}`);
  requireWords(context, left.hint, [`chown -R ${stranger}:${stranger} ${home}`]);
  chownSync(branch, stranger, stranger);
  const said = await as('--home', home, 'lesson', 'lesson/x', 'x');
  context.check(said.code === 0, `and with the owner put right it goes on: ${said.stdout}`);
  const sudo = refusalOf(await runMemctl(['--home', home, 'lesson', 'lesson/y', 'y', '--json'], { env, bound: true }));
  context.check(sudo.code === 'HOME_UNSAFE', `root in the home of a user: ${sudo.code}`);
  context.evidence(`user ${stranger}: home of root ${roots.code}, left by root ${left.code}; root there: ${sudo.code}`);
}

/** The variant that needs no root: any folder of somebody else. */
async function somebodyElses(context: DrillContext, env: Readonly<Record<string, string>>): Promise<void> {
  const uid = process.getuid?.() === 0 ? stranger : undefined;
  const who = uid === undefined ? 'this user' : `user id ${uid}`;
  context.step(`the variant without root, as ${who}: a folder of somebody else is named as the home`);
  const options = { env, bound: true, cwd: '/', ...(uid === undefined ? {} : { uid }) };
  for (const verb of ['status', 'doctor']) {
    const { code, stdout } = await runMemctl(['--home', '/usr', verb, '--json'], options);
    context.check(
      code === 1 && stdout.includes('user id 0'),
      `memctl ${verb} says whose it is: ${stdout.slice(0, 300)}`,
    );
  }
  const refused = refusalOf(await runMemctl(['--home', '/usr', 'lesson', 'lesson/x', 'x', '--json'], options));
  context.check(refused.code === 'HOME_UNSAFE', `it is refused: ${refused.code}`);
  context.evidence(`as ${who}: ${refused.code}: ${refused.message}`);
}

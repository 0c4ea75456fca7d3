/** Drill: what was said is taken out of every host, whoever is there, whoever is not, and whoever comes back with it. */
import { execFile, execFileSync } from 'node:child_process';
import { appendFileSync, cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { childEnvironment } from '../src/store/child.ts';
import { findBytes } from '../test/lib/byte-search.ts';
import { openApi } from './lib/api.ts';
import type { DrillContext } from './lib/drill.ts';
import { runMemctl, isolated, type TestHost } from './lib/hosts.ts';
import { startLiveMesh, until, untilUp, type LiveMesh } from './lib/live-mesh.ts';
import { untilNoAlarm, untilOneRoot } from './lib/recovery.ts';

export const name = 'purge';
export const promise =
  'a purged body is gone from every host that hears of it, relayed to or back after long, wherever it hid; who has not purged yet is named until they say so, signed';

const secret = 'xylophone-4711-quagga';
const subject = 'note/leak';
const names = ['alpha', 'beta', 'gamma', 'delta', 'eps'] as const;

type Hosts = Readonly<Record<(typeof names)[number], TestHost>>;

interface Mesh extends LiveMesh {
  readonly by: Hosts;
  readonly all: readonly TestHost[];
}

/** What is to go, and by which ids git knew it. */
interface Leak {
  readonly id: string;
  readonly objects: readonly string[];
}

interface Listed {
  readonly id: string;
  readonly done: boolean;
  readonly confirmed: readonly { readonly host: string; readonly at: string }[];
  readonly waiting: readonly { readonly host: string; readonly told: boolean; readonly heard: string | null }[];
  readonly exports: readonly { readonly dir: string }[];
  readonly saidAgain: readonly string[];
}

/** Runs the drill. */
export async function run(context: DrillContext): Promise<void> {
  const mesh = await layOut(context);
  const leak = await tellSecret(context, mesh);
  await goOffline(context, mesh);
  await purge(context, mesh, leak);
  await requireGone(context, mesh, leak);
  await comeBack(context, mesh, leak);
  await restoreOld(context, mesh, leak);
}

async function layOut(context: DrillContext): Promise<Mesh> {
  context.step('five hosts; eps is reached by beta alone, delta will be offline');
  const mesh = await startLiveMesh(context, names);
  const by = Object.fromEntries(mesh.hosts.map((host) => [host.name, host])) as unknown as Hosts;
  for (const other of ['alpha', 'gamma', 'delta']) mesh.network.cut('eps', other);
  return { ...mesh, by, all: mesh.hosts };
}

function git(host: TestHost, ...args: readonly string[]): string {
  const options = { env: childEnvironment(), encoding: 'utf8', stdio: 'pipe' } as const;
  return execFileSync('git', ['--git-dir', join(host.home, 'repo.git'), ...args], options).trim();
}

function foundOn(host: TestHost): readonly string[] {
  return findBytes(host.home, secret);
}

async function tellSecret(context: DrillContext, { by, all }: Mesh): Promise<Leak> {
  context.step(
    'alpha says a secret wherever an event has room for one; everybody takes it, and keeps it in odd places',
  );
  for (const n of [1, 2, 3]) await by.alpha.json('lesson', `lesson/rule-${n}`, `rule ${n}`);
  const event = { kind: 'assert', subject, content: `the key is ${secret}`, value: 'gate-nine', hook: secret };
  const more = { text: secret, names: [secret], home: `file:${secret}.md` };
  await append(by.alpha, JSON.stringify({ ...event, ...more }));
  await by.alpha.json('lesson', 'lesson/after', 'something else');
  await until('everybody serves it', async () =>
    (await Promise.all(all.map((host) => idOn(host)))).every((id) => id !== ''),
  );
  const id = await idOn(by.alpha);
  await untilWritten(all);
  await startSession(by.beta);
  await by.alpha.json('export', exportOf(by.alpha));
  const old = git(by.alpha, 'rev-parse', 'log/alpha', 'log/alpha:00/00/00.jsonl').split('\n');
  git(by.beta, 'tag', 'before', 'log/alpha');
  git(by.beta, 'repack', '-adbq');
  git(by.gamma, 'branch', 'backup', 'log/alpha');
  cpSync(join(by.gamma.home, 'logs/alpha.jsonl'), join(by.gamma.home, 'logs/former.jsonl'));
  writeFileSync(join(by.gamma.home, 'views/operator/STALE.md.edited-0123abcd'), secret);
  appendFileSync(join(by.alpha.home, 'views/operator/INDEX.md'), `edited by hand: ${secret}\n`);
  cpSync(join(by.alpha.home, 'state.sqlite'), join(by.alpha.home, 'state.sqlite.damaged'));
  for (const host of all) {
    const places = foundOn(host);
    context.evidence(`${host.name} holds it in ${places.length} places: ${places.slice(0, 5).join(', ')} …`);
  }
  return { id, objects: old };
}

/** What memd writes of an event by itself, each in its own time after it is served. */
const written = ['logs/alpha.jsonl', 'views/operator/INDEX.md', 'views/operator/index.json'];

async function untilWritten(hosts: readonly TestHost[]): Promise<void> {
  for (const host of hosts)
    await until(`${host.name} has written it wherever it writes`, async () => {
      const found = foundOn(host);
      const missing = written.filter((file) => !found.includes(file));
      const inRows = found.some((file) => file.startsWith('state.sqlite'));
      return (missing.length === 0 && inRows) || `found in ${found.join(', ')}`;
    });
}

function exportOf(host: TestHost): string {
  return join(dirname(host.home), `${host.name}-export`);
}

async function append(host: TestHost, line: string): Promise<void> {
  const env = isolated(dirname(host.home));
  const { code, stderr } = await runMemctl(['--home', host.home, 'append', '--file', '-'], { env, input: line });
  if (code !== 0) throw new Error(`append on ${host.name}: exit ${code}: ${stderr}`);
}

/** Id of the event on a host; '' while it is not there. */
async function idOn(host: TestHost): Promise<string> {
  const { stdout } = await host.ctl('log', subject, '--json');
  const [first = ''] = stdout.trim().split('\n');
  return first === '' ? '' : (JSON.parse(first) as { id: string }).id;
}

/** What a session is told is recorded. */
async function startSession(host: TestHost): Promise<void> {
  const api = await openApi(join(host.home, 'memd.sock'));
  await api.call('session.start', { harness: 'claude-code', event: 'SessionStart', session: 's1', cwd: '/' });
  api.close();
}

async function goOffline(context: DrillContext, { by }: Mesh): Promise<void> {
  context.step('delta goes offline; a copy of its home is kept, as a backup would be');
  await by.delta.halt();
  cpSync(by.delta.home, join(dirname(by.delta.home), 'delta-backup'), { recursive: true });
  context.evidence(`delta is gone with ${foundOn(by.delta).length} places that hold it`);
}

async function purge(context: DrillContext, mesh: Mesh, { id }: Leak): Promise<void> {
  const { by } = mesh;
  context.step('gamma purges the event of alpha, while alpha and beta append');
  const writing = { going: true, count: 0 };
  const writers = [by.alpha, by.beta].map(async (host) => {
    while (writing.going) {
      writing.count += 1;
      await host.json('lesson', `lesson/${host.name}-${writing.count}`, `meanwhile ${writing.count}`);
    }
  });
  const key = keyOf(by.alpha);
  const started = performance.now();
  const said = await by.gamma.ctl('purge', id, '--reason', 'secret', '--key', key, '--yes', '--json');
  context.check(said.code === 0, `purged: exit ${said.code}: ${said.stderr}${said.stdout}`);
  context.check(!`${said.stdout}${said.stderr}`.includes(secret), 'what goes is never said again');
  const { unconfirmed } = JSON.parse(said.stdout) as { unconfirmed: readonly string[] };
  // The others may have said it already when this host is done.
  context.check(unconfirmed.includes('delta'), `named at once: ${unconfirmed.join(', ')}`);
  const here = performance.now() - started;
  await until('gamma hears from alpha, beta and, through beta, from eps that it is gone', async () => {
    const { confirmed } = await listedOn(by.gamma, id);
    return confirmed.length === 3 || `confirmed by ${confirmed.map(({ host }) => host).join(', ')}`;
  });
  const everywhere = performance.now() - started;
  writing.going = false;
  await Promise.all(writers);
  context.evidence(
    `gamma done after ${here.toFixed(0)} ms, crossed off on three others after ${everywhere.toFixed(0)} ms`,
  );
  context.evidence(`${writing.count} appends acknowledged meanwhile, each one by one`);
}

/** The key that made the mesh: on another host it has to be named. */
function keyOf({ home }: TestHost): string {
  const { signer } = JSON.parse(readFileSync(join(home, 'keys/identity.json'), 'utf8')) as { signer: { key: string } };
  return signer.key;
}

/** As a host lists it; one that has not heard of it yet knows of nobody. */
async function listedOn(host: TestHost, id: string): Promise<Listed> {
  const purges = await host.json<readonly Listed[]>('purge', '--list');
  return (
    purges.find((one) => one.id === id) ?? { id, done: false, confirmed: [], waiting: [], exports: [], saidAgain: [] }
  );
}

async function requireGone(context: DrillContext, mesh: Mesh, leak: Leak): Promise<void> {
  const { by } = mesh;
  context.step('no byte of it is left on the four, nothing serves it, and everybody names delta');
  const here = [by.alpha, by.beta, by.gamma, by.eps];
  for (const host of here) {
    requireClean(context, host);
    await until(`${host.name} names delta alone`, async () => {
      const { waiting, done } = await listedOn(host, leak.id);
      const named = waiting.map((one) => `${one.host}${one.told ? ', told' : ''}`);
      return (done && named.join() === 'delta') || `${done ? 'done' : 'not done'}, waiting for ${named.join('; ')}`;
    });
    const { code } = await host.ctl('recall', subject);
    context.check(code === 7, `${host.name} answers PURGED, exit ${code}`);
  }
  await until('status on alpha names delta', async () => {
    const { warnings } = await by.alpha.json<{ warnings: readonly string[] }>('status');
    const named = warnings.find((text) => text.includes('carried out every purge: delta'));
    if (named !== undefined) context.evidence(named);
    return named !== undefined || warnings.join('; ');
  });
  const { exports } = await listedOn(by.alpha, leak.id);
  context.check(exports[0]?.dir === exportOf(by.alpha), 'alpha names the export that it wrote before');
  const imported = await by.alpha.ctl('import', exportOf(by.alpha), '--json');
  requireClean(context, by.alpha);
  context.evidence(`alpha names that export; read back, exit ${imported.code}, it brings nothing back`);
  for (const to of ['beta', 'gamma'] as const) await requireNotServed(context, mesh, { to, objects: leak.objects });
  await untilOneRoot(context, here);
}

function requireClean(context: DrillContext, host: TestHost): void {
  const found = foundOn(host);
  context.check(found.length === 0, `${host.name} holds it nowhere: ${found.join(', ')}`);
  const complaints = git(host, 'fsck', '--strict', '--full', '--no-dangling');
  context.check(complaints === '', `git fsck is content on ${host.name}: ${complaints}`);
  context.evidence(`${host.name}: no byte of it in any file or git object, git fsck --strict clean`);
}

/** An enrolled host asks with stock git for the commit and the file by their ids. */
async function requireNotServed(
  context: DrillContext,
  { network, by }: Mesh,
  { to, objects }: { readonly to: 'beta' | 'gamma'; readonly objects: readonly string[] },
): Promise<void> {
  const asker = by.alpha;
  const folder = join(context.temporaryFolder(), 'asker.git');
  execFileSync('git', ['init', '-q', '--bare', folder], { env: childEnvironment() });
  const { within } = network.place('alpha');
  const ssh = `ssh -i ${join(asker.home, 'keys/ssh_ed25519')} -o IdentitiesOnly=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null`;
  const url = network.urlOf('alpha', to).replace('ssh://', 'ssh://memd@');
  for (const oid of objects) {
    const [command = '', ...args]: readonly string[] = [
      ...within,
      'git',
      '--git-dir',
      folder,
      'fetch',
      '-q',
      `${url}/log`,
      oid,
    ];
    // Not waited for in one piece: the network may be proxies of this process.
    const env = childEnvironment({ GIT_SSH_COMMAND: ssh, GIT_ALLOW_PROTOCOL: 'ssh' });
    const said = await promisify(execFile)(command, args, { env, timeout: 30_000 }).then(
      () => 'served',
      (error: unknown) => String(error),
    );
    context.check(/not our ref/.test(said), `${to} does not have ${oid.slice(0, 12)} any more: ${said}`);
  }
  context.evidence(`${to} refuses the old commit and the old file by id: not our ref`);
}

async function comeBack(context: DrillContext, { by, all }: Mesh, { id }: Leak): Promise<void> {
  context.step('delta, which never heard of it, says the same again and edits it, offline; then it is back');
  const same = await by.delta.json<{ id: string }>(
    'assert',
    subject,
    '--value',
    'gate-nine',
    '--home',
    'file:other.md',
  );
  await by.delta.json('assert', subject, '--value', 'gate-ten', '--supersedes', id, '--home', 'file:other.md');
  context.check(foundOn(by.delta).length > 3, 'delta still holds it');
  await by.delta.start();
  await until('everybody says that it is gone from delta too', async () => {
    const listed = await Promise.all(all.map((host) => listedOn(host, id)));
    const left = listed.flatMap(({ waiting, done }, index) =>
      done && waiting.length === 0 ? [] : `${all[index]?.name} waits for ${waiting.map(({ host }) => host).join(', ')}`,
    );
    return left.length === 0 || left.join('; ');
  });
  for (const host of all) {
    requireClean(context, host);
    await untilNoAlarm(host, (alarm) => !alarm.includes(subject));
    // The receipt of delta and its lines come each on their own.
    await until(`${host.name} names the event that says the same again`, async () => {
      const { saidAgain } = await listedOn(host, id);
      return saidAgain.includes(same.id) || `names ${saidAgain.join(', ') || 'none'}`;
    });
  }
  await untilUp(by.alpha, 'delta');
  await requireOneAnswer(context, all, same.id);
}

/** E8: what delta said again is parked against the purge, on every host; its edit, which says something else, is served. */
async function requireOneAnswer(context: DrillContext, all: readonly TestHost[], again: string): Promise<void> {
  await untilOneRoot(context, all);
  for (const host of all) {
    const { stdout } = await host.ctl('recall', subject, '--json');
    const { status, claim } = JSON.parse(stdout) as { status: string; claim?: { value?: string } };
    context.check(status === 'served' && claim?.value === 'gate-ten', `${host.name} serves the edit: ${stdout}`);
    const shown = JSON.parse((await host.ctl('show', again, '--json')).stdout) as { status: string; reason: string };
    const parked = shown.status === 'parked' && shown.reason === 'WITHDRAWN_KEY';
    context.check(parked, `${host.name} parks what was said again: ${shown.status} ${shown.reason}`);
  }
  context.evidence('what delta said again is parked (WITHDRAWN_KEY) on all five, its edit is served');
}

async function restoreOld(context: DrillContext, { by, all }: Mesh, { id }: Leak): Promise<void> {
  context.step('delta is put back from the backup of before the purge');
  await by.delta.halt();
  rmSync(by.delta.home, { recursive: true });
  cpSync(join(dirname(by.delta.home), 'delta-backup'), by.delta.home, { recursive: true });
  context.check(foundOn(by.delta).length > 3, 'the backup holds it');
  context.check(!existsSync(join(by.delta.home, 'purged.json')), 'and knows of no purge');
  await by.delta.start();
  await until(
    'it is gone again',
    async () => existsSync(join(by.delta.home, 'purged.json')) && (await listedOn(by.delta, id)).done,
  );
  await untilOneRoot(context, all);
  for (const host of all) requireClean(context, host);
  for (const host of all) {
    const { code, stdout } = await host.ctl('verify', '--deep', '--json');
    context.check(code === 0, `${host.name} verifies: ${stdout}`);
  }
  const hole = readFileSync(join(by.delta.home, 'logs/alpha.jsonl'), 'utf8').includes(`"body":"${id}"`);
  context.check(hole, 'what is left of it is a hole that its log still vouches for');
  context.evidence('verify --deep is content on all five; the hole is vouched for by every later line');
}

/** A machine that lets in nothing but its own sshd: its host is one of the mesh like every other. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sshdProgram, startPlainSshd, type PlainSshd } from '../test/lib/plain-sshd.ts';
import type { DrillContext } from './lib/drill.ts';
import { layHost, type TestHost } from './lib/hosts.ts';
import { statusOf, untilEqual, untilUp } from './lib/live-mesh.ts';

export const name = 'plain-sshd';
export const promise =
  'a host behind a plain sshd is joined, fetched, watched and heard through it, with memd there and without; its host key is pinned and never taken by itself; nobody gets anything else there';

interface Stage {
  readonly folder: string;
  readonly sshd: PlainSshd;
  /** Behind the sshd; tells nobody an address. */
  readonly alpha: TestHost;
  /** Dials alpha through the sshd; cannot be dialled. */
  readonly beta: TestHost;
}

export async function run(context: DrillContext): Promise<void> {
  if (sshdProgram === undefined) context.skip('openssh-server is not installed');
  const uid = process.getuid?.();
  await withSshd(context, undefined, `an sshd that runs as uid ${uid}`);
  if (uid !== 0) context.evidence('not root: the sshd above was an ordinary process of this user');
  else if (spawnSync('unshare', ['-m', 'true']).status === 0)
    await withSshd(context, 64_999, 'the variant without root: an sshd of uid 64999, which owns the home of alpha');
  else context.evidence('the variant without root was not tried: no mount namespace can be made here');
}

async function withSshd(context: DrillContext, uid: number | undefined, what: string): Promise<void> {
  context.step(what);
  const folder = context.temporaryFolder();
  chmodSync(folder, 0o711);
  const sshd = await startPlainSshd({ folder: join(folder, 'sshd'), ...(uid === undefined ? {} : { uid }) });
  context.onCleanup(() => sshd.stop());
  const lay = (host: string): Promise<TestHost> =>
    layHost({
      folder,
      name: host,
      environment: { XDG_CONFIG_HOME: join(folder, `config-${host}`) },
      started: context.adopt,
    });
  const stage: Stage = { folder, sshd, alpha: await lay('alpha'), beta: await lay('beta') };
  await enrolThrough(context, stage, uid);
  // Root's memd does not work in a home of somebody else: there it is served without.
  if (uid === undefined) await live(context, stage);
  await changeKey(context, stage);
  stockClients(context, stage);
}

/** What beta has in its folder of settings. */
function configure({ folder, sshd }: Stage, knownHost: string): void {
  const config = join(folder, 'config-beta', 'memd');
  mkdirSync(config, { recursive: true });
  writeFileSync(join(config, 'config.toml'), `[peers]\nalpha = "${sshd.url()}"\n`);
  writeFileSync(join(config, 'known_hosts'), knownHost);
}

async function enrolThrough(context: DrillContext, stage: Stage, uid: number | undefined): Promise<void> {
  const { alpha, beta, sshd } = stage;
  const { mesh } = await alpha.json<{ mesh: string }>(
    'init',
    '--host',
    'alpha',
    '--listen',
    alpha.address,
    '--address',
    '',
  );
  const told = ['--listen', beta.address, '--address', ''];
  const { line } = await beta.json<{ line: string }>('host', 'request', '--host', 'beta', ...told);
  await alpha.json('host', 'add', line, '--yes');
  await alpha.json('lesson', 'lesson/first', 'said before anybody came');
  const { lines } = await alpha.json<{ lines: string[] }>('serve', '--authorized-keys');
  sshd.authorize(...lines);
  if (uid !== undefined) spawnSync('chown', ['-R', String(uid), alpha.home]);
  configure(stage, '');
  const early = await beta.ctl('join', sshd.url(), '--mesh', mesh);
  context.check(
    early.code === 1 && early.stderr.includes('no host key'),
    `an unpinned host key is refused: ${early.stderr}`,
  );
  context.evidence(early.stderr.split('\n')[0] ?? '');
  configure(stage, sshd.knownHost());
  await beta.json('join', sshd.url(), '--mesh', mesh);
  const { heads } = await statusOf(beta);
  context.check(heads['alpha']?.seq === 1, 'beta holds the line of alpha');
  context.evidence('pinned, joined and fetched, no memd on either side');
}

async function live(context: DrillContext, { alpha, beta }: Stage): Promise<void> {
  context.step('memd on both sides; nobody is told to fetch, and beta cannot be dialled');
  await alpha.start();
  await beta.start();
  await untilUp(beta, 'alpha');
  const started = performance.now();
  const said = await beta.json<{ replicated: number }>(
    'lesson',
    'lesson/second',
    'said by beta',
    '--sync=1',
    '--timeout',
    '120s',
  );
  context.check(said.replicated === 1, 'alpha holds what beta wrote');
  context.evidence(
    `memctl lesson --sync=1 on beta: held by alpha after ${(performance.now() - started).toFixed(0)} ms`,
  );
  await alpha.json('lesson', 'lesson/third', 'said by alpha');
  const root = await untilEqual([alpha, beta], { alpha: 2, beta: 1 });
  context.evidence(`root ${root.slice(0, 16)} on both`);
  await alpha.halt();
  await beta.halt();
}

async function changeKey(context: DrillContext, stage: Stage): Promise<void> {
  const { beta, sshd } = stage;
  context.step('the machine of the sshd is installed anew: another host key');
  await sshd.reinstall();
  const refused = await fetchAlpha(beta);
  context.check(refused.state === 'refused', `alpha is refused, not ${refused.state}`);
  context.check(
    refused.reason?.startsWith('HOST_KEY_MISMATCH') === true,
    `the reason is the host key: ${refused.reason}`,
  );
  context.evidence(refused.reason?.slice(0, 120) ?? '');
  configure(stage, sshd.knownHost());
  context.check((await fetchAlpha(beta)).state === 'up', 'after a person pinned the new one alpha is up');
}

async function fetchAlpha(beta: TestHost): Promise<{ readonly state: string; readonly reason?: string }> {
  // A peer that is refused is a failure of the command, and its answer is the same.
  const { stdout } = await beta.ctl('fetch', '--json');
  const [peer] = JSON.parse(stdout) as { state: string; reason?: string }[];
  if (peer === undefined) throw new Error('beta has one peer');
  return peer;
}

function stockClients(context: DrillContext, { folder, beta, sshd }: Stage): void {
  context.step('stock clients with the key of beta');
  const knownHosts = `UserKnownHostsFile=${join(folder, 'config-beta', 'memd', 'known_hosts')}`;
  const settings = ['IdentitiesOnly=yes', 'BatchMode=yes', 'IdentityAgent=none', 'LogLevel=ERROR', knownHosts];
  const key = join(beta.home, 'keys', 'ssh_ed25519');
  const options = ['-F', 'none', '-i', key, ...settings.flatMap((setting) => ['-o', setting])];
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder, GIT_SSH_COMMAND: ['ssh', ...options].join(' ') };
  const clone = spawnSync('git', ['clone', '-q', sshd.url('/log'), join(folder, 'clone')], { env, encoding: 'utf8' });
  context.check(clone.status === 0, `git clone works: ${clone.stderr}`);
  for (const command of ['id', "git-receive-pack '/log'", 'memd watch']) {
    const at = [...options, '-p', String(sshd.port), `${sshd.user}@127.0.0.1`, command];
    const { status, stdout, stderr } = spawnSync('ssh', at, { env, encoding: 'utf8' });
    context.check(status === 1 && stdout === '', `${command} is refused, not answered with ${status}: ${stdout}`);
    context.evidence(`ssh … ${command}: ${stderr.split('\n')[0] ?? ''}`);
  }
}

/**
 * The disk of a home is full. Every kind of write is tried on it, then it fills and empties again and again while clients
 * append and a peer has news. As root on a loop-mounted ext4, and then once more as another user; without root in a user
 * namespace on a tmpfs. `--rounds=N` (default 6), `--as-is`: no second run as another user.
 */
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { checkAgainstLedger, checkRepository } from './lib/check-log.ts';
import { startClients, type Clients } from './lib/clients.ts';
import type { DrillContext } from './lib/drill.ts';
import { formMesh, layHost, type CtlResult, type TestHost } from './lib/hosts.ts';
import { until } from './lib/live-mesh.ts';
import { killProcess, pause, processesMentioning, type DrillProcess } from './lib/process.ts';
import { mayMount, mountSmallDisk, runInNamespace, type SmallDisk } from './lib/small-disk.ts';

export const name = 'disk-full';
export const promise =
  'on a full disk every write is refused with DISK_FULL, nothing is half-written or lost, reading goes on, and all heals by itself once there is room';

const roundsDefault = 6;
const diskBytes = 64 * 1_024 * 1_024;
const everyTwoSeconds = '*/2 * * * * *';
/** Somebody who is not root. */
const nobody = 65_534;
/** A cycle of the schedule with its jitter, and then some, on a machine that is busy with others. */
const healMs = 120_000;
/** More than one commit takes, less than the bulk path writes: where it runs out is different each time. */
const leaveMax = 400_000;
const bulkEvents = 2_100;
/** Exit code of a process that was ended by SIGKILL: by this drill. */
const killed = 137;

interface Scene {
  readonly disk: SmallDisk;
  /** On an ordinary disk. */
  readonly alpha: TestHost;
  /** On the small one. */
  readonly full: TestHost;
  readonly mesh: string;
  /** Private key of the signer, on the ordinary disk. */
  readonly key: string;
}

export async function run(context: DrillContext): Promise<void> {
  const rounds = Number(context.options.get('rounds') || roundsDefault);
  if (!mayMount()) return runElsewhere(context, rounds);
  const scene = await setUp(context);
  await refuseEveryWrite(context, scene);
  await startOnIt(context, scene);
  await heal(context, scene);
  await fillAndFree(context, scene, rounds);
  if (!context.options.has('as-is')) await runAsNobody(context);
}

async function runElsewhere(context: DrillContext, rounds: number): Promise<void> {
  context.step('not root: once more in a user namespace, on a tmpfs');
  const ran = await runInNamespace(context, { drill: name, options: [`--rounds=${rounds}`, '--as-is'] });
  if ('cannot' in ran) context.skip(`not root, and ${ran.cannot}`);
  for (const line of ran.said) context.evidence(`in the namespace: ${line}`);
  context.check(ran.code === 0, 'the drill failed in the namespace');
}

/** Root is refused nothing, so what holds for it is shown for somebody else too. */
async function runAsNobody(context: DrillContext): Promise<void> {
  context.step(`the same as user ${nobody}, in a user namespace, on a tmpfs`);
  const ran = await runInNamespace(context, { drill: name, options: ['--rounds=2', '--as-is'], uid: nobody });
  if ('cannot' in ran) return context.evidence(`the variant without root was tried and cannot run here: ${ran.cannot}`);
  context.check(ran.code === 0, `as user ${nobody} it failed:\n${ran.said.join('\n')}`);
  for (const line of ran.said.filter((one) => /^(evidence|PASS)/.test(one)))
    context.evidence(`as user ${nobody}: ${line}`);
}

async function setUp(context: DrillContext): Promise<Scene> {
  const disk = mountSmallDisk(context, diskBytes);
  const folder = context.temporaryFolder();
  // Children of a memd are in groups of their own.
  context.onCleanup(() => processesMentioning(disk.folder).forEach(killProcess));
  context.step(`alpha on an ordinary disk, full on ${disk.kind} of ${diskBytes / 1_048_576} MiB; memd on both`);
  const started = (memd: DrillProcess): void => {
    context.adopt(memd);
    void memd.ended.then((code) => {
      if (code !== killed) context.step(`a memd ended by itself, exit ${code}:\n${memd.said()}`);
    });
  };
  const common = { started, sync: everyTwoSeconds };
  const alpha = await layHost({ ...common, folder, name: 'alpha' });
  const environment = {
    XDG_CONFIG_HOME: path.join(folder, 'config-full'),
    XDG_CACHE_HOME: path.join(folder, 'cache'),
    HOME: folder,
  };
  const full = await layHost({ ...common, folder: disk.folder, name: 'full', environment });
  const mesh = await formMesh([alpha, full]);
  await tell(full, 1);
  await until('alpha has the first event', async () => (await alpha.ctl('recall', 'lesson/n1')).code === 0);
  return { disk, alpha, full, mesh, key: path.join(folder, 'config', 'memd', 'operator_ed25519') };
}

async function tell(host: TestHost, n: number): Promise<void> {
  const { code, stderr } = await sayLesson(host, n);
  if (code !== 0) throw new Error(`lesson on ${host.name}: ${stderr}`);
}

function sayLesson(host: TestHost, n: number): Promise<CtlResult> {
  return host.ctl('lesson', `lesson/n${n}`, `rule ${n} of ${host.name}`);
}

/**
 * Room comes back for a moment: of a write that failed, of views that replace older ones, and when the file system commits
 * what was removed. So what found room is tried again, as another write, on a disk that was filled again.
 */
async function untilFull(
  { disk }: Scene,
  what: string,
  attempt: (tries: number) => Promise<CtlResult>,
): Promise<CtlResult> {
  let refused: CtlResult | undefined;
  let tries = 0;
  await until(`${what} is refused`, async () => {
    disk.fill();
    const said = await attempt((tries += 1));
    if (said.code === 0 && !said.stdout.includes('DISK_FULL')) return said.stdout;
    refused = said;
    return true;
  });
  if (refused === undefined) throw new Error(`${what} was never tried`);
  return refused;
}

/** Every kind of write, on a disk without a byte left. */
async function refuseEveryWrite(context: DrillContext, scene: Scene): Promise<void> {
  const { disk, alpha, full } = scene;
  context.step('the disk is full: append, bulk append, fetch, trust op, export and new keys are tried');
  const [out, other] = ['out', 'other'].map((name) => path.join(disk.folder, name)) as [string, string];
  const anew = (folder: string): void => rmSync(folder, { recursive: true, force: true });
  const writes: readonly (readonly [string, (tries: number) => Promise<CtlResult>])[] = [
    ['an append', (n) => full.ctl('lesson', `lesson/no-${n}`, `rule ${n} without room`, '--json')],
    ['a bulk append', () => appendBulk(context, full)],
    ['an export', (n) => (anew(`${out}-${n - 1}`), full.ctl('export', `${out}-${n}`, '--json'))],
    ['a signed policy', (n) => full.ctl('policy', 'set', 'drill.room', `${n}`, '--yes', '--key', scene.key, '--json')],
    [
      'a new home',
      (n) => (
        anew(`${other}-${n - 1}`),
        full.ctl('--home', `${other}-${n}`, 'host', 'request', '--host', 'other', '--json')
      ),
    ],
  ];
  for (const [what, attempt] of writes) await requireRefused(context, what, await untilFull(scene, what, attempt));
  const left = readdirSync(disk.folder).filter((name) => name.startsWith('out'));
  context.check(left.length === 0, `the export that failed left a folder: ${left.join(', ')}`);
  await alpha.json('policy', 'set', 'notify.wait', '5', '--yes');
  const fetched = await untilFull(scene, 'a fetch', async (n) => {
    await tell(alpha, n + 1);
    return full.ctl('fetch');
  });
  context.check(/DISK_FULL/.test(fetched.stdout), `fetch does not say DISK_FULL: ${fetched.stdout}${fetched.stderr}`);
  await requireAlarm(context, full);
  await requireReadable(context, full, 'memd runs');
  await untilServedFrom(alpha, 'a full host is still served from');
  context.evidence(
    'every write was refused with DISK_FULL; recall, log, search, parks, index, verify went on; alpha fetches from it',
  );
}

async function untilServedFrom(alpha: TestHost, sentence: string): Promise<void> {
  await until(sentence, async () => {
    const { stdout } = await alpha.ctl('fetch');
    return stdout.includes('full: up') || stdout;
  });
}

async function requireRefused(context: DrillContext, what: string, { code, stdout, stderr }: CtlResult): Promise<void> {
  const said = `${stdout}${stderr}`;
  context.check(code === 1 && said.includes('"DISK_FULL"'), `${what} on a full disk: exit ${code}: ${said}`);
  context.check(/free some space/.test(said), `${what} does not say what to do: ${said}`);
}

async function appendBulk(context: DrillContext, host: TestHost): Promise<CtlResult> {
  const file = path.join(context.temporaryFolder(), 'bulk.jsonl');
  const { writeFileSync } = await import('node:fs');
  const event = (n: number): string =>
    JSON.stringify({ kind: 'lesson', subject: `lesson/bulk-${n}`, content: `rule b${n}` });
  writeFileSync(file, Array.from({ length: bulkEvents }, (_, n) => event(n)).join('\n'));
  return host.ctl('append', '--file', file, '--json');
}

async function alarmsOf(host: TestHost): Promise<readonly string[]> {
  const { alarms } = await host.json<{ alarms: { kind: string; detail: string }[] }>('status');
  return alarms.map(({ kind, detail }) => `${kind}: ${detail}`);
}

async function requireAlarm(context: DrillContext, host: TestHost): Promise<void> {
  const alarms = await alarmsOf(host);
  const full = alarms.filter((alarm) => alarm.startsWith('DISK_FULL'));
  context.check(full.length === 1, `status tells of a full disk ${full.length} times: ${alarms.join('; ')}`);
  const { code, stdout } = await host.ctl('doctor');
  context.check(code === 1 && /WRONG disk/.test(stdout), `doctor does not see the full disk: ${stdout}`);
}

async function requireReadable(context: DrillContext, host: TestHost, when: string): Promise<void> {
  for (const words of ['recall lesson/n1', 'log --limit 3', 'parks', 'search rule', 'index', 'verify', 'status']) {
    const { code, stderr } = await host.ctl(...words.split(' '));
    context.check(code === 0, `memctl ${words} on a full disk (${when}): exit ${code}: ${stderr}`);
  }
}

/** SIGKILL and a start on the full disk, and commands without memd. */
async function startOnIt(context: DrillContext, { disk, full, alpha }: Scene): Promise<void> {
  context.step('memd is killed and started again on the full disk');
  await full.halt();
  await requireReadable(context, full, 'memd is gone');
  // Who closed the database last gave back the room of its journal.
  disk.fill();
  await full.start();
  disk.fill();
  await requireReadable(context, full, 'memd was started on it');
  await requireAlarm(context, full);
  await untilServedFrom(alpha, 'a host that started full is served from');
  context.evidence(
    'killed and started again without a byte of room: it serves, and answers; so do commands without it',
  );
}

/** Room comes back, and nobody does anything about it. */
async function heal(context: DrillContext, { disk, full, alpha }: Scene): Promise<void> {
  disk.free();
  const tookMs = await untilHealed(full);
  await until('what the peer said has come', async () => (await full.ctl('recall', 'lesson/n2')).code === 0, healMs);
  context.evidence(
    `with room again, the alarm was over after ${(tookMs / 1_000).toFixed(1)} s and the peer's news were there, without a restart`,
  );
  await tell(full, 3);
  await until('alpha has it', async () => (await alpha.ctl('recall', 'lesson/n3')).code === 0);
}

function untilHealed(full: TestHost): Promise<number> {
  return until('no alarm is left', async () => (await alarmsOf(full)).length === 0, healMs);
}

/** The disk runs full at another place each time, while clients append, a peer has news and memd is killed now and then. */
async function fillAndFree(context: DrillContext, scene: Scene, rounds: number): Promise<void> {
  const { disk, full, alpha } = scene;
  context.step(`${rounds} times: all room but a little is taken while 3 clients append, then given back`);
  const clients = startClients({ socket: path.join(full.home, 'memd.sock'), count: 3, random: context.random });
  for (let round = 0; round < rounds; round += 1) {
    const before = clients.ledger.acknowledged.size;
    const leave = context.random.below(leaveMax);
    disk.fill(leave);
    const bulk = round % 3 === 2 ? clients.bulk(bulkEvents) : undefined;
    await tell(alpha, 100 + round);
    await untilRefused(clients);
    const during = clients.ledger.acknowledged.size - before;
    if (round % 2 === 1) await full.restart();
    await bulk;
    disk.free();
    const tookMs = await untilHealed(full);
    const heard = `lesson/n${100 + round}`;
    await until('what the peer said has come', async () => (await full.ctl('recall', heard)).code === 0, healMs);
    const after = clients.ledger.acknowledged.size;
    await until('appends go on', async () => clients.ledger.acknowledged.size > after, healMs);
    context.step(
      `${Math.round(leave / 1_024)} KiB left: ${during} acknowledged before it was full; well after ${(tookMs / 1_000).toFixed(1)} s`,
    );
  }
  await clients.stop();
  await requireWhole(context, scene, clients);
}

/** Waits until the disk is what refuses. */
async function untilRefused({ ledger }: Clients): Promise<void> {
  ledger.lastRefusal = 'none';
  await until('an append is refused with DISK_FULL', async () => ledger.lastRefusal.startsWith('DISK_FULL'), healMs);
  await pause(300);
}

async function requireWhole(context: DrillContext, scene: Scene, { ledger }: Clients): Promise<void> {
  const { full, alpha, mesh } = scene;
  await until('both have one root', async () => {
    const [a, b] = await Promise.all([alpha, full].map((host) => host.json<{ root: string }>('status')));
    return a?.root === b?.root;
  });
  const { code, stdout } = await full.ctl('verify', '--deep');
  context.check(code === 0, `verify --deep: ${stdout}`);
  // Not killed: a file that is just being written would be left, until the next start.
  const ended = await full.stop();
  context.check(ended === 0, `memd ends with exit ${ended}`);
  const target = { name: 'memd', host: 'full', home: full.home, meshId: () => mesh } as const;
  // What was written before the clients began is not in their ledger.
  const known = new Set(readFileSync(path.join(full.home, 'logs', 'full.jsonl'), 'utf8').split('\n'));
  for (const line of known)
    if (line.includes('"rule ')) ledger.unknown.add((JSON.parse(line) as { body: { content: string } }).body.content);
  const lines = checkAgainstLedger(context, { ...target, start: unused, verify: unused }, ledger, { every: true });
  checkRepository(full.home);
  const left = leftovers(full.home);
  context.check(left.length === 0, `left behind: ${left.join(', ')}`);
  context.evidence(
    `${ledger.acknowledged.size} acknowledged events and ${lines} lines: each is there once, no gap, git fsck --strict clean, verify --deep clean, one root, no temporary file left`,
  );
}

function unused(): never {
  throw new Error('nothing is started by this');
}

/** Temporary files anywhere in a home. */
function leftovers(home: string): string[] {
  const names = readdirSync(home, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => /tmp|\.lock$|quarantine\/./.test(name) && name !== 'memd.lock');
}

/** What a host believed then: told by every other host, from the host's own signed journal. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stamped } from '../test/lib/hosts-forge.ts';
import { requireEqual } from './lib/agreement.ts';
import { startMesh, type AuthorityMesh } from './lib/authority.ts';
import type { DrillContext } from './lib/drill.ts';
import { converge, type TestHost } from './lib/hosts.ts';

export const name = 'time-travel';
export const promise =
  "every host's view at 20 recorded instants is reproduced on every other host with the signed root; late and backdated events do not leak in";

const home = ['--home', 'file:infra/FLEET.md'];
const subjects = ['ssh-route/mini', 'ssh-route/nas', 'endpoint/grafana', 'note/rack'] as const;

interface Recorded {
  readonly host: TestHost;
  readonly at: string;
  readonly root: string;
  readonly index: string;
}

interface Then {
  readonly host: string;
  readonly at: string;
  readonly root: string;
  readonly verified: boolean;
}

export async function run(context: DrillContext): Promise<void> {
  const mesh = await startMesh(context);
  const { hosts } = mesh;
  for (const host of hosts) await host.json('assert', 'note/first', '--value', host.name, ...home);
  const count = Number(context.options.get('instants') ?? 20);
  const records = await live(context, hosts, count);
  await sayLate(context, mesh);
  await converge(hosts);
  await requireEqual(context, hosts);
  await reproduce(context, hosts, records);
  await compare(context, hosts, records);
}

/** Hosts say things, contradict each other, concede, sign and learn of each other; now and then one is recorded. */
async function live(context: DrillContext, hosts: readonly TestHost[], count: number): Promise<readonly Recorded[]> {
  context.step(`the hosts write, contradict, concede and sign; ${count} instants of one host each are recorded`);
  const records: Recorded[] = [];
  const { random } = context;
  while (records.length < count) {
    const host = random.pick(hosts);
    await act(context, hosts, host);
    if (random.below(3) > 0) records.push(await record(context, random.pick(hosts)));
  }
  const roots = new Set(records.map(({ root }) => root));
  context.check(roots.size > count / 4, `the instants differ: ${roots.size} roots in ${count}`);
  const per = hosts.map((host) => `${host.name} ${records.filter((one) => one.host === host).length}`);
  context.evidence(`${count} instants (${per.join(', ')}) with ${roots.size} different roots`);
  return records;
}

async function act({ random }: DrillContext, hosts: readonly TestHost[], host: TestHost): Promise<void> {
  const subject = random.pick(subjects);
  switch (random.below(5)) {
    case 0:
      return void (await host.ctl('fetch'));
    case 1:
      return void (await host.ctl('retract', subject));
    case 2:
      // On a subject that is free of disputes of signers: what is refused changes nothing.
      return void (await hosts[0]?.ctl(
        'sign',
        subject,
        '--value',
        `signed-${random.below(3)}`,
        '--home-ref',
        'file:x',
        '--yes',
      ));
    default:
      return void (await host.ctl('assert', subject, '--value', `value-${random.below(3)}`, ...home));
  }
}

/** What is believed and shown now, by the host's own word, and the instant just after. */
async function record(context: DrillContext, host: TestHost): Promise<Recorded> {
  for (let tries = 0; tries < 50; tries += 1) {
    const before = await host.json<{ root: string }>('status');
    await host.json('index');
    const index = readFileSync(join(host.home, 'views', 'operator', 'INDEX.md'), 'utf8');
    const at = new Date().toISOString();
    // News that came in between is another instant.
    const { root } = await host.json<Then>('replay', '--at', at);
    const after = await host.json<{ root: string }>('status');
    if (before.root === root && after.root === root) return { host, at, root, index };
  }
  context.check(false, `${host.name} comes to rest`);
  throw new Error('not reached');
}

/** Events that claim to be of the time of the records, or long before, and corrections of what was believed then. */
async function sayLate(context: DrillContext, mesh: AuthorityMesh): Promise<void> {
  context.step('every host says more about the same subjects; gamma forges lines that claim to be from 2020');
  for (const host of mesh.hosts)
    for (const subject of subjects) await host.ctl('assert', subject, '--value', `late-${host.name}`, ...home);
  const { gamma } = mesh;
  const backdated = [...subjects, 'note/backdated'].map((subject) => ({
    body: stamped(gamma.home, {
      kind: 'assert',
      subject,
      value: 'backdated',
      home: 'file:x',
      at: '2020-01-01T00:00:00.000Z',
    }),
  }));
  await mesh.forge(gamma, backdated);
}

/** Every host tells every record. */
async function reproduce(
  context: DrillContext,
  hosts: readonly TestHost[],
  records: readonly Recorded[],
): Promise<void> {
  context.step(`every host replays the ${records.length} instants of all of them`);
  const start = performance.now();
  await Promise.all(
    hosts.map(async (teller) => {
      for (const one of records) await requireSame(context, teller, one);
    }),
  );
  const count = hosts.length * records.length;
  const seconds = Math.round((performance.now() - start) / 100) / 10;
  context.evidence(`${count} replays, each with the signed root and the same INDEX.md, in ${seconds} s`);
}

async function requireSame(context: DrillContext, teller: TestHost, record: Recorded): Promise<void> {
  const { host, at, root, index } = record;
  const then = await teller.json<Then>('replay', '--at', at, '--host', host.name);
  context.check(then.verified, `${teller.name} verifies the root that ${host.name} signed at ${then.at}`);
  context.check(then.root === root, `${teller.name} says root ${root} for ${host.name} at ${at}, not ${then.root}`);
  const shown = await teller.ctl('replay', '--at', at, '--host', host.name, '--index');
  context.check(shown.code === 0, `${teller.name} shows the index of ${host.name} at ${at}: ${shown.stderr}`);
  context.check(shown.stdout === index, `the index of ${host.name} at ${at} is the same bytes on ${teller.name}`);
}

/** What lies before a journal is not guessed, and what changed between two records has its event. */
async function compare(context: DrillContext, hosts: readonly TestHost[], records: readonly Recorded[]): Promise<void> {
  const [first] = records;
  const last = records.findLast(({ host }) => host === first?.host);
  const teller = hosts.find((host) => host !== first?.host);
  if (first === undefined || last === undefined || teller === undefined) return;
  const before = await teller.ctl('replay', '--at', '2020-01-01T00:00:00Z', '--host', first.host.name, '--json');
  context.check(
    before.code === 7 && before.stdout.includes('REPLAY_BEFORE'),
    'an instant before the first line of a journal is an error that says so',
  );
  const changes = await teller.json<readonly { subject: string; by: string | null }[]>(
    'diff',
    '--from',
    first.at,
    '--to',
    last.at,
    '--host',
    first.host.name,
  );
  context.check(changes.length > 0, 'a diff over the records names what changed');
  context.check(
    changes.every(({ by }) => by !== null),
    'every change has the event or op that made it',
  );
  context.evidence(`diff over the records: ${changes.length} subjects, each with the event that changed it`);
}

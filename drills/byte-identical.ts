/** The same logs give the same bytes: on every host, from nothing, and wherever the program runs. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { viewNames } from '../src/core/views/render.ts';
import { startMesh, type AuthorityMesh } from './lib/authority.ts';
import type { DrillContext } from './lib/drill.ts';
import { converge, type TestHost } from './lib/hosts.ts';
import { mixedEvents } from './lib/mixed-events.ts';

export const name = 'byte-identical';
export const promise =
  '10 000 mixed events on three hosts in random interleavings: root and every view file equal on all hosts, from nothing, and under another locale, time zone and Node version';

const execute = promisify(execFile);
const audiences = ['operator', 'crew'] as const;
const dist = fileURLToPath(new URL('../dist', import.meta.url));

/** For any Node, so not TypeScript: folds a repository from nothing with the compiled program, and prints what it shows. */
const program = `
import { createHash } from 'node:crypto';
import { pathToFileURL } from 'node:url';
// Absent from versions older than those that are supported; the rest is the same.
Map.groupBy ??= (items, keyOf) => {
  const groups = new Map();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
};
ArrayBuffer.prototype.transfer ??= function () {
  return this;
};
const [dist, repository, mesh] = process.argv.slice(1);
const load = (file) => import(pathToFileURL(dist + '/' + file).href);
const { readRepository } = await load('daemon/beliefs/snapshot.js');
const { readState } = await load('core/fold/fold.js');
const { renderViews } = await load('core/views/render.js');
const { viewSourceOf } = await load('core/views/view-source.js');
const { fold } = await readRepository({ repository, mesh, verifyEvery: false, progress: () => undefined });
const views = {};
for (const audience of fold.charter.audiences.keys())
  for (const [name, text] of renderViews(viewSourceOf(fold), { audience }))
    views[audience + '/' + name] = createHash('sha256').update(text).digest('hex');
console.log(JSON.stringify({ root: readState(fold).root, views }));
`;

/** Root and sha256 of every view file, by AUDIENCE/NAME. */
interface Shown {
  readonly root: string;
  readonly views: Readonly<Record<string, string>>;
}

export async function run(context: DrillContext): Promise<void> {
  const count = Number(context.options.get('events') ?? 10_000);
  const mesh = await startMesh(context);
  await mesh.alpha.json('audience', 'add', 'crew', '--includes', 'operator', '--yes');
  await converge(mesh.hosts);
  await write(context, mesh, count);
  const shown = await compareHosts(context, mesh);
  await fromNothing(context, mesh, shown);
  await elsewhere(context, mesh, shown);
}

/** Each host in its turn, as it comes: some events, or what others have said. */
async function write(context: DrillContext, { folder, hosts }: AuthorityMesh, count: number): Promise<void> {
  context.step(`${count} events of every kind, in batches of random size, hosts and fetches in random order`);
  const { random } = context;
  const source = mixedEvents(random);
  let [written, batches] = [0, 0];
  while (written < count) {
    const host = random.pick(hosts);
    if (random.below(4) === 0) await host.json('fetch');
    const size = Math.min(count - written, 1 + random.below(random.below(4) === 0 ? 600 : 60));
    const events = source.next(host.name, size);
    const file = join(folder, 'events.jsonl');
    writeFileSync(file, events.map((event) => `${JSON.stringify(event)}\n`).join(''));
    const { code, stdout, stderr } = await host.ctl('append', '--file', file, '--json');
    context.check(code === 0, `${host.name} appends ${size} events: ${stderr}${stdout.slice(0, 300)}`);
    const ids = stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { id: string }).id);
    source.made(host.name, events, ids);
    written += size;
    batches += 1;
  }
  await converge(hosts);
  context.evidence(`${written} events in ${batches} batches: ${source.summary()}`);
}

async function compareHosts(context: DrillContext, { hosts }: AuthorityMesh): Promise<Shown> {
  context.step('compare root and view files of the three hosts');
  const all = await Promise.all(hosts.map(shownBy));
  const [first] = all;
  if (first === undefined) throw new Error('a mesh has hosts');
  for (const [index, shown] of all.entries()) requireSame(context, first, shown, hosts[index]?.name ?? '');
  const { counts } = await hosts[0].json<{ counts: Readonly<Record<string, number>> }>('status');
  const told = Object.entries(counts).map(([what, number]) => `${number} ${what}`);
  context.evidence(
    `root ${first.root.slice(0, 16)} and ${Object.keys(first.views).length} view files equal: ${told.join(', ')}`,
  );
  return first;
}

async function shownBy(host: TestHost): Promise<Shown> {
  const { root } = await host.json<{ root: string }>('status');
  const views: Record<string, string> = {};
  for (const audience of audiences) {
    await host.json('index', '--audience', audience);
    for (const view of viewNames) views[`${audience}/${view}`] = digestOf(join(host.home, 'views', audience, view));
  }
  return { root, views };
}

function digestOf(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

function requireSame(context: DrillContext, expected: Shown, shown: Shown, where: string): void {
  context.check(shown.root === expected.root, `${where}: root ${expected.root}, not ${shown.root}`);
  for (const [view, digest] of Object.entries(expected.views))
    context.check(shown.views[view] === digest, `${where}: ${view} is the same, byte for byte`);
}

async function fromNothing(context: DrillContext, { hosts }: AuthorityMesh, expected: Shown): Promise<void> {
  context.step('make everything derived again from the repository, on every host');
  for (const host of hosts) {
    const { seconds } = await host.json<{ seconds: number }>('rebuild');
    requireSame(context, expected, await shownBy(host), `${host.name} from nothing in ${seconds} s`);
  }
  context.evidence('rebuild gives the same bytes on all three');
}

/** The same repositories, folded by processes that live elsewhere. */
async function elsewhere(context: DrillContext, { id, hosts }: AuthorityMesh, expected: Shown): Promise<void> {
  context.step('fold the repositories under other locales and time zones, and with other versions of Node');
  const settings = [
    { LC_ALL: 'tr_TR.UTF-8', LANG: 'tr_TR.UTF-8', TZ: 'Pacific/Kiritimati' },
    { LC_ALL: 'C', LANG: 'C', TZ: 'America/St_Johns' },
    { LC_ALL: 'sv_SE.UTF-8', LANG: 'sv_SE.UTF-8', TZ: 'Asia/Kathmandu' },
  ];
  for (const [index, env] of settings.entries()) {
    const host = hosts[index % hosts.length] ?? hosts[0];
    requireSame(context, expected, await foldBy(process.execPath, { host, mesh: id, env }), `${env.LC_ALL}, ${env.TZ}`);
  }
  context.evidence(settings.map(({ LC_ALL, TZ }) => `${LC_ALL} in ${TZ}`).join('; '));
  const others = otherNodes();
  for (const node of others) {
    const version = (await execute(node, ['--version'])).stdout.trim();
    requireSame(context, expected, await foldBy(node, { host: hosts[0], mesh: id, env: {} }), `Node ${version}`);
    context.evidence(`Node ${version} (${node}) gives the same bytes as ${process.version}`);
  }
  if (others.length === 0) context.evidence(`no other Node than ${process.version} on PATH: not compared with another`);
}

async function foldBy(
  node: string,
  {
    host,
    mesh,
    env,
  }: { readonly host: TestHost; readonly mesh: string; readonly env: Readonly<Record<string, string>> },
): Promise<Shown> {
  const options = { env: { ...process.env, ...env }, maxBuffer: 1_048_576, timeout: 300_000 };
  const args = ['--input-type=module', '-e', program, dist, join(host.home, 'repo.git'), mesh];
  const { stdout } = await execute(node, args, options);
  return JSON.parse(stdout) as Shown;
}

/** Every other Node on PATH, once. */
function otherNodes(): readonly string[] {
  const found = (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'node'))
    .filter(existsSync);
  const own = realpathSync(process.execPath);
  return [...new Set(found.map((file) => realpathSync(file)))].filter((file) => file !== own);
}

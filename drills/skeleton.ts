/** Three hosts, one set of beliefs: the whole path once, with real processes, real git and real ssh. */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { requireEqual, viewOn } from './lib/agreement.ts';
import type { DrillContext } from './lib/drill.ts';
import { converge, enrol, layHost, type TestHost } from './lib/hosts.ts';
import { until } from './lib/live-mesh.ts';

export const name = 'skeleton';
export const promise =
  'what three hosts say becomes one set of beliefs, a contradiction parks on all of them, and nothing unsigned ends it but its own side';

const subject = 'ssh-route/mini';
/** Unlike anything else in the index. */
const values = { beta: 'answers-7f3a', gamma: 'refuses-7f3a' } as const;
const outsideSample = fileURLToPath(new URL('../../shared/samples/claude-memory', import.meta.url));
const ownSample = fileURLToPath(new URL('../test/fixtures/claude-memory', import.meta.url));

interface Recall {
  readonly status: string;
  readonly claim?: { readonly value?: string };
  readonly claims?: readonly { readonly host: string; readonly value?: string }[];
}

export async function run(context: DrillContext): Promise<void> {
  const hosts = await threeHosts(context);
  await importSample(context, hosts);
  const sides = await splitBrain(context, hosts);
  await thirdHostTries(context, hosts, sides);
  await concede(context, hosts);
  await verifyAll(context, hosts);
  await flipBytes(context, hosts);
}

type Hosts = readonly [TestHost, TestHost, TestHost];

async function threeHosts(context: DrillContext): Promise<Hosts> {
  context.step('start alpha; enrol beta and gamma over ssh; three memd on loopback');
  const folder = context.temporaryFolder();
  const started = context.adopt;
  const lay = (host: string): Promise<TestHost> => layHost({ folder, name: host, started });
  const [alpha, beta, gamma] = await Promise.all([lay('alpha'), lay('beta'), lay('gamma')]);
  const { mesh } = await alpha.json<{ mesh: string }>('init', '--host', 'alpha', '--listen', alpha.address);
  await alpha.start();
  const added = await enrol(alpha, beta, mesh);
  await beta.start();
  await enrol(alpha, gamma, mesh);
  await gamma.start();
  await converge([alpha, beta, gamma]);
  const shown = await gamma.json<{ op: { op: string; name: string }; auth: { signer: string; valid: boolean } }>(
    'show',
    added,
  );
  context.check(
    shown.op.op === 'host-add' && shown.op.name === 'beta' && shown.auth.valid,
    'gamma shows the signed host-add of beta as valid',
  );
  context.evidence(`gamma shows host-add of beta, op ${added.slice(0, 12)}, approved by ${shown.auth.signer}, valid`);
  return [alpha, beta, gamma];
}

async function importSample(context: DrillContext, hosts: Hosts): Promise<void> {
  const sample = existsSync(outsideSample) ? outsideSample : ownSample;
  context.step(
    `import ${sample === outsideSample ? 'the sample memory folder' : 'the small copy of the sample memory (the outside one is absent)'} on alpha`,
  );
  const [alpha] = hosts;
  const first = await alpha.json<{ new: number; skipped: { what: string; why: string }[] }>('import', sample);
  const again = await alpha.json<{ new: number; unchanged: number }>('import', sample);
  context.check(first.new > 0 && first.skipped.length > 0, 'something is imported, and what is damaged is named');
  context.check(again.new === 0 && again.unchanged === first.new, 'a second import changes nothing');
  context.evidence(`${first.new} imported, ${first.skipped.length} skipped with reasons, second run ${again.new} new`);
}

async function splitBrain(context: DrillContext, hosts: Hosts): Promise<readonly string[]> {
  context.step('beta and gamma write opposite facts about one route');
  const [, beta, gamma] = hosts;
  const sides: string[] = [];
  for (const [host, value] of [
    [beta, values.beta],
    [gamma, values.gamma],
  ] as const) {
    const { id } = await host.json<{ id: string }>(
      'assert',
      subject,
      '--value',
      value,
      '--home',
      'file:infra/FLEET.md#mini',
    );
    sides.push(id);
  }
  await converge(hosts);
  await requireParked(context, hosts);
  await requireEqual(context, hosts);
  return sides;
}

async function requireParked(context: DrillContext, hosts: Hosts): Promise<void> {
  for (const host of hosts) {
    const { code, stdout } = await host.ctl('recall', subject, '--json');
    const answer = JSON.parse(stdout) as Recall;
    const named = (answer.claims ?? [])
      .map((claim) => `${claim.host}=${claim.value}`)
      .sort()
      .join(' ');
    context.check(
      code === 3 && answer.status === 'parked',
      `${host.name} answers parked with exit 3, not ${answer.status} with ${code}`,
    );
    context.check(named === `beta=${values.beta} gamma=${values.gamma}`, `${host.name} names both sides, not ${named}`);
    context.check(answer.claim === undefined, `${host.name} serves neither side`);
    // The file comes behind the answer, and nobody asks for it.
    await until(`the index of ${host.name} names the unresolved subject, and neither value`, async () => {
      const index = viewOn(host, 'INDEX.md');
      const said = [values.beta, values.gamma].filter((value) => index.includes(value));
      return (index.includes(subject) && said.length === 0) || `says ${said.join(' and ') || 'nothing of it'}`;
    });
  }
  context.evidence('parked on alpha, beta and gamma; both sides named; neither served');
}

async function thirdHostTries(context: DrillContext, hosts: Hosts, sides: readonly string[]): Promise<void> {
  context.step('alpha, unsigned, supersedes both sides with an answer of its own');
  const [alpha] = hosts;
  await alpha.json('retract', subject, '--supersedes', sides.join(','));
  await alpha.json('decide', subject, 'it answers', '--supersedes', sides.join(','));
  await converge(hosts);
  await requireParked(context, hosts);
  await requireEqual(context, hosts);
  context.evidence('a retraction and a decision by a third host changed nothing');
}

async function concede(context: DrillContext, hosts: Hosts): Promise<void> {
  context.step('gamma retracts its own side');
  const [, , gamma] = hosts;
  await gamma.json('retract', subject, 'measured from the wrong network');
  await converge(hosts);
  for (const host of hosts) {
    const answer = await host.json<Recall>('recall', subject);
    context.check(
      answer.status === 'served' && answer.claim?.value === values.beta,
      `${host.name} serves the side that is left`,
    );
  }
  await requireEqual(context, hosts);
  context.evidence(`served again on all three: ${values.beta}`);
}

interface Verified {
  readonly ok: boolean;
  readonly problems: readonly string[];
}

async function verifyDeep(host: TestHost): Promise<Verified> {
  return JSON.parse((await host.ctl('verify', '--deep', '--json')).stdout) as Verified;
}

async function verifyAll(context: DrillContext, hosts: Hosts): Promise<void> {
  context.step('verify --deep on every host');
  for (const host of hosts) {
    const { ok, problems } = await verifyDeep(host);
    context.check(ok, `${host.name} is clean: ${problems.join('; ')}`);
  }
  context.evidence('clean on all three');
}

/** One byte in an object, in the database, in a plain copy: each must be named, and each put right again afterwards. */
async function flipBytes(context: DrillContext, hosts: Hosts): Promise<void> {
  const [alpha, beta, gamma] = hosts;
  context.step('flip one byte of a git object on alpha, of the database on beta, of a plain copy on gamma');
  const object = looseObjects(join(alpha.home, 'repo.git', 'objects')).at(0) ?? '';
  const repair = { file: object, offset: Math.floor(statSync(object).size / 2) };
  await requireNamed(context, alpha, {
    ...repair,
    names: object.split('/').slice(-2).join(''),
    repair: () => flipByte(repair),
  });
  const copy = join(gamma.home, 'logs', 'beta.jsonl');
  await requireNamed(context, gamma, {
    file: copy,
    offset: readFileSync(copy).indexOf(values.beta),
    names: 'logs/beta.jsonl',
    repair: () => gamma.ctl('rebuild'),
  });
  const database = join(beta.home, 'state.sqlite');
  emptyJournal(context, database);
  const at = readFileSync(database).lastIndexOf(values.beta);
  await requireNamed(context, beta, {
    file: database,
    offset: at < 0 ? at : at + 2,
    names: 'state.sqlite',
    repair: () => beta.ctl('rebuild'),
  });
}

/** What memd has written stands in the file itself afterwards. */
function emptyJournal(context: DrillContext, database: string): void {
  const opened = new Database(database);
  const [said] = opened.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
  opened.close();
  context.check(said?.busy === 0, 'the journal of the database is taken in');
}

interface Place {
  readonly file: string;
  readonly offset: number;
}

interface Flip extends Place {
  /** Text by which the report must name it. */
  readonly names: string;
  /** Derived files are made again; an object can only be put back. */
  readonly repair: () => unknown;
}

function flipByte({ file, offset }: Place): void {
  const { mode } = statSync(file);
  const bytes = readFileSync(file);
  bytes[offset] = (bytes[offset] ?? 0) ^ 0x01;
  writeFileSync(file, bytes, { mode });
}

async function requireNamed(
  context: DrillContext,
  host: TestHost,
  { file, offset, names, repair }: Flip,
): Promise<void> {
  context.check(offset > 0, `the byte to flip is found in ${file}`);
  flipByte({ file, offset });
  const { ok, problems } = await verifyDeep(host);
  const named = problems.find((problem) => problem.includes(names));
  context.check(!ok && named !== undefined, `${host.name} names ${names}: ${problems.join('; ')}`);
  context.evidence(`${host.name}: ${named.slice(0, 140).replaceAll(host.home, '~')}`);
  await repair();
  const after = await verifyDeep(host);
  context.check(after.ok, `${host.name} is clean again: ${after.problems.join('; ')}`);
}

function looseObjects(objects: string): string[] {
  const folders = readdirSync(objects).filter((folder) => /^[0-9a-f]{2}$/.test(folder));
  return folders.flatMap((folder) => readdirSync(join(objects, folder)).map((file) => join(objects, folder, file)));
}

/** What a host with its own key, and anybody with a wrong key, can put into a log: nothing of it is served anywhere. */
import type { JsonObject } from '../src/crypto/canonical.ts';
import { requireEqual } from './lib/agreement.ts';
import { stamped, type Forged } from '../test/lib/hosts-forge.ts';
import {
  alarmsOf,
  approvalBy,
  eventOf,
  lineIn,
  makePerson,
  requireAlarm,
  requireServed,
  requireWithheld,
  signOnAlpha,
  startMesh,
  type AuthorityMesh,
} from './lib/authority.ts';
import type { DrillContext } from './lib/drill.ts';
import { converge, layHost, type TestHost } from './lib/hosts.ts';
import { plantTrustFile, weakHostLine, weakKeyText, weakSignerOp } from './lib/weak-key.ts';

export const name = 'forged';
export const promise =
  'a forged, transplanted, foreign, weak or revoked approval makes nothing true on any host, and every attempt is alarmed';

/** What gamma tries, each on a subject of its own. */
interface Attempt {
  readonly what: string;
  readonly subject: string;
  readonly forged: Forged;
  readonly alarm: string;
}

export async function run(context: DrillContext): Promise<void> {
  const mesh = await startMesh(context);
  const truth = await signTruth(context, mesh);
  await forgeApprovals(context, mesh, truth);
  await replay(context, mesh, truth);
  await junkOnOthers(context, mesh, truth);
  await revokedSigner(context, mesh);
  await weakKeys(context, mesh);
  await requireEqual(context, mesh.hosts);
}

interface Truth {
  /** `note/route` says bastion, by craig; replaced v1, which he had withdrawn before. */
  readonly first: Forged;
  readonly retraction: Forged;
  readonly served: Forged;
}

function claim(subject: string, value: string, over: JsonObject = {}): JsonObject {
  return { kind: 'assert', subject, value, home: 'file:infra/FLEET.md', ...over };
}

async function signTruth(context: DrillContext, mesh: AuthorityMesh): Promise<Truth> {
  context.step('craig signs v1 on alpha, withdraws it, and signs v2 in place of the withdrawal');
  const home = ['--home-ref', 'file:infra/FLEET.md'];
  const first = await signOnAlpha(mesh, 'note/route', '--value', 'v1', ...home);
  const retraction = await signOnAlpha(mesh, 'note/route', '--retract', '--supersedes', first);
  const served = await signOnAlpha(mesh, 'note/route', '--value', 'v2', ...home, '--supersedes', retraction);
  await converge(mesh.hosts);
  await requireServed(context, mesh.hosts, { subject: 'note/route', value: 'v2' });
  context.evidence('v2 is served, signed, on alpha, beta and gamma');
  const line = (id: string): Forged => lineIn(mesh.alpha, id);
  return { first: line(first), retraction: line(retraction), served: line(served) };
}

async function forgeApprovals(context: DrillContext, mesh: AuthorityMesh, truth: Truth): Promise<void> {
  const attempts = await attemptsOf(context, mesh, truth);
  context.step(`gamma appends, with its own key: ${attempts.map(({ what }) => what).join(', ')}`);
  await mesh.forge(
    mesh.gamma,
    attempts.map(({ forged }) => forged),
  );
  await converge(mesh.hosts);
  for (const { what, subject, alarm } of attempts) {
    await requireWithheld(context, mesh.hosts, { subject, status: ['held'] });
    const detail = await requireAlarm(context, mesh.hosts, { kind: alarm, subject });
    context.evidence(`${what}: held on all three, alarm ${alarm} ${subject}: ${detail}`);
  }
  await requireServed(context, mesh.hosts, { subject: 'note/route', value: 'v2' });
  await requireEqual(context, mesh.hosts);
}

async function attemptsOf(context: DrillContext, mesh: AuthorityMesh, truth: Truth): Promise<readonly Attempt[]> {
  const { craig, gamma, folder } = mesh;
  const mallory = makePerson(folder, 'mallory');
  const evil = (subject: string): JsonObject => stamped(gamma.home, claim(subject, 'evil'));
  const attempt = (what: string, alarm: string, make: (body: JsonObject) => Forged['auth']): Attempt => {
    const subject = `note/${what.replaceAll(' ', '-')}`;
    const body = evil(subject);
    const auth = make(body);
    return { what, subject, alarm, forged: auth === undefined ? { body } : { body, auth } };
  };
  const other = await foreignMesh(context, mesh);
  const otherAuth = approvalBy(craig, stamped(other.home, claim('note/x', 'said elsewhere')));
  const foreignBody = stamped(other.home, claim('note/foreign-mesh', 'said elsewhere'));
  return [
    attempt('forged approval', 'FORGED', (body) => approvalBy(mallory, body, { as: craig })),
    attempt('stranger', 'UNVERIFIABLE', (body) => approvalBy(mallory, body)),
    attempt('tampered body', 'FORGED', (body) => approvalBy(craig, { ...body, value: 'harmless' })),
    attempt('transplanted approval', 'FORGED', () => truth.served.auth),
    attempt('namespace of trust ops', 'FORGED', (body) => approvalBy(craig, body, { namespace: 'memd-trust' })),
    attempt('namespace of files', 'FORGED', (body) => approvalBy(craig, body, { namespace: 'file' })),
    attempt('approval of another mesh', 'FORGED', () => otherAuth),
    {
      what: 'foreign mesh',
      subject: 'note/foreign-mesh',
      alarm: 'FOREIGN_MESH',
      forged: { body: foreignBody, auth: approvalBy(craig, foreignBody) },
    },
  ];
}

/** Another mesh with the same signer: what he says there is none of our business. */
async function foreignMesh(context: DrillContext, mesh: AuthorityMesh): Promise<{ readonly home: string }> {
  const elsewhere = await layHost({ folder: mesh.folder, name: 'elsewhere', started: context.adopt });
  const { craig } = mesh;
  const signer = ['--signer', `${craig.file}.pub`, '--as', 'craig', '--key', craig.file];
  await elsewhere.json('init', '--host', 'gamma', '--listen', elsewhere.address, ...signer);
  return elsewhere;
}

async function replay(context: DrillContext, mesh: AuthorityMesh, truth: Truth): Promise<void> {
  context.step('gamma appends again what craig had withdrawn, and the withdrawal that he had replaced');
  const before = await mesh.alpha.json<{ counts: { alarms: number } }>('status');
  await mesh.forge(mesh.gamma, [truth.first, truth.retraction, truth.first]);
  await converge(mesh.hosts);
  await requireServed(context, mesh.hosts, { subject: 'note/route', value: 'v2' });
  const after = await mesh.alpha.json<{ counts: { alarms: number } }>('status');
  context.check(before.counts.alarms === after.counts.alarms, 'a replay is the same event and raises nothing');
  await requireEqual(context, mesh.hosts);
  context.evidence('the same events, so nothing changes: v1 stays withdrawn, v2 stays served');
}

async function junkOnOthers(context: DrillContext, mesh: AuthorityMesh, truth: Truth): Promise<void> {
  context.step("gamma appends others' events with junk as their approval, signed ones and unsigned ones");
  const { id } = await mesh.beta.json<{ id: string }>(
    'assert',
    'note/of-beta',
    '--value',
    'by beta',
    '--home',
    'file:notes.md',
  );
  await converge(mesh.hosts);
  const event = await eventOf(mesh.beta, id);
  const junk = { ...approvalBy(mesh.craig, { junk: true }) };
  await mesh.forge(mesh.gamma, [{ body: event, auth: junk }, { body: truth.served.body, auth: junk }, { body: event }]);
  await converge(mesh.hosts);
  await requireServed(context, mesh.hosts, { subject: 'note/of-beta', value: 'by beta' });
  await requireServed(context, mesh.hosts, { subject: 'note/route', value: 'v2' });
  for (const subject of ['note/of-beta', 'note/route']) {
    const detail = await requireAlarm(context, mesh.hosts, { kind: 'FORGED', subject });
    context.evidence(`${subject} stays served; the line counts for nothing: FORGED ${detail}`);
  }
}

/** dana signs, is revoked, and goes on signing: before the marks it stands, behind them nothing does, whatever time it claims. */
async function revokedSigner(context: DrillContext, mesh: AuthorityMesh): Promise<void> {
  const { alpha, beta, gamma, hosts, folder } = mesh;
  context.step("dana signs on beta; her key is stolen; craig revokes her; the thief's approvals go into three logs");
  const dana = makePerson(folder, 'dana');
  await alpha.json('signer', 'add', `${dana.file}.pub`, '--as', 'dana', '--scopes', 'note/*', '--yes');
  await converge(hosts);
  const home = ['--home-ref', 'file:notes.md'];
  await beta.json('sign', 'note/by-dana', '--value', 'v1', ...home, '--key', dana.file, '--yes');
  await converge(hosts);
  await requireServed(context, hosts, { subject: 'note/by-dana', value: 'v1' });
  // gamma has not heard of the revocation when it takes the first one: the marks say what was held where, not when.
  const evil = (host: TestHost, subject: string): Forged => {
    const body = stamped(host.home, claim(subject, 'evil', { at: '2020-01-01T00:00:00.000Z' }));
    return { body, auth: approvalBy(dana, body) };
  };
  // Nor is it said whether alpha has heard of that line by then: the marks are named.
  const { hosts: logs } = await alpha.json<{ hosts: { host: string; seq: number }[] }>('charter');
  const marks = logs.map(({ host, seq }) => `${host}:${seq}`).join(',');
  await mesh.forge(gamma, [evil(gamma, 'note/unheard')]);
  await alpha.json('signer', 'revoke', 'dana', '--marks', marks, '--yes');
  await converge(hosts);
  await mesh.forge(beta, [evil(beta, 'note/after-on-beta')]);
  await mesh.forge(gamma, [evil(gamma, 'note/after-on-gamma')]);
  await converge(hosts);
  await requireServed(context, hosts, { subject: 'note/by-dana', value: 'v1' });
  for (const subject of ['note/unheard', 'note/after-on-beta', 'note/after-on-gamma']) {
    await requireWithheld(context, hosts, { subject, status: ['held'] });
    const detail = await requireAlarm(context, hosts, { kind: 'REVOKED', subject });
    context.evidence(`${subject}: held on all three, alarm REVOKED: ${detail}`);
  }
  const refused = await beta.ctl('sign', 'note/x', '--value', 'x', ...home, '--key', dana.file, '--yes', '--json');
  context.check(refused.code === 6, `memctl sign refuses her key: exit ${refused.code} ${refused.stdout}`);
  const again = await beta.ctl('class', 'add', 'mine', '--key', dana.file, '--yes', '--json');
  context.check(again.code === 6, `and she cannot change the charter: exit ${again.code} ${again.stdout}`);
  await requireEqual(context, hosts);
  context.evidence('what dana signed before the marks is served on; her key signs nothing any more');
}

async function weakKeys(context: DrillContext, mesh: AuthorityMesh): Promise<void> {
  const { alpha, gamma, craig } = mesh;
  context.step('a key of small order as host, as signer, and in an op that craig really signed');
  const host = await alpha.ctl('host', 'add', weakHostLine(), '--yes', '--json');
  context.check(host.code !== 0, `a weak host key is refused: ${host.stdout}`);
  const message = (JSON.parse(host.stdout) as { error: { message: string } }).error.message;
  context.evidence(`host add: exit ${host.code}: ${message}`);
  await plantWeakOp(context, mesh);
  await gamma.json('class', 'add', 'tool', '--key', craig.file);
  await alpha.json('fetch');
  await mesh.beta.json('fetch');
  for (const one of [alpha, mesh.beta]) {
    const charter = await one.json<{ signers: { name: string }[]; classes: { name: string }[] }>('charter');
    context.check(!charter.signers.some((signer) => signer.name === 'weak'), `${one.name} has no signer with that key`);
    context.check(
      charter.classes.some((item) => item.name === 'tool'),
      `${one.name} took the good op beside it`,
    );
    const alarms = await alarmsOf(one);
    const told = alarms.find(({ kind }) => kind === 'TRUST_OP');
    const listed = alarms.map(({ kind, detail }) => `${kind} ${detail}`).join('; ');
    context.check(told?.detail.includes('gamma') === true, `${one.name} tells who serves the bad op: ${listed}`);
    context.evidence(`${one.name}: ${told.kind} ${told.detail}`);
  }
}

async function plantWeakOp(context: DrillContext, mesh: AuthorityMesh): Promise<void> {
  const op = weakSignerOp(mesh.id, mesh.craig);
  await mesh.gamma.stop();
  plantTrustFile(mesh.gamma.home, op);
  await mesh.gamma.start();
  context.evidence(
    `gamma serves signer-add ${op.id.slice(0, 12)} of ${weakKeyText().slice(0, 40)}…, approved by craig`,
  );
}

/** What a person signed: no unsigned and no delegated word of another host changes what is served. */
import type { JsonObject } from '../src/crypto/canonical.ts';
import { requireEqual } from './lib/agreement.ts';
import { stamped } from '../test/lib/hosts-forge.ts';
import {
  alarmsOf,
  lineIn,
  recall,
  requireAlarm,
  requireServed,
  signOnAlpha,
  startMesh,
  type AuthorityMesh,
} from './lib/authority.ts';
import type { DrillContext } from './lib/drill.ts';
import { converge, type TestHost } from './lib/hosts.ts';

export const name = 'signed-truth';
export const promise =
  'signed truth is served on every host whatever unsigned and delegated hosts say against it; each attempt parks and alarms once';

const truth = 'bastion';
const home = ['--home', 'file:infra/FLEET.md'];

/** One way to go against what craig signed. */
interface Attempt {
  readonly what: string;
  readonly alarm: string;
  /** Says it on `host`; `target` is the signed claim. */
  readonly say: (host: TestHost, subject: string, target: string) => Promise<{ readonly id: string }>;
}

const attempts: readonly Attempt[] = [
  {
    what: 'contradiction',
    alarm: 'UNSIGNED_CONTRADICTS_SIGNED',
    say: (host, subject) => host.json('assert', subject, '--value', 'direct', ...home),
  },
  {
    what: 'supersession',
    alarm: 'UNSIGNED_OVER_SIGNED',
    say: (host, subject, target) =>
      host.json('assert', subject, '--value', 'direct', ...home, '--supersedes', target, '--confidence', 'verified'),
  },
  {
    what: 'retraction',
    alarm: 'UNSIGNED_OVER_SIGNED',
    say: (host, subject, target) => host.json('retract', subject, '--supersedes', target),
  },
];

export async function run(context: DrillContext): Promise<void> {
  const mesh = await startMesh(context);
  await goAgainst(context, mesh, { host: mesh.beta, as: 'unsigned' });
  await delegate(context, mesh);
  await goAgainst(context, mesh, { host: mesh.beta, as: 'delegated' });
  await otherWays(context, mesh);
  await revive(context, mesh);
  await settlePark(context, mesh);
  await requireEqual(context, mesh.hosts);
}

/** Each attempt, by one host, on a subject of its own. */
async function goAgainst(
  context: DrillContext,
  mesh: AuthorityMesh,
  { host, as }: { readonly host: TestHost; readonly as: string },
): Promise<void> {
  context.step(`craig signs three routes; ${host.name}, ${as}, contradicts one, supersedes one, retracts one`);
  const subjects = attempts.map(({ what }) => `ssh-route/${as}-${what}`);
  const signed: string[] = [];
  for (const subject of subjects) signed.push(await sign(mesh, subject, truth));
  await converge(mesh.hosts);
  for (const subject of subjects) await requireServed(context, mesh.hosts, { subject, value: truth });
  const before = await countAlarms(mesh);
  const said: string[] = [];
  for (const [index, { say }] of attempts.entries())
    said.push((await say(host, subjects[index] ?? '', signed[index] ?? '')).id);
  await converge(mesh.hosts);
  for (const [index, { what, alarm }] of attempts.entries()) {
    const subject = subjects[index] ?? '';
    await requireServed(context, mesh.hosts, { subject, value: truth, status: ['served', 'contested'] });
    await requireAlarm(context, mesh.hosts, { kind: alarm, subject });
    for (const one of mesh.hosts) {
      const { claim, code } = await recall(one, subject);
      context.check(claim?.level === 'signed' && code === 0, `${one.name} answers ${subject} with the signed claim`);
      const attempt = await one.json<{ status: string; level: string }>('show', said[index] ?? '');
      context.check(attempt.status === 'parked', `${one.name} parks the attempt, not ${attempt.status}`);
      context.check(attempt.level === as, `the attempt is ${as}, not ${attempt.level}`);
    }
    context.evidence(`${as} ${what}: ${truth} is served on all three; alarm ${alarm} ${subject}`);
  }
  const after = await countAlarms(mesh);
  const more = after.map((count, index) => count - (before[index] ?? 0));
  context.check(
    more.every((count) => count === attempts.length),
    `exactly one alarm per attempt on each host, not ${more.join(', ')} more`,
  );
  await requireEqual(context, mesh.hosts);
}

/** A body of its own for each voice. */
function claimOf(subject: string, value: string, over: JsonObject = {}): JsonObject {
  return { kind: 'assert', subject, value, home: 'file:infra/FLEET.md', ...over };
}

/** craig says what is so. */
function sign(mesh: AuthorityMesh, about: string, value: string): Promise<string> {
  return signOnAlpha(mesh, about, '--value', value, '--home-ref', 'file:infra/FLEET.md');
}

async function countAlarms(mesh: AuthorityMesh): Promise<readonly number[]> {
  return Promise.all(mesh.hosts.map(async (host) => (await alarmsOf(host)).length));
}

/** beta's next lines outrank unsigned ones, and nothing else. */
async function delegate(context: DrillContext, mesh: AuthorityMesh): Promise<void> {
  const { alpha, beta, gamma, hosts } = mesh;
  context.step(
    'craig delegates the next 200 lines of beta; beta outranks gamma on ssh-route/*, and not on other subjects',
  );
  const subjects = ['--subjects', 'ssh-route/*', '--kinds', 'assert,retract', '--lines', '200'];
  await alpha.json('signer', 'delegate', 'beta', ...subjects, '--yes');
  await converge(hosts);
  for (const subject of ['ssh-route/lent', 'note/not-lent']) {
    await beta.json('assert', subject, '--value', 'beta', ...home);
    await gamma.json('assert', subject, '--value', 'gamma', ...home);
  }
  await converge(hosts);
  await requireServed(context, hosts, { subject: 'ssh-route/lent', value: 'beta', status: ['contested'] });
  for (const host of hosts) {
    const { claim } = await recall(host, 'ssh-route/lent');
    context.check(claim?.level === 'delegated', `${host.name} says delegated, not ${claim?.level}`);
    const { status } = await recall(host, 'note/not-lent');
    context.check(status === 'parked', `${host.name} parks what was not lent, not ${status}`);
  }
  context.evidence('ssh-route/lent: beta is served, delegated, contested by gamma; note/not-lent is parked');
}

/** Edges from elsewhere, questions, decisions, pins, a flood: noise, and no more. */
async function otherWays(context: DrillContext, mesh: AuthorityMesh): Promise<void> {
  const { beta, gamma, hosts } = mesh;
  const subject = 'ssh-route/other-ways';
  context.step('beta and gamma try an edge from another subject, a decision, a narrower scope, and forty voices');
  const target = await sign(mesh, subject, truth);
  await converge(hosts);
  await beta.json('retract', 'note/elsewhere', '--supersedes', target);
  await beta.json('decide', subject, 'go direct', '--supersedes', target);
  await gamma.json('assert', subject, '--value', 'direct', ...home, '--scope', 'office');
  for (const host of [beta, gamma]) {
    const voices = Array.from({ length: 20 }, (_, index) => claimOf(subject, 'direct', { session: `s${index}` }));
    await mesh.forge(
      host,
      voices.map((fields) => ({ body: stamped(host.home, fields) })),
    );
  }
  await converge(hosts);
  await requireServed(context, hosts, { subject, value: truth, status: ['contested'] });
  context.evidence(`${truth} is served on all three; 41 claims park beside it`);
}

/** What a signer withdrew stays withdrawn. */
async function revive(context: DrillContext, mesh: AuthorityMesh): Promise<void> {
  const subject = 'ssh-route/withdrawn';
  context.step('craig withdraws a route for good; beta says it again, in its own words and as a copy');
  const id = await sign(mesh, subject, 'telnet');
  await signOnAlpha(mesh, subject, '--retract', '--supersedes', id);
  await converge(mesh.hosts);
  await mesh.beta.json('assert', subject, '--value', 'telnet', ...home);
  const first = lineIn(mesh.alpha, id);
  await mesh.forge(mesh.beta, [first, { body: first.body }]);
  await converge(mesh.hosts);
  for (const host of mesh.hosts) {
    const { claim, status } = await recall(host, subject);
    context.check(claim === undefined && status === 'parked', `${host.name} parks the revived claim, not ${status}`);
  }
  await requireAlarm(context, mesh.hosts, { kind: 'WITHDRAWN_KEY', subject });
  context.evidence('parked alone on all three, alarm WITHDRAWN_KEY; the copy is the same withdrawn event');
}

/** A signed decision ends a park, once, everywhere. */
async function settlePark(context: DrillContext, mesh: AuthorityMesh): Promise<void> {
  const subject = 'endpoint/parked';
  const { alpha, beta, gamma, hosts } = mesh;
  context.step('beta and gamma disagree; alpha, unsigned, cannot end it; craig does, once');
  const sides = [
    await beta.json<{ id: string }>('assert', subject, '--value', 'direct', ...home),
    await gamma.json<{ id: string }>('assert', subject, '--value', 'tunnel', ...home),
  ].map(({ id }) => id);
  await converge(hosts);
  await alpha.json('assert', subject, '--value', truth, ...home, '--supersedes', sides.join(','));
  await converge(hosts);
  for (const host of hosts)
    context.check((await recall(host, subject)).status === 'parked', `${host.name} still parks`);
  await signOnAlpha(mesh, subject, '--accept', sides[0] ?? '');
  await converge(hosts);
  await requireServed(context, hosts, { subject, value: 'direct' });
  const parks = await Promise.all(hosts.map((host) => host.json<{ subject: string }[]>('parks')));
  context.check(
    parks.flat().every((park) => park.subject !== subject),
    'no host lists the park any more',
  );
  context.evidence(`${sides.length + 1} sides, one signed word: served on all three, the park is gone`);
}

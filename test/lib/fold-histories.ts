/**
 * Random hostile histories for the fold, drawn from one seed: three hosts, two signers of everything (craig, and dana, who
 * may be revoked), one of note/two only (bob), bad approvals, other hosts' bodies re-appended, untrusted lineage,
 * observations that move, bodies that cannot be read. Kinds of attack as in the design's fold-attacks prototype. What
 * the charter says of them: fold-charters.ts.
 */
import type { Body, Kind } from '../../src/core/event.ts';
import { eventId } from '../../src/core/event.ts';
import type { FoldLine } from '../../src/core/fold/fold.ts';
import { fakeLine, meshId, type Carriage } from './fold-builders.ts';

export type Random = () => number;

export const hosts = ['alpha', 'beta', 'gamma'] as const;
export const subjects = ['note/one', 'note/two', 'policy/one'] as const;
export const scopes = ['*', 'web', 'api'] as const;

/** One line to be: replayable, and shrinkable by leaving lines out. */
export interface Step {
  readonly log: string;
  readonly body: Body;
  readonly carriage: Carriage;
}

export function pick<T>(random: Random, list: readonly T[]): T {
  const found = list[Math.floor(random() * list.length)];
  if (found === undefined) throw new Error('nothing to pick from');
  return found;
}

/** Lines of the steps, numbered per log in the order given. */
export function linesOf(steps: readonly Step[]): readonly FoldLine[] {
  const seqs = new Map<string, number>();
  return steps.map(({ log, body, carriage }) => {
    const seq = (seqs.get(log) ?? 0) + 1;
    seqs.set(log, seq);
    return fakeLine({ log, seq }, body, carriage);
  });
}

/** 3 to 16 steps: hosts at odds with each other, or building on each other, or on what they saw. */
export function randomHistory(random: Random): readonly Step[] {
  const dice = random();
  if (dice < 0.2) return friendlyHistory(random);
  return dice < 0.3 ? observantHistory(random) : hostileHistory(random);
}

/** Homes that move, and claims that cite what was seen of them; some sightings are approved, or shown by others. */
function observantHistory(random: Random): readonly Step[] {
  const steps: Step[] = [];
  const count = 4 + Math.floor(random() * 9);
  for (let index = 0; index < count; index += 1) {
    const host = pick(random, hosts.slice(0, 2));
    const again = steps.length > 0 && random() < 0.2 ? pick(random, steps).body : undefined;
    const seen = steps.map(({ body }) => body).filter(({ kind }) => kind !== 'retract');
    const isSight = again === undefined && random() < 0.55;
    const fields: Record<string, unknown> = {
      ...randomBody(random, host, [], 'note/one'),
      kind: isSight ? 'observe' : 'assert',
      nonce: index.toString(16).padStart(32, '0'),
    };
    for (const name of ['scope', 'audience', 'polarity', 'content', 'value', 'home', 'digest', 'supersedes'])
      delete fields[name];
    if (isSight) Object.assign(fields, { home: 'file:a', digest: pick(random, ['d0', 'd1']) });
    else Object.assign(fields, { value: pick(random, ['v0', 'v1']), basis: idsOf(random, seen, 2) });
    if (isSight) delete fields['lineage'];
    const body = again ?? (fields as unknown as Body);
    steps.push({ log: again === undefined ? host : pick(random, hosts), body, carriage: approvalOf(random) });
  }
  return steps;
}

/** Every claim supersedes some of the last ones, whoever made them: long, branching chains of revisions. */
function friendlyHistory(random: Random): readonly Step[] {
  const steps: Step[] = [];
  const count = 4 + Math.floor(random() * 12);
  for (let index = 0; index < count; index += 1) {
    const recent = steps.slice(-4).map(({ body }) => body);
    const host = pick(random, hosts);
    const body = { ...randomBody(random, host, [], 'note/one'), nonce: index.toString(16).padStart(32, '0') } as Record<
      string,
      unknown
    >;
    if (random() < 0.85) for (const name of ['scope', 'audience', 'lineage', 'polarity', 'content']) delete body[name];
    if (body['kind'] === 'assert' || body['kind'] === 'lesson')
      body['value'] = `v${Math.floor(index / 3) + Math.floor(random() * 2)}`;
    const over = idsOf(random, recent, 1 + Math.floor(random() * 3));
    if (over.length > 0 && !bare.includes(body['kind'] as Kind)) body['supersedes'] = over;
    steps.push({
      log: host,
      body: body as unknown as Body,
      carriage: random() < 0.07 ? { sign: pick(random, ['craig', 'dana']) } : {},
    });
  }
  return steps;
}

function hostileHistory(random: Random): readonly Step[] {
  const steps: Step[] = [];
  const known: Body[] = [];
  const count = 3 + Math.floor(random() * 14);
  for (let index = 0; index < count; index += 1) {
    const host = pick(random, hosts);
    if (random() < 0.12 && known.length > 0) {
      steps.push({ log: host, body: pick(random, known), carriage: randomCarriage(random) });
      continue;
    }
    const body = randomBody(
      random,
      host,
      known.filter(() => random() < 0.75),
    );
    known.push(body);
    // Now and then an event is named before, or without, being shown.
    if (random() < 0.04) continue;
    steps.push({ log: host, body, carriage: body.kind === 'observe' && random() < 0.8 ? {} : approvalOf(random) });
  }
  return steps;
}

/**
 * 15 to 45 events on one subject, in `*` and in five scopes of their own, of few values: lists that are cut, keys that meet in
 * many scopes, and claims of `*` that many scopes park, serve, take away and say again.
 */
export function crowdedHistory(random: Random): readonly Step[] {
  const steps: Step[] = [];
  const known: Body[] = [];
  const [wideShare, signedShare, values] = [random(), random() * 0.5, 1 + Math.floor(random() * 5)];
  for (let left = 15 + Math.floor(random() * 31); left > 0; left -= 1) {
    const host = pick(random, hosts);
    const fields = { ...randomBody(random, host, known, 'note/one') } as unknown as Record<string, unknown>;
    delete fields['scope'];
    if (random() > wideShare) fields['scope'] = pick(random, ['a', 'b', 'c', 'd', 'e']);
    if (fields['value'] !== undefined) fields['value'] = `v${Math.floor(random() * values)}`;
    // Most stand alone: chains of revisions have histories of their own.
    if (fields['kind'] !== 'retract' && random() < 0.7) delete fields['supersedes'];
    if (fields['kind'] === 'assert' && random() < 0.15) fields['lineage'] = 'untrusted';
    const body = fields as unknown as Body;
    known.push(body);
    steps.push({ log: host, body, carriage: random() < signedShare ? { sign: 'craig' } : approvalOf(random) });
  }
  return steps;
}

/** 1 to 3 unsigned steps of one host, aimed at what is there. */
export function randomAttack(random: Random, host: string, history: readonly Step[]): readonly Step[] {
  const known = history.map(({ body }) => body);
  const about = pick(random, subjects);
  const steps: Step[] = [];
  for (let left = 1 + Math.floor(random() * 3); left > 0; left -= 1) {
    if (random() < 0.15 && known.length > 0) {
      steps.push({ log: host, body: pick(random, known), carriage: {} });
      continue;
    }
    const body = randomBody(random, host, known, random() < 0.85 ? about : undefined);
    known.push(body);
    steps.push({ log: host, body, carriage: {} });
  }
  return steps;
}

/** The same lines in another order that keeps the order of each log. */
export function interleave(random: Random, lines: readonly FoldLine[]): readonly FoldLine[] {
  const queues = Map.groupBy(lines, ({ log }) => log);
  const order: FoldLine[] = [];
  while (queues.size > 0) {
    const log = pick(random, [...queues.keys()]);
    const queue = queues.get(log) ?? [];
    const line = queue[0];
    if (line !== undefined) order.push(line);
    if (queue.length <= 1) queues.delete(log);
    else queues.set(log, queue.slice(1));
  }
  return order;
}

/** Cuts a list into portions of 1 to 4. */
export function split<T>(random: Random, list: readonly T[]): readonly (readonly T[])[] {
  const portions: (readonly T[])[] = [];
  for (let from = 0; from < list.length;) {
    const upto = from + 1 + Math.floor(random() * 4);
    portions.push(list.slice(from, upto));
    from = upto;
  }
  return portions;
}

/** Steps in short, for a person. */
export function describeSteps(steps: readonly Step[]): string {
  return steps
    .map(({ log, body, carriage }) => {
      const { kind, host, subject, scope, audience, value, content, digest, lineage } = body;
      const short = (ids: readonly string[] = []): string => ids.map((id) => id.slice(0, 6)).join(',');
      const parts = [
        `${log}: ${kind} ${eventId(body).slice(0, 6)} by ${host} ${subject} ${scope ?? '*'} ${value ?? content ?? digest ?? ''}`,
        body.supersedes && `over ${short(body.supersedes)}`,
        body.basis && `from ${short(body.basis)}`,
        audience && `to ${audience}`,
        lineage,
        carriage.sign && `signed ${carriage.sign} ${carriage.sshsig ?? ''}`,
        carriage.fault,
      ];
      return parts.filter(Boolean).join(' ');
    })
    .join('\n');
}

function approvalOf(random: Random): Carriage {
  const dice = random();
  if (dice < 0.15) return { sign: 'craig' };
  if (dice < 0.2) return { sign: 'bob' };
  if (dice < 0.27) return { sign: 'dana' };
  if (dice < 0.29) return { sign: 'craig', sshsig: 'bad' };
  if (dice < 0.3) return { fault: 'FIELD_VALUE' };
  return {};
}

function randomCarriage(random: Random): Carriage {
  const approvals: readonly Carriage[] = [
    {},
    { sign: 'craig' },
    { sign: 'bob' },
    { sign: 'dana' },
    { sign: 'craig', sshsig: 'bad' },
    { sign: 'mallory' },
    { fault: 'UNKNOWN_VERSION' },
    { fault: 'HOLE' },
  ];
  return random() < 0.8 ? pick(random, approvals.slice(0, 5)) : pick(random, approvals);
}

const kinds: readonly (readonly [Kind, number])[] = [
  ['assert', 0.55],
  ['lesson', 0.62],
  ['retract', 0.76],
  ['question', 0.82],
  ['decision', 0.86],
  ['propose', 0.89],
  ['observe', 0.96],
  ['pin', 0.985],
  ['deny', 1],
];

/** Kinds that name no other event and have no lineage. */
const bare: readonly Kind[] = ['observe', 'pin', 'deny'];

/** An event of `host` that may name what is known, on `about` or on any subject. */
export function randomBody(random: Random, host: string, known: readonly Body[], about?: string): Body {
  const subject = about ?? (random() < 0.01 ? 'nope/one' : pick(random, random() < 0.7 ? ['note/one'] : subjects));
  const dice = random();
  const kind = kinds.find(([, below]) => dice < below)?.[0] ?? 'deny';
  const fields: Record<string, unknown> = {
    mesh: random() < 0.005 ? 'f'.repeat(64) : meshId,
    host,
    session: 's',
    at: '2026-07-27T12:00:00.000Z',
    nonce: Math.floor(random() * 2 ** 48)
      .toString(16)
      .padStart(32, '0'),
    kind,
    subject,
  };
  if (random() < 0.25) addScope(random, fields);
  if (random() < 0.12) fields['audience'] = pick(random, ['agents', 'staff', random() < 0.1 ? 'nobody' : 'agents']);
  if (kind === 'observe')
    Object.assign(fields, { home: pick(random, ['file:a', 'file:b']), digest: `d${Math.floor(random() * 2)}` });
  if (kind === 'assert' || kind === 'lesson' || kind === 'propose') addClaim(random, fields, known);
  if (!bare.includes(kind) && (random() < 0.55 || kind === 'retract')) addSupersedes(random, fields, known);
  if (random() < 0.06 && !bare.includes(kind)) fields['lineage'] = 'untrusted';
  return fields as unknown as Body;
}

function addScope(random: Random, fields: Record<string, unknown>): void {
  const scope = pick(random, scopes);
  if (scope !== '*') fields['scope'] = scope;
}

function addClaim(random: Random, fields: Record<string, unknown>, known: readonly Body[]): void {
  if (random() < 0.9) fields['value'] = `v${Math.floor(random() * 3)}`;
  else fields['content'] = pick(random, ['a b', ' a \n b', 'v0']);
  if (random() < 0.03) fields['polarity'] = 'absent';
  if (random() < 0.3) fields['home'] = pick(random, ['file:a', 'file:b']);
  const citable = known.filter(({ kind }) => kind === 'observe' || kind === 'assert' || kind === 'lesson');
  if (citable.length > 0 && random() < 0.25) fields['basis'] = idsOf(random, citable, 1 + Math.floor(random() * 2));
}

function addSupersedes(random: Random, fields: Record<string, unknown>, known: readonly Body[]): void {
  const pool = known.filter(({ subject }) => (random() < 0.85 ? subject === fields['subject'] : true));
  const ids = idsOf(random, pool, 1 + Math.floor(random() * 2));
  if (ids.length > 0) fields['supersedes'] = ids;
}

function idsOf(random: Random, pool: readonly Body[], count: number): readonly string[] {
  const ids = new Set<string>();
  for (let left = count; left > 0 && pool.length > 0; left -= 1) ids.add(eventId(pick(random, pool)));
  return [...ids].toSorted();
}

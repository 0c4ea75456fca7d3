/**
 * The naive fold: docs/fold.md R0 to R5, sentence by sentence, with no index, no order and no care for speed. It shares
 * no code with src/core/fold and is what that is held against. Numbers in comments are sentences of the document; its
 * chapter State is in fold-state.ts.
 */
import { canonicalJson, type JsonValue } from '../../src/crypto/canonical.ts';
import type { Auth, Body } from '../../src/core/event.ts';

export interface OracleLine {
  readonly log: string;
  readonly seq: number;
  readonly id: string;
  readonly v: number;
  readonly auth: Auth | null;
  readonly body: Body | null;
  readonly fault: string | null;
  readonly held: { readonly subject: string; readonly scope: string } | null;
}

export interface OracleCharter {
  readonly meshId: string;
  readonly scopes: (signer: string) => readonly string[];
  readonly classes: ReadonlyMap<string, { readonly revise: string | null; readonly claims: string | null }>;
  readonly audiences: ReadonlyMap<string, { readonly includes: readonly string[] }>;
  readonly covers: (scopes: readonly string[], subject: string) => boolean;
  readonly approve: (auth: Auth, message: string, subject: string) => string;
}

/** An event and what R0 to R2 say of it. `level` is 0 for unsigned and 2 for signed; `quar` is why it is quarantined. */
export interface Ev {
  readonly id: string;
  readonly lines: OracleLine[];
  body: Body | null;
  subject: string | null;
  scope: string;
  key: string | null;
  level: number;
  place: OracleLine | undefined;
  held: string | null;
  quar: string | null;
}

export type Edge = readonly [from: Ev, to: Ev];

/** What R0 to R5 say, as questions. */
export interface Judged {
  readonly all: readonly Ev[];
  readonly has: (id: string) => boolean;
  readonly verdict: (ev: Ev, line: OracleLine) => string | null;
  readonly bearsAny: (ev: Ev) => boolean;
  readonly aimsAbove: (ev: Ev) => boolean;
  readonly saidAgain: (ev: Ev, scope: string) => boolean;
  readonly bySigned: (ev: Ev) => boolean;
  readonly eligible: readonly Edge[];
  readonly undisputed: (ev: Ev) => boolean;
  readonly revisions: readonly Edge[];
  readonly inEffect: readonly Edge[];
  readonly below: (ev: Ev) => readonly Ev[];
  readonly over: (ev: Ev) => readonly Ev[];
  readonly stale: (ev: Ev) => boolean;
}

export const isClaim = (ev: Ev): boolean => ev.key !== null;
export const takesPart = (ev: Ev): boolean => ev.held === null && ev.quar === null;
export const hostOf = (ev: Ev): string => ev.body?.host ?? '';
const classOf = (subject: string): string => subject.split('/')[0] ?? '';

/** Who may bear an edge, and to which kinds. */
const bearers: Readonly<Record<string, readonly string[] | 'all'>> = {
  assert: 'all',
  lesson: 'all',
  retract: 'all',
  question: ['question'],
  decision: ['decision', 'question'],
};

export function isBefore(a: OracleLine, b: OracleLine): boolean {
  return a.log < b.log || (a.log === b.log && a.seq < b.seq);
}

export function judge(charter: OracleCharter, lines: readonly OracleLine[]): Judged {
  const evs = gatherEvents(lines);
  const all = [...evs.values()];
  const verdict: Judged['verdict'] = (ev, line) =>
    line.auth === null || ev.body === null || line.fault !== null
      ? null
      : charter.approve(line.auth, canonicalJson(ev.body as unknown as JsonValue), ev.body.subject);
  const proves = (ev: Ev, line: OracleLine): number => {
    if (ev.body === null || line.fault !== null) return -1;
    if (line.auth !== null) return verdict(ev, line) === 'ok' ? 2 : -1; // R1.2
    return line.log === ev.body.host ? 0 : -1; // R1.3
  };
  for (const ev of all) {
    ev.level = Math.max(0, ...ev.lines.map((line) => proves(ev, line))); // R1.4
    const proving = ev.lines.filter((line) => proves(ev, line) === ev.level);
    ev.place = proving.find((line) => proving.every((other) => other === line || isBefore(line, other))); // R1.5
    ev.held = heldReason(charter, ev, (line) => verdict(ev, line));
    if (ev.body?.kind === 'assert' || ev.body?.kind === 'lesson') ev.key = keyOf(charter, ev.body);
  }

  // R2
  const known = (ids: readonly string[] = []): Ev[] => ids.flatMap((id) => evs.get(id) ?? []);
  const cites = (ev: Ev): Ev[] => known(ev.body?.basis);
  const names = (ev: Ev): Ev[] => known(ev.body?.supersedes);
  const quarantined = (ev: Ev): boolean =>
    ev.body !== null && ev.level < 2 && (ev.body.lineage === 'untrusted' || cites(ev).some(quarantined));
  for (const ev of all.filter(quarantined)) {
    ev.quar = ev.body?.lineage === 'untrusted' ? 'UNTRUSTED' : 'UNTRUSTED_BASIS';
  }

  // R3, pass 1
  const bearsAny = (ev: Ev): boolean => takesPart(ev) && bearers[ev.body?.kind ?? ''] !== undefined;
  const bears = (e: Ev, t: Ev): boolean => {
    const kinds = bearers[e.body?.kind ?? ''];
    return bearsAny(e) && t.body !== null && (kinds === 'all' || kinds?.includes(t.body.kind) === true);
  };
  const signedFor = (e: Ev, t: Ev): boolean =>
    e.lines
      .filter((line) => verdict(e, line) === 'ok')
      .map((line) => charter.scopes(line.auth?.signer ?? ''))
      .some((scopes) => [e, t].every(({ subject }) => charter.covers(scopes, subject ?? ''))); // R1.6
  const edges = all.flatMap((e) => names(e).map((t): Edge => [e, t])).filter(([e, t]) => bears(e, t));
  const signed = edges.filter(([e, t]) => signedFor(e, t)); // R3.1
  const bySigned = (ev: Ev): boolean => signed.some(([, t]) => t === ev);
  const attempts = edges.filter(([e, t]) => e.level < 2 && t.level === 2 && t.subject === e.subject && !bySigned(t));
  const aimsAbove = (ev: Ev): boolean => attempts.some(([e]) => e === ev); // R3.2
  const rest = edges.filter(([e, t]) => e.level < 2 && !aimsAbove(e) && e.subject === t.subject && t.level <= e.level);
  const passOne = [...signed, ...rest.filter(([e, t]) => hostOf(e) === hostOf(t))]; // R3.3

  const saidAgain: Judged['saidAgain'] = (ev, scope) => {
    const same = all.filter((other) => other.key === ev.key && other.subject === ev.subject);
    const saying = same.filter((s) => s.level === 2 && takesPart(s) && !bySigned(s) && ['*', scope].includes(s.scope));
    return ev.level < 2 && same.some(bySigned) && saying.length === 0; // R4.3
  };

  // R3, pass 2
  const shownTo = (audience: string, seen: readonly string[] = []): readonly string[] =>
    seen.includes(audience) || !charter.audiences.has(audience)
      ? seen
      : (charter.audiences.get(audience)?.includes ?? []).reduce<readonly string[]>(
          (all, next) => shownTo(next, all),
          [...seen, audience],
        );
  const isEligible = ([e, t]: Edge): boolean => {
    if (hostOf(e) === hostOf(t) || !isClaim(e) || !isClaim(t) || !takesPart(t)) return false; // R3.5
    if (charter.classes.get(classOf(e.subject ?? ''))?.revise !== 'mesh') return false;
    if (!['*', t.scope].includes(e.scope) || saidAgain(e, e.scope)) return false;
    return shownTo(t.body?.audience ?? 'operator').includes(e.body?.audience ?? 'operator');
  };
  const eligible = rest.filter(isEligible);
  const stands = (ev: Ev): boolean => {
    const by = passOne.filter(([, t]) => t === ev).map(([e]) => e); // R3.6
    if (by.length === 0 || bySigned(ev)) return true;
    return by.some((heir) => isClaim(heir) && ['*', ev.scope].includes(heir.scope) && stands(heir));
  };
  const holds = ([e, t]: Edge): boolean => stands(e) && undisputed(t); // R3.8
  const effective = (e: Ev, t: Ev): boolean =>
    passOne.some(([from, to]) => from === e && to === t) ||
    eligible.some((edge) => edge[0] === e && edge[1] === t && holds(edge));
  const below = (ev: Ev): Ev[] => names(ev).flatMap((t) => (effective(ev, t) ? [t, ...below(t)] : []));
  const upward = [...passOne, ...eligible].filter(([e, t]) => e.subject === t.subject);
  const over = (ev: Ev): Ev[] => upward.flatMap(([e, t]) => (t === ev ? [e, ...over(e)] : []));
  const overlap = (a: Ev, b: Ev): boolean => a.scope === b.scope || a.scope === '*' || b.scope === '*';
  const memo = new Map<Ev, boolean>();
  function undisputed(t: Ev): boolean {
    const rivals = all.filter(
      (u) => isClaim(u) && takesPart(u) && u.subject === t.subject && overlap(u, t) && u.key !== t.key && !bySigned(u),
    );
    const verdictOnT = memo.get(t) ?? rivals.every((u) => over(t).includes(u) || below(t).includes(u)); // R3.7
    memo.set(t, verdictOnT);
    return verdictOnT;
  }
  const revisions = eligible.filter(holds);

  // R5
  const current = (of: Body): string | undefined => {
    const sightings = all
      .filter(
        ({ body, held }) => body?.kind === 'observe' && held === null && body.host === of.host && body.home === of.home,
      )
      .flatMap((ev) =>
        ev.lines.filter((line) => line.log === of.host && proves(ev, line) >= 0).map((line) => ({ line, ev })),
      );
    return sightings.find(({ line }) => sightings.every((other) => other.line.seq <= line.seq))?.ev.body?.digest; // R5.1
  };
  const closure = (ev: Ev): Ev[] => cites(ev).flatMap((cited) => [cited, ...closure(cited)]);
  const stale = (ev: Ev): boolean =>
    isClaim(ev) && closure(ev).some(({ body }) => body?.kind === 'observe' && body.digest !== current(body)); // R5.3

  const has = (id: string): boolean => evs.has(id);
  const inEffect = [...passOne, ...revisions];
  const answers = { all, has, verdict, bearsAny, aimsAbove, saidAgain, bySigned, eligible, undisputed, revisions };
  return { ...answers, inEffect, below, over, stale };
}

function gatherEvents(lines: readonly OracleLine[]): ReadonlyMap<string, Ev> {
  const evs = new Map<string, Ev>();
  for (const { id } of lines) {
    const carrying = lines.filter((line) => line.id === id);
    const body = carrying.find((line) => line.body !== null)?.body ?? null;
    const shown = carrying.find(({ held }) => held !== null)?.held;
    const subject = body?.subject ?? shown?.subject ?? null;
    const scope = (body === null ? shown?.scope : body.scope) ?? '*';
    const judged = { key: null, level: 0, place: undefined, held: null, quar: null };
    evs.set(id, { id, lines: carrying, body, subject, scope, ...judged });
  }
  return evs;
}

/** R0.3, in the order of its list. */
function heldReason(charter: OracleCharter, ev: Ev, verdict: (line: OracleLine) => string | null): string | null {
  if (ev.body === null) {
    if (ev.lines.some(({ v, fault }) => v === 1 && fault !== 'HOLE')) return 'INVALID';
    return ev.lines.some(({ fault }) => fault === 'UNKNOWN_VERSION') ? 'UNKNOWN_VERSION' : 'WITHHELD';
  }
  const { audience, kind, mesh, subject } = ev.body;
  if (mesh !== charter.meshId) return 'FOREIGN_MESH';
  const type = charter.classes.get(classOf(subject));
  if (type === undefined) return 'UNNORMALIZED';
  if (type.claims === null && (kind === 'assert' || kind === 'lesson')) return 'UNNORMALIZED';
  if (!charter.audiences.has(audience ?? 'operator')) return 'UNDECLARED_AUDIENCE';
  if (ev.place !== undefined) return null;
  const verdicts = ev.lines.map(verdict);
  if (verdicts.includes('forged')) return 'FORGED';
  if (verdicts.includes('unknown') || verdicts.includes('unsupported')) return 'UNVERIFIABLE';
  return verdicts.includes('out-of-scope') ? 'OUT_OF_SCOPE' : 'UNPROVEN';
}

/** R4.1 */
function keyOf(charter: OracleCharter, body: Body): string {
  const claims = charter.classes.get(classOf(body.subject))?.claims ?? null;
  const polarity = body.polarity ?? 'exists';
  if (body.value !== undefined) return canonicalJson([claims, polarity, 'v', body.value]);
  const words = (body.content ?? '').split(/[\t\n\v\f\r ]/).filter((word) => word !== '');
  return canonicalJson([claims, polarity, 'c', words.join(' ')]);
}

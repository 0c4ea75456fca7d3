/**
 * The naive fold: docs/fold.md R0 to R5, sentence by sentence, with no index, no order and no care for speed. It shares
 * no code with src/core/fold and is what that is held against. Numbers in comments are sentences of the document; its
 * chapter State is in fold-state.ts.
 */
import { canonicalJson, type JsonValue } from '../../src/crypto/canonical.ts';
import { sha256Hex } from '../../src/crypto/hash.ts';
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
  readonly link: string;
}

/** A delegation, and in which stretches of the log (both ends included) its key is the key of the log. */
export interface OracleDelegation {
  readonly host: string;
  readonly subjects: readonly string[];
  readonly kinds: readonly string[];
  readonly from: number;
  readonly upto: number;
  readonly underKey: (seq: number) => boolean;
}

/** A purge of one event. */
export interface OraclePurge {
  readonly target: {
    readonly [field in 'host' | 'kind' | 'subject' | 'scope' | 'audience' | 'lineage' | 'level']: string;
  } & {
    readonly [field in 'key' | 'home' | 'digest']: string | null;
  } & { readonly [field in 'supersedes' | 'basis']: readonly string[] };
}

export interface OracleCharter {
  readonly meshId: string;
  readonly scopes: (signer: string) => readonly string[];
  /** Of every revocation in force the marks, by log. */
  readonly revocations: (signer: string) => readonly ReadonlyMap<string, { seq: number; link: string }>[];
  readonly delegations: readonly OracleDelegation[];
  readonly purges: ReadonlyMap<string, OraclePurge>;
  readonly classes: ReadonlyMap<string, { readonly revise: string | null; readonly claims: string | null }>;
  readonly audiences: ReadonlyMap<string, { readonly includes: readonly string[] }>;
  readonly covers: (scopes: readonly string[], subject: string) => boolean;
  readonly approve: (auth: Auth, message: string, subject: string) => string;
}

/**
 * An event and what R0 to R2 say of it. `level` is 0 for unsigned, 1 for delegated, 2 for signed; `quar` is why it is
 * quarantined; `body` of a purged event is what its skeleton says.
 */
export interface Ev {
  readonly id: string;
  readonly lines: OracleLine[];
  body: Body | null;
  subject: string | null;
  scope: string;
  key: string | null;
  readonly purge: OraclePurge | undefined;
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
  readonly standing: (ev: Ev, signer: string) => boolean;
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
  const evs = gatherEvents(charter, lines);
  const all = [...evs.values()];
  const verdict: Judged['verdict'] = (ev, line) =>
    line.auth === null || ev.body === null || ev.purge !== undefined || line.fault !== null
      ? null
      : charter.approve(line.auth, canonicalJson(ev.body as unknown as JsonValue), ev.body.subject);
  const approved = (ev: Ev, signer: string): OracleLine[] =>
    ev.lines.filter((line) => line.auth?.signer === signer && verdict(ev, line) === 'ok');
  const standing: Judged['standing'] = (ev, signer) =>
    charter.revocations(signer).every((marks) =>
      approved(ev, signer).some(({ log, seq }) => {
        const mark = marks.get(log) ?? { seq: 0, link: '' };
        const there = lines.find((line) => line.log === log && line.seq === mark.seq);
        return seq <= mark.seq && (there === undefined || there.link === mark.link); // R1.4
      }),
    );
  const proves = (ev: Ev, line: OracleLine): number => {
    const own = line.auth === null && line.log === ev.body?.host;
    if (ev.body === null || (line.fault !== null && ev.purge === undefined)) return -1; // R0.5
    if (line.auth !== null) return verdict(ev, line) === 'ok' && standing(ev, line.auth.signer) ? 2 : -1; // R1.2
    return own ? (isDelegated(charter, ev.body, line) ? 1 : 0) : -1; // R1.3, R1.5
  };
  for (const ev of all) {
    ev.level = Math.max(0, ...ev.lines.map((line) => proves(ev, line))); // R1.6
    const proving = ev.lines.filter((line) => proves(ev, line) === ev.level);
    ev.place = proving.find((line) => proving.every((other) => other === line || isBefore(line, other))); // R1.7
    const proven = ev.purge?.target.level === 'signed' || ev.place !== undefined;
    if (ev.purge?.target.level === 'signed') ev.level = 2;
    ev.held = proven ? foreignReason(charter, ev) : heldReason(charter, ev, (line) => verdict(ev, line));
    if (ev.body?.kind === 'assert' || ev.body?.kind === 'lesson') {
      ev.key = ev.purge === undefined ? keyOf(ev.body) : ev.purge.target.key;
    }
  }

  // R2
  const known = (ids: readonly string[] = []): Ev[] => ids.flatMap((id) => evs.get(id) ?? []);
  const refersTo = (ev: Ev): Ev[] => known([...(ev.body?.supersedes ?? []), ...(ev.body?.basis ?? [])]);
  const leadsTo = (from: Ev, to: Ev, seen = new Set<Ev>()): boolean =>
    from === to || (!seen.has(from) && refersTo(from).some((next) => leadsTo(next, to, seen.add(from))));
  const kept = (ev: Ev, ids: readonly string[] = []): Ev[] =>
    known(ids).filter((other) => ev.purge === undefined || !leadsTo(other, ev)); // R0.5 e
  const cites = (ev: Ev): Ev[] => kept(ev, ev.body?.basis);
  const names = (ev: Ev): Ev[] => kept(ev, ev.body?.supersedes);
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
    (e.purge !== undefined && e.level === 2) || // R0.5
    e.lines
      .filter((line) => line.auth !== null && proves(e, line) === 2)
      .map((line) => charter.scopes(line.auth?.signer ?? ''))
      .some((scopes) => [e, t].every(({ subject }) => charter.covers(scopes, subject ?? ''))); // R1.8
  const edges = all.flatMap((e) => names(e).map((t): Edge => [e, t])).filter(([e, t]) => bears(e, t));
  const signed = edges.filter(([e, t]) => signedFor(e, t)); // R3.1
  const bySigned = (ev: Ev): boolean => signed.some(([, t]) => t === ev);
  const attempts = edges.filter(([e, t]) => e.level < 2 && t.level === 2 && t.subject === e.subject && !bySigned(t));
  const aimsAbove = (ev: Ev): boolean => attempts.some(([e]) => e === ev); // R3.2
  const rest = edges.filter(([e, t]) => e.level < 2 && !aimsAbove(e) && e.subject === t.subject && t.level <= e.level);
  const passOne = [...signed, ...rest.filter(([e, t]) => hostOf(e) === hostOf(t))]; // R3.3

  const saidAgain: Judged['saidAgain'] = (ev, scope) => {
    const same = all.filter((other) => other.key === ev.key && other.subject === ev.subject);
    const signedLive = same.filter((s) => s.level === 2 && takesPart(s) && !bySigned(s) && s.purge === undefined);
    const saying = signedLive.filter((s) => ['*', scope].includes(s.scope));
    const purged = same.some((other) => other.purge !== undefined && other.held === null);
    return ev.level < 2 && (purged || same.some(bySigned)) && saying.length === 0; // R4.3
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
    if (ev.purge !== undefined) return false;
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
    const contestants = all.filter((u) => isClaim(u) && takesPart(u) && !bySigned(u) && u.purge === undefined);
    const rivals = contestants.filter((u) => u.subject === t.subject && overlap(u, t) && u.key !== t.key);
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
        ev.lines
          .filter((line) => line.log === of.host && (proves(ev, line) >= 0 || (ev.purge && ev.level === 2)))
          .map((line) => ({ line, ev })),
      );
    return sightings.find(({ line }) => sightings.every((other) => other.line.seq <= line.seq))?.ev.body?.digest; // R5.1
  };
  const closure = (ev: Ev): Ev[] => cites(ev).flatMap((cited) => [cited, ...closure(cited)]);
  const stale = (ev: Ev): boolean =>
    isClaim(ev) &&
    ev.purge === undefined &&
    closure(ev).some(({ body }) => body?.kind === 'observe' && body.digest !== current(body)); // R5.3

  const has = (id: string): boolean => evs.has(id);
  const inEffect = [...passOne, ...revisions];
  const answers = {
    all,
    has,
    verdict,
    standing,
    bearsAny,
    aimsAbove,
    saidAgain,
    bySigned,
    eligible,
    undisputed,
    revisions,
  };
  return { ...answers, inEffect, below, over, stale };
}

function gatherEvents(charter: OracleCharter, lines: readonly OracleLine[]): ReadonlyMap<string, Ev> {
  const evs = new Map<string, Ev>();
  const spoken = [...charter.purges].flatMap(([id, { target }]) => (target.level === 'signed' ? [id] : [])); // R0.5
  for (const id of [...spoken, ...lines.map((line) => line.id)]) {
    const carrying = lines.filter((line) => line.id === id);
    const purge = charter.purges.get(id);
    const shownBody = carrying.find((line) => line.body !== null)?.body ?? null;
    const body = purge === undefined ? shownBody : leftOf(charter, purge);
    const shown = carrying.find(({ held }) => held !== null)?.held;
    const subject = body?.subject ?? shown?.subject ?? null;
    const scope = (body === null ? shown?.scope : body.scope) ?? '*';
    const judged = { key: null, level: 0, place: undefined, held: null, quar: null };
    evs.set(id, { id, lines: carrying, purge, body, subject, scope, ...judged });
  }
  return evs;
}

/** R0.3, in the order of its list. */
function heldReason(charter: OracleCharter, ev: Ev, verdict: (line: OracleLine) => string | null): string | null {
  if (ev.body === null) {
    if (ev.lines.some(({ v, fault }) => v === 1 && fault !== 'HOLE')) return 'INVALID';
    return ev.lines.some(({ fault }) => fault === 'UNKNOWN_VERSION') ? 'UNKNOWN_VERSION' : 'WITHHELD';
  }
  const foreign = foreignReason(charter, ev);
  if (foreign !== null) return foreign;
  const verdicts = ev.lines.map(verdict);
  if (verdicts.includes('ok')) return 'REVOKED';
  if (verdicts.includes('forged')) return 'FORGED';
  if (verdicts.includes('unknown')) return 'UNVERIFIABLE';
  return verdicts.includes('out-of-scope') ? 'OUT_OF_SCOPE' : 'UNPROVEN';
}

function foreignReason(charter: OracleCharter, { body }: Ev): string | null {
  if (body === null) return null;
  const { audience, kind, mesh, subject } = body;
  if (mesh !== charter.meshId) return 'FOREIGN_MESH';
  const type = charter.classes.get(classOf(subject));
  if (type === undefined) return 'UNNORMALIZED';
  if (type.claims === null && (kind === 'assert' || kind === 'lesson')) return 'UNNORMALIZED';
  return charter.audiences.has(audience ?? 'operator') ? null : 'UNDECLARED_AUDIENCE';
}

/** R1.5 */
function isDelegated(charter: OracleCharter, body: Body, { log, seq }: OracleLine): boolean {
  return charter.delegations.some(
    ({ host, subjects, kinds, from, upto, underKey }) =>
      host === log &&
      from <= seq &&
      seq <= upto &&
      underKey(seq) &&
      kinds.includes(body.kind) &&
      charter.covers(subjects, body.subject),
  );
}

/** What a skeleton leaves of an event. */
function leftOf({ meshId }: OracleCharter, { target }: OraclePurge): Body {
  const fields = Object.entries(target).filter(([name, value]) => name !== 'level' && name !== 'key' && value !== null);
  const left: Record<string, unknown> = { mesh: meshId, ...Object.fromEntries(fields) };
  if (left['scope'] === '*') delete left['scope'];
  return left as unknown as Body;
}

/**
 * R4.1 as far as it tells claims of one subject apart, hashed as in a skeleton: claims of different subjects are never
 * compared, so the class is left out.
 */
function keyOf(body: Body): string {
  const polarity = body.polarity ?? 'exists';
  const words = (body.content ?? '').split(/[\t\n\v\f\r ]/).filter((word) => word !== '');
  const said = body.value === undefined ? ['c', words.join(' ')] : ['v', body.value];
  return sha256Hex(canonicalJson([null, polarity, ...said]));
}

/**
 * The naive fold: docs/fold.md R0 to R5 and State, sentence by sentence, with no index, no order and no care for speed.
 * It shares no code with src/core/fold and is what that is held against. Numbers in comments are sentences of the doc.
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
}

export interface OracleCharter {
  readonly meshId: string;
  readonly scopes: (signer: string) => readonly string[];
  readonly classes: ReadonlyMap<string, { readonly revise: string | null; readonly claims: string | null }>;
  readonly audiences: ReadonlyMap<string, { readonly includes: readonly string[] }>;
  readonly covers: (scopes: readonly string[], subject: string) => boolean;
  readonly approve: (auth: Auth, message: string, subject: string) => string;
}

interface Ev {
  id: string;
  body: Body | null;
  subject: string | null;
  scope: string;
  lines: OracleLine[];
  key: string | null;
  level: number;
  signers: string[];
  place: OracleLine | undefined;
  held: string | null;
  quar: string | null;
}
type Json = Record<string, JsonValue>;
export interface OracleState {
  readonly records: Record<string, JsonValue>;
  readonly alarms: Record<string, JsonValue>;
  readonly notices: Record<string, JsonValue>;
  readonly events: Record<string, { status: string; reason: string | null; by: readonly string[]; stale: boolean }>;
  /** Eligible revisions of undisputed claims, whether or not their source stands: [host of the source, target]. */
  readonly agreed: readonly (readonly [string, string])[];
}

export function oracleFold(charter: OracleCharter, lines: readonly OracleLine[]): OracleState {
  const evs = new Map<string, Ev>();
  for (const line of lines) {
    const ev = evs.get(line.id) ?? blank(line.id);
    evs.set(line.id, ev);
    ev.lines.push(line);
    ev.body ??= line.body;
    if (line.held !== null && ev.subject === null) [ev.subject, ev.scope] = [line.held.subject, line.held.scope];
    if (ev.body !== null) [ev.subject, ev.scope] = [ev.body.subject, ev.body.scope ?? '*'];
  }
  const all = [...evs.values()];
  const verdict = (ev: Ev, line: OracleLine): string | null =>
    line.auth === null || ev.body === null || line.fault !== null
      ? null
      : charter.approve(line.auth, canonicalJson(ev.body as unknown as JsonValue), ev.body.subject);
  // R1
  const proves = (ev: Ev, line: OracleLine): number => {
    if (ev.body === null || line.fault !== null) return -1;
    if (line.auth !== null) return verdict(ev, line) === 'ok' ? 2 : -1;
    return line.log === ev.body.host ? 0 : -1;
  };
  const before = (a: OracleLine, b: OracleLine): boolean => a.log < b.log || (a.log === b.log && a.seq < b.seq);
  for (const ev of all) {
    ev.level = Math.max(0, ...ev.lines.map((line) => proves(ev, line)));
    const proving = ev.lines.filter((line) => proves(ev, line) === ev.level);
    ev.place = proving.find((line) => proving.every((other) => other === line || before(line, other)));
    ev.signers = ev.lines.filter((line) => verdict(ev, line) === 'ok').map((line) => line.auth?.signer ?? '');
    ev.held = heldFor(ev);
    if (ev.body !== null && (ev.body.kind === 'assert' || ev.body.kind === 'lesson')) ev.key = keyOf(ev.body);
  }
  function heldFor(ev: Ev): string | null {
    if (ev.body === null) {
      if (ev.lines.some(({ v, fault }) => v === 1 && fault !== 'HOLE')) return 'INVALID';
      return ev.lines.some(({ fault }) => fault === 'UNKNOWN_VERSION') ? 'UNKNOWN_VERSION' : 'WITHHELD';
    }
    if (ev.body.mesh !== charter.meshId) return 'FOREIGN_MESH';
    const type = charter.classes.get(ev.body.subject.split('/')[0] ?? '');
    if (type === undefined || (type.claims === null && ['assert', 'lesson'].includes(ev.body.kind)))
      return 'UNNORMALIZED';
    if (!charter.audiences.has(ev.body.audience ?? 'operator')) return 'UNDECLARED_AUDIENCE';
    if (ev.place !== undefined) return null;
    const verdicts = ev.lines.map((line) => verdict(ev, line));
    if (verdicts.includes('forged')) return 'FORGED';
    if (verdicts.includes('unknown') || verdicts.includes('unsupported')) return 'UNVERIFIABLE';
    return verdicts.includes('out-of-scope') ? 'OUT_OF_SCOPE' : 'UNPROVEN';
  }
  function keyOf(body: Body): string {
    const claims = charter.classes.get(body.subject.split('/')[0] ?? '')?.claims ?? null;
    const polarity = body.polarity ?? 'exists';
    if (body.value !== undefined) return canonicalJson([claims, polarity, 'v', body.value]);
    const words = (body.content ?? '').split(/[\t\n\v\f\r ]/).filter((word) => word !== '');
    return canonicalJson([claims, polarity, 'c', words.join(' ')]);
  }
  // R2
  const cites = (ev: Ev): Ev[] => (ev.body?.basis ?? []).flatMap((id) => evs.get(id) ?? []);
  const names = (ev: Ev): Ev[] => (ev.body?.supersedes ?? []).flatMap((id) => evs.get(id) ?? []);
  const quarantined = (ev: Ev): boolean =>
    ev.body !== null && ev.level < 2 && (ev.body.lineage === 'untrusted' || cites(ev).some(quarantined));
  for (const ev of all)
    if (quarantined(ev)) ev.quar = ev.body?.lineage === 'untrusted' ? 'UNTRUSTED' : 'UNTRUSTED_BASIS';
  const part = (ev: Ev): boolean => ev.held === null && ev.quar === null;
  const claim = (ev: Ev): boolean => ev.key !== null;
  // R3, who may bear an edge
  const kinds: Record<string, readonly string[] | 'all'> = {
    assert: 'all',
    lesson: 'all',
    retract: 'all',
    question: ['question'],
    decision: ['decision', 'question'],
  };
  const bears = (e: Ev, t: Ev): boolean => {
    const to = kinds[e.body?.kind ?? ''];
    return part(e) && t.body !== null && to !== undefined && (to === 'all' || to.includes(t.body.kind));
  };
  const edges = all.flatMap((e) =>
    names(e)
      .filter((t) => bears(e, t))
      .map((t) => [e, t] as const),
  );
  const signedFor = (e: Ev, t: Ev): boolean =>
    e.level === 2 &&
    e.signers.some(
      (s) =>
        charter.covers(charter.scopes(s), e.body?.subject ?? '') && charter.covers(charter.scopes(s), t.subject ?? ''),
    );
  const host = (ev: Ev): string => ev.body?.host ?? '';
  // Pass 1
  const signedEdges = edges.filter(([e, t]) => signedFor(e, t)); // R3.1
  const bySigned = (t: Ev): boolean => signedEdges.some(([, to]) => to === t);
  const above = (e: Ev): boolean =>
    // R3.2
    e.level < 2 && edges.some(([from, t]) => from === e && t.level === 2 && t.subject === e.subject && !bySigned(t));
  const rest = edges.filter(([e, t]) => e.level < 2 && !above(e) && e.subject === t.subject && t.level <= e.level);
  const one = [...signedEdges, ...rest.filter(([e, t]) => host(e) === host(t))]; // R3.3
  // R4.3
  const saidAgain = (ev: Ev, scope: string): boolean =>
    ev.level < 2 &&
    all.some((t) => t.key === ev.key && t.subject === ev.subject && bySigned(t)) &&
    !all.some(
      (s) =>
        claim(s) &&
        part(s) &&
        s.level === 2 &&
        !bySigned(s) &&
        s.key === ev.key &&
        s.subject === ev.subject &&
        ['*', scope].includes(s.scope),
    );
  // Pass 2
  const sees = (audience: string, seen: string[] = []): string[] =>
    seen.includes(audience) || !charter.audiences.has(audience)
      ? seen
      : (charter.audiences.get(audience)?.includes ?? []).reduce((got, next) => sees(next, got), [...seen, audience]);
  const eligible = rest.filter(
    ([e, t]) =>
      host(e) !== host(t) &&
      claim(e) &&
      claim(t) &&
      part(t) && // R3.5
      charter.classes.get(e.subject?.split('/')[0] ?? '')?.revise === 'mesh' &&
      ['*', t.scope].includes(e.scope) &&
      sees(t.body?.audience ?? 'operator').includes(e.body?.audience ?? 'operator') &&
      !saidAgain(e, e.scope),
  );
  const stands = (e: Ev): boolean => {
    // R3.6
    const by = one.filter(([, t]) => t === e).map(([from]) => from);
    return (
      by.length === 0 ||
      bySigned(e) ||
      by.some((from) => claim(from) && ['*', e.scope].includes(from.scope) && stands(from))
    );
  };
  const overlap = (a: string, b: string): boolean => a === b || a === '*' || b === '*';
  const memo = new Map<Ev, boolean>();
  const inEffect = (e: Ev, t: Ev): boolean =>
    // R3.8
    one.some(([from, to]) => from === e && to === t) ||
    (eligible.some(([from, to]) => from === e && to === t) && stands(e) && undisputed(t));
  const below = (t: Ev): Ev[] =>
    names(t)
      .filter((x) => inEffect(t, x))
      .flatMap((x) => [x, ...below(x)]);
  const over = (t: Ev): Ev[] =>
    [...one, ...eligible].filter(([e, to]) => to === t && e.subject === t.subject).flatMap(([e]) => [e, ...over(e)]);
  function undisputed(t: Ev): boolean {
    // R3.7
    const known = memo.get(t);
    if (known !== undefined) return known;
    const near = [...below(t), ...over(t)];
    const rivals = all.filter(
      (u) =>
        claim(u) && part(u) && u.subject === t.subject && overlap(u.scope, t.scope) && u.key !== t.key && !bySigned(u),
    );
    memo.set(
      t,
      rivals.every((u) => near.includes(u)),
    );
    return rivals.every((u) => near.includes(u));
  }
  const revisions = eligible.filter(([e, t]) => stands(e) && undisputed(t));
  const effect = [...one, ...revisions];
  const by = (t: Ev): Ev[] => effect.filter(([, to]) => to === t).map(([e]) => e);
  // R5
  const currentDigest = (of: Body): string | undefined => {
    const seen = all.flatMap((ev) =>
      ev.body?.kind === 'observe' && ev.held === null && ev.body.host === of.host && ev.body.home === of.home
        ? ev.lines
            .filter((line) => line.log === of.host && proves(ev, line) >= 0)
            .map((line) => ({ seq: line.seq, digest: ev.body?.digest }))
        : [],
    );
    return seen.find(({ seq }) => seen.every((other) => other.seq <= seq))?.digest;
  };
  const closure = (ev: Ev): Ev[] => cites(ev).flatMap((b) => [b, ...closure(b)]);
  const stale = (ev: Ev): boolean =>
    claim(ev) && closure(ev).some(({ body }) => body?.kind === 'observe' && body.digest !== currentDigest(body));
  // Reports
  const drafts: { kind: string; host: string | null; subject: string | null; id: string; line: string }[] = [];
  const report = (kind: string, at: string | null, ev: Ev, line = ''): void =>
    void drafts.push({ kind, host: at, subject: ev.subject, id: ev.id, line });
  const alarmOf: Record<string, string> = {
    forged: 'FORGED',
    unknown: 'UNVERIFIABLE',
    unsupported: 'UNVERIFIABLE',
    'out-of-scope': 'OUT_OF_SCOPE',
  };
  for (const ev of all) {
    for (const line of ev.lines) {
      const alarm = alarmOf[verdict(ev, line) ?? ''];
      if (alarm !== undefined) report(alarm, line.log, ev, `${line.log} ${line.seq}`);
      if (ev.held !== null && !['FORGED', 'UNVERIFIABLE', 'OUT_OF_SCOPE', 'UNPROVEN'].includes(ev.held))
        report(ev.held, line.log, ev);
    }
    if (above(ev)) report('UNSIGNED_OVER_SIGNED', host(ev), ev);
    if (part(ev) && kinds[ev.body?.kind ?? ''] !== undefined && (ev.body?.supersedes ?? []).some((id) => !evs.has(id)))
      report('DANGLING', host(ev), ev);
  }
  for (const [e] of revisions) report('REVISED', host(e), e);
  // R4, records
  const records: Record<string, JsonValue> = {};
  const own = new Map<string, { served: Ev | undefined; parked: Map<Ev, string> }>();
  for (const ev of all) if (ev.subject !== null) record(ev.subject, ev.scope);
  function record(subject: string, scope: string): void {
    if (records[`${subject} ${scope}`] !== undefined) return;
    const members = all.filter((ev) => ev.subject === subject && ['*', scope].includes(ev.scope));
    const open = members.filter((ev) => part(ev) && by(ev).length === 0);
    const live = open.filter(claim);
    const parked = new Map<Ev, string>();
    for (const ev of live)
      if (above(ev)) parked.set(ev, 'UNSIGNED_OVER_SIGNED');
      else if (saidAgain(ev, scope)) parked.set(ev, 'WITHDRAWN_KEY');
    const compared = live.filter((ev) => !parked.has(ev));
    const keysOf = (list: Ev[]): (string | null)[] => [...new Set(list.map(({ key }) => key))];
    const top = Math.max(...compared.map(({ level }) => level));
    const topKeys = keysOf(compared.filter(({ level }) => level === top));
    const one = keysOf(compared).length === 1 || (top > 0 && topKeys.length === 1);
    const agreeing = one ? compared.filter(({ key }) => key === topKeys[0]) : [];
    const served = agreeing.find((a) =>
      agreeing.every(
        (b) =>
          a === b ||
          a.level > b.level ||
          (a.level === b.level && a.place !== undefined && b.place !== undefined && before(a.place, b.place)),
      ),
    );
    const reason = one ? 'UNSIGNED_CONTRADICTS_SIGNED' : top > 0 ? 'SIGNERS_DISAGREE' : 'PARKED';
    for (const ev of compared) if (!agreeing.includes(ev)) parked.set(ev, reason);
    for (const [ev, why] of parked)
      if (why !== 'UNSIGNED_OVER_SIGNED')
        report(why, ['PARKED', 'SIGNERS_DISAGREE'].includes(why) ? null : host(ev), ev);
    const status =
      served === undefined
        ? parked.size > 0
          ? 'parked'
          : 'none'
        : agreeing.length < compared.length
          ? 'contested'
          : 'served';
    const others = agreeing.filter((ev) => ev !== served);
    const conceded = members.filter((ev) => {
      // R3.11
      const from = by(ev);
      if (
        status !== 'served' ||
        !claim(ev) ||
        !part(ev) ||
        ev.key === served?.key ||
        from.length === 0 ||
        bySigned(ev) ||
        from.some((e) => host(e) !== host(ev))
      )
        return false;
      const rivals = agreeing.filter((v) => host(v) !== host(ev));
      return rivals.length > 0 && rivals.every((v) => !below(v).includes(ev) && !over(v).includes(ev));
    });
    for (const ev of conceded) report('CONCEDED', host(ev), ev);
    const barred = members.filter((ev) => ev.held === null && ev.quar !== null && by(ev).length === 0);
    for (const ev of barred)
      if (served !== undefined && claim(ev) && ev.key !== served.key) report('UNTRUSTED_DISAGREES', host(ev), ev);
    const count = (kind: string): number => open.filter(({ body }) => body?.kind === kind).length;
    const counts = {
      corrections: members.filter(
        (ev) => claim(ev) && part(ev) && effect.some(([e, t]) => e === ev && t.subject === subject),
      ).length,
      decisions: count('decision'),
      held: members.filter((ev) => ev.held !== null).length,
      live: live.length,
      proposals: count('propose'),
      quarantined: barred.length,
      questions: count('question'),
    };
    const flags = [
      conceded.length > 0 && 'conceded',
      counts.held > 0 && 'held',
      others.some(({ body }) => body?.home !== undefined && body.home !== served?.body?.home) && 'homes-differ',
      counts.quarantined > 0 && 'quarantined',
      members.some((ev) => revisions.some(([, t]) => t === ev)) && 'revised',
      [...parked.values()].includes('SIGNERS_DISAGREE') && 'signers-disagree',
      served !== undefined && stale(served) && 'stale',
      counts.questions > 0 && 'undecided',
    ].filter((flag) => flag !== false);
    const hosts = others.map(host).filter((name) => served !== undefined && name !== host(served));
    records[`${subject} ${scope}`] = {
      corroboration: { hosts: list(hosts), ids: list(ids(others)) },
      counts,
      flags,
      parked: list(ids([...parked.keys()])),
      scope,
      served: served?.id ?? null,
      status,
      subject,
    };
    own.set(`${subject} ${scope}`, { served, parked });
  }
  const events: OracleState['events'] = {};
  for (const ev of all) {
    const [status, reason] = statusOf(ev);
    events[ev.id] = { status, reason, by: ids(by(ev)).toSorted(), stale: stale(ev) };
  }
  function statusOf(ev: Ev): [string, string | null] {
    const from = by(ev);
    const mine = own.get(`${ev.subject} ${ev.scope}`);
    if (ev.held !== null) return ['held', ev.held];
    if (from.length > 0 && ev.body?.kind === 'question') return ['closed', null];
    const revisedOnly = from.every((e) => revisions.some(([a, b]) => a === e && b === ev));
    if (from.length > 0)
      return [
        from.every(({ body }) => body?.kind === 'retract') ? 'retracted' : 'superseded',
        revisedOnly ? 'REVISED' : null,
      ];
    if (ev.quar !== null) return ['quarantined', ev.quar];
    if (claim(ev))
      return mine?.served === ev
        ? ['served', null]
        : mine?.parked.has(ev) === true
          ? ['parked', mine.parked.get(ev) ?? null]
          : ['corroborates', null];
    if (above(ev)) return ['parked', 'UNSIGNED_OVER_SIGNED'];
    return [ev.body?.kind === 'question' ? 'open' : 'recorded', null];
  }
  const agreed = eligible.filter(([, t]) => undisputed(t)).map(([e, t]) => [host(e), t.id] as const);
  return { records, events, agreed, ...finish() };
  function finish(): { alarms: Record<string, JsonValue>; notices: Record<string, JsonValue> } {
    const out: { alarms: Json; notices: Json } = { alarms: {}, notices: {} };
    for (const { kind, host, subject } of drafts) {
      const same = drafts.filter((d) => d.kind === kind && d.host === host && d.subject === subject);
      const byLine = ['FORGED', 'UNVERIFIABLE', 'OUT_OF_SCOPE'].includes(kind);
      const counted = new Set(same.map(({ id, line }) => (byLine ? line : id))).size;
      const to = ['REVISED', 'DANGLING', 'CONCEDED'].includes(kind) ? out.notices : out.alarms;
      to[`${kind} ${subject ?? ''} ${host ?? ''}`] = {
        count: counted,
        host,
        ids: list(same.map(({ id }) => id)),
        kind,
        subject,
      };
    }
    return out;
  }
}

/** Root of a state whose only charter leaves are the given ones. */
export function oracleRoot(state: OracleState, leaves: readonly (readonly [string, string])[], trust: string): string {
  const records = Object.entries(state.records).map(([key, value]) => [key, sha256Hex(canonicalJson(value))] as const);
  const sorted = [...leaves, ...records].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return sha256Hex(canonicalJson({ leaves: sorted, rules: 1, trust }));
}

function blank(id: string): Ev {
  return {
    id,
    body: null,
    subject: null,
    scope: '*',
    lines: [],
    key: null,
    level: 0,
    signers: [],
    place: undefined,
    held: null,
    quar: null,
  };
}

function ids(list: readonly Ev[]): string[] {
  return list.map(({ id }) => id);
}

function list(texts: readonly string[]): Json {
  const all = [...new Set(texts)].toSorted();
  return { count: all.length, digest: all.length > 8 ? sha256Hex(canonicalJson(all)) : null, first: all.slice(0, 8) };
}

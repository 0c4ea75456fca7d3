/** The chapter State of docs/fold.md, as naive as fold.ts beside it: records, alarms and notices, event status, root. */
import { canonicalJson, type JsonValue } from '../../src/crypto/canonical.ts';
import { sha256Hex } from '../../src/crypto/hash.ts';
import {
  hostOf,
  isBefore,
  isClaim,
  judge,
  takesPart,
  type Ev,
  type Judged,
  type OracleCharter,
  type OracleLine,
} from './fold.ts';

export interface OracleState {
  readonly records: Readonly<Record<string, JsonValue>>;
  readonly alarms: Readonly<Record<string, JsonValue>>;
  readonly notices: Readonly<Record<string, JsonValue>>;
  readonly events: Readonly<
    Record<string, { status: string; reason: string | null; by: readonly string[]; stale: boolean }>
  >;
  /** Ids of the claims that are undisputed (R3.7), whether or not anybody revises them. */
  readonly undisputed: readonly string[];
}

/** One (subject, scope), judged by R4. */
interface Case {
  readonly subject: string;
  readonly scope: string;
  readonly members: readonly Ev[];
  readonly status: string;
  readonly served: Ev | undefined;
  readonly agreeing: readonly Ev[];
  readonly parked: ReadonlyMap<Ev, string>;
}

interface Offence {
  readonly kind: string;
  readonly host: string | null;
  readonly ev: Ev;
  /** Told apart by it when counted. */
  readonly unit: string;
}

export function oracleFold(charter: OracleCharter, lines: readonly OracleLine[]): OracleState {
  const judged = judge(charter, lines);
  const withdrawers = (ev: Ev): readonly Ev[] => judged.inEffect.filter(([, t]) => t === ev).map(([e]) => e);
  const cases = new Map<string, Case>();
  for (const { subject, scope } of judged.all) {
    if (subject !== null) cases.set(`${subject} ${scope}`, caseOf(judged, withdrawers, subject, scope));
  }
  const offences = offencesOf(judged, withdrawers, [...cases.values()]);
  const isNotice = ({ kind }: Offence): boolean => ['REVISED', 'DANGLING', 'CONCEDED'].includes(kind);
  return {
    records: Object.fromEntries([...cases].map(([key, one]) => [key, recordOf(judged, withdrawers, one)])),
    alarms: reportsOf(offences.filter((offence) => !isNotice(offence))),
    notices: reportsOf(offences.filter(isNotice)),
    events: Object.fromEntries(
      judged.all.map((ev) => {
        const [status, reason] = statusOf(judged, withdrawers(ev), ev, cases.get(`${ev.subject} ${ev.scope}`));
        return [ev.id, { status, reason, by: idsOf(withdrawers(ev)).toSorted(), stale: judged.stale(ev) }];
      }),
    ),
    undisputed: idsOf(judged.all.filter((ev) => isClaim(ev) && judged.undisputed(ev))),
  };
}

type Withdrawers = (ev: Ev) => readonly Ev[];

/** R4.2 to R4.8 */
function caseOf(judged: Judged, withdrawers: Withdrawers, subject: string, scope: string): Case {
  const members = judged.all.filter((ev) => ev.subject === subject && ['*', scope].includes(ev.scope));
  const live = members.filter(
    (ev) => isClaim(ev) && takesPart(ev) && withdrawers(ev).length === 0 && ev.purge === undefined,
  );
  const parked = new Map<Ev, string>();
  for (const ev of live) if (judged.saidAgain(ev, scope)) parked.set(ev, 'WITHDRAWN_KEY');
  for (const ev of live) if (judged.aimsAbove(ev)) parked.set(ev, 'UNSIGNED_OVER_SIGNED');
  const compared = live.filter((ev) => !parked.has(ev));
  const keys = new Set(compared.map(({ key }) => key));
  const top = Math.max(...compared.map(({ level }) => level));
  const topKeys = new Set(compared.filter(({ level }) => level === top).map(({ key }) => key));
  const oneWins = keys.size === 1 || (top > 0 && topKeys.size === 1);
  const agreeing = oneWins ? compared.filter(({ key }) => topKeys.has(key)) : [];
  const comesFirst = (a: Ev, b: Ev): boolean =>
    a.level > b.level ||
    (a.level === b.level && a.place !== undefined && b.place !== undefined && isBefore(a.place, b.place));
  const served = agreeing.find((a) => agreeing.every((b) => a === b || comesFirst(a, b)));
  const disputeReason = top > 0 ? 'SIGNERS_DISAGREE' : 'PARKED';
  for (const ev of compared.filter((claim) => !agreeing.includes(claim))) {
    parked.set(ev, oneWins ? 'UNSIGNED_CONTRADICTS_SIGNED' : disputeReason);
  }
  const unserved = parked.size > 0 ? 'parked' : 'none';
  const status = agreeing.length < compared.length ? 'contested' : 'served';
  return { subject, scope, members, status: served === undefined ? unserved : status, served, agreeing, parked };
}

/** R3.11 */
function concededIn(
  judged: Judged,
  withdrawers: Withdrawers,
  { members, status, served, agreeing }: Case,
): readonly Ev[] {
  if (status !== 'served') return [];
  return members.filter((ev) => {
    const by = withdrawers(ev);
    if (!isClaim(ev) || !takesPart(ev) || ev.purge !== undefined) return false;
    if (ev.key === served?.key || by.length === 0 || judged.bySigned(ev)) return false;
    const others = agreeing.filter((claim) => hostOf(claim) !== hostOf(ev));
    const apart = others.every((claim) => ![...judged.below(claim), ...judged.over(claim)].includes(ev));
    return by.every((from) => hostOf(from) === hostOf(ev)) && others.length > 0 && apart;
  });
}

function recordOf(judged: Judged, withdrawers: Withdrawers, one: Case): JsonValue {
  const { subject, scope, members, status, served, agreeing, parked } = one;
  const kept = members.filter(({ purge }) => purge === undefined);
  const open = kept.filter((ev) => ev.held === null && withdrawers(ev).length === 0);
  const count = (kind: string): number => open.filter((ev) => takesPart(ev) && ev.body?.kind === kind).length;
  const bearsWithin = (ev: Ev): boolean => judged.inEffect.some(([e, t]) => e === ev && t.subject === subject);
  const others = agreeing.filter((ev) => ev !== served);
  const counts = {
    corrections: kept.filter((ev) => isClaim(ev) && takesPart(ev) && bearsWithin(ev)).length,
    decisions: count('decision'),
    held: kept.filter(({ held }) => held !== null).length,
    live: count('assert') + count('lesson'),
    proposals: count('propose'),
    purged: members.length - kept.length,
    quarantined: open.filter(({ quar }) => quar !== null).length,
    questions: count('question'),
  };
  const flags = {
    conceded: concededIn(judged, withdrawers, one).length > 0,
    held: counts.held > 0,
    'homes-differ': others.some(({ body }) => body?.home !== undefined && body.home !== served?.body?.home),
    pinned: open.some((ev) => takesPart(ev) && ev.level === 2 && ev.body?.kind === 'pin'),
    purged: counts.purged > 0,
    quarantined: counts.quarantined > 0,
    revised: members.some((ev) => judged.revisions.some(([, t]) => t === ev)),
    'signers-disagree': [...parked.values()].includes('SIGNERS_DISAGREE'),
    stale: served !== undefined && judged.stale(served),
    undecided: counts.questions > 0,
  };
  const hosts = others.map(hostOf).filter((name) => served !== undefined && name !== hostOf(served));
  return {
    corroboration: { hosts: listOf(hosts), ids: listIn(others, others) },
    counts,
    flags: Object.entries(flags).flatMap(([flag, raised]) => (raised ? [flag] : [])),
    parked: listIn([...parked.keys()], [...parked.keys(), ...agreeing]),
    scope,
    served: served?.id ?? null,
    status,
    subject,
  };
}

const alarmOfVerdict: Readonly<Record<string, string>> = {
  forged: 'FORGED',
  unknown: 'UNVERIFIABLE',
  'out-of-scope': 'OUT_OF_SCOPE',
};

/** The table of alarms and notices, row by row. */
function offencesOf(judged: Judged, withdrawers: Withdrawers, cases: readonly Case[]): readonly Offence[] {
  const offences: Offence[] = [];
  const add = (kind: string, host: string | null, ev: Ev, unit = ev.id): void =>
    void offences.push({ kind, host, ev, unit });
  for (const ev of judged.all.filter(({ purge }) => purge === undefined)) {
    for (const line of ev.lines) {
      const verdict = judged.verdict(ev, line);
      const revoked = verdict === 'ok' && !judged.standing(ev, line.auth?.signer ?? '');
      const alarm = revoked ? 'REVOKED' : alarmOfVerdict[verdict ?? ''];
      if (alarm !== undefined) add(alarm, line.log, ev, `${line.log} ${line.seq}`);
      const ofLines = ['REVOKED', 'FORGED', 'UNVERIFIABLE', 'OUT_OF_SCOPE', 'UNPROVEN'];
      const ofBody = ev.held !== null && !ofLines.includes(ev.held);
      if (ofBody) add(ev.held ?? '', line.log, ev);
    }
    if (judged.aimsAbove(ev)) add('UNSIGNED_OVER_SIGNED', hostOf(ev), ev);
    const dangling = ev.body?.supersedes?.some((id) => !judged.has(id)) === true;
    if (judged.bearsAny(ev) && dangling) add('DANGLING', hostOf(ev), ev);
  }
  for (const [e] of judged.revisions) add('REVISED', hostOf(e), e);
  for (const one of cases) {
    for (const [ev, reason] of one.parked) {
      if (reason === 'PARKED' || reason === 'SIGNERS_DISAGREE') add(reason, null, ev);
      else if (reason !== 'UNSIGNED_OVER_SIGNED') add(reason, hostOf(ev), ev);
    }
    for (const ev of concededIn(judged, withdrawers, one)) add('CONCEDED', hostOf(ev), ev);
    const quarantined = one.members.filter((ev) => ev.held === null && ev.quar !== null && ev.purge === undefined);
    const barred = quarantined.filter((ev) => withdrawers(ev).length === 0);
    const disagreeing = barred.filter((ev) => one.served !== undefined && isClaim(ev) && ev.key !== one.served.key);
    for (const ev of disagreeing) add('UNTRUSTED_DISAGREES', hostOf(ev), ev);
  }
  return offences;
}

function reportsOf(offences: readonly Offence[]): Readonly<Record<string, JsonValue>> {
  const same = Map.groupBy(offences, ({ kind, ev, host }) => `${kind} ${ev.subject ?? ''} ${host ?? ''}`);
  return Object.fromEntries(
    [...same].map(([key, group]) => {
      const [{ kind, host, ev }] = group as [Offence];
      const count = new Set(group.map(({ unit }) => unit)).size;
      return [key, { count, host, ids: listOf(idsOf(group.map((one) => one.ev))), kind, subject: ev.subject }];
    }),
  );
}

function statusOf(judged: Judged, by: readonly Ev[], ev: Ev, own: Case | undefined): readonly [string, string | null] {
  if (ev.purge !== undefined) return ['purged', null];
  if (ev.held !== null) return ['held', ev.held];
  if (by.length > 0) {
    if (ev.body?.kind === 'question') return ['closed', null];
    const status = by.every(({ body }) => body?.kind === 'retract') ? 'retracted' : 'superseded';
    const revisedOnly = by.every((from) => judged.revisions.some(([e, t]) => e === from && t === ev));
    return [status, revisedOnly ? 'REVISED' : null];
  }
  if (ev.quar !== null) return ['quarantined', ev.quar];
  const reason = own?.parked.get(ev);
  if (reason !== undefined) return ['parked', reason];
  if (isClaim(ev)) return [own?.served === ev ? 'served' : 'corroborates', null];
  if (judged.aimsAbove(ev)) return ['parked', 'UNSIGNED_OVER_SIGNED'];
  return [ev.body?.kind === 'question' ? 'open' : 'recorded', null];
}

/** Root of a state with these leaves of charter items. */
export function oracleRoot(state: OracleState, leaves: readonly (readonly [string, string])[], trust: string): string {
  const records = Object.entries(state.records).map(([key, value]) => [key, sha256Hex(canonicalJson(value))] as const);
  const all = [...leaves, ...records].map(([key, digest]): OracleLeaf => {
    const path = sha256Hex(canonicalJson(key.split(' ')));
    const bits = Array.from(path, (digit) => Number.parseInt(digit, 16).toString(2).padStart(4, '0')).join('');
    return { bits, hash: sha256Hex(Buffer.from(`00${path}${digest}`, 'hex')) };
  });
  return sha256Hex(canonicalJson({ rules: 2, top: treeOf(all, 0), trust }));
}

interface OracleLeaf {
  readonly bits: string;
  readonly hash: string;
}

/** Hash of a tree of these leaves, which have their first `depth` bits in common. */
function treeOf(leaves: readonly OracleLeaf[], depth: number): string {
  if (leaves.length === 0) return '00'.repeat(32);
  if (leaves.length === 1) return leaves[0]?.hash ?? '';
  const [left, right] = ['0', '1'].map((bit) =>
    treeOf(
      leaves.filter(({ bits }) => bits[depth] === bit),
      depth + 1,
    ),
  );
  return sha256Hex(Buffer.from(`01${left}${right}`, 'hex'));
}

function idsOf(list: readonly Ev[]): string[] {
  return list.map(({ id }) => id);
}

/** A list of a record, of two parts: `*`, for which all of it in `standsFor` is hashed, and the scope's own. */
function listIn(list: readonly Ev[], standsFor: readonly Ev[]): JsonValue {
  const wide = idsOf(standsFor.filter(({ scope }) => scope === '*')).toSorted();
  const own = idsOf(list.filter(({ scope }) => scope !== '*')).toSorted();
  const digest = sha256Hex(canonicalJson([sha256Hex(canonicalJson(wide)), own]));
  return { ...(listOf(idsOf(list)) as object), digest: list.length > 8 ? digest : null };
}

function listOf(texts: readonly string[]): JsonValue {
  const all = [...new Set(texts)].toSorted();
  return { count: all.length, digest: all.length > 8 ? sha256Hex(canonicalJson(all)) : null, first: all.slice(0, 8) };
}

/** What every history must satisfy: equality with the oracle, and the safety promises under attack. */
import {
  eventsOf,
  eventView,
  readState,
  subjectsOf,
  type Fold,
  type FoldLine,
  type FoldPorts,
} from '../../src/core/fold/fold.ts';
import { recordKey, type EventView, type SubjectRecord } from '../../src/core/fold/state.ts';
import { leafCount } from '../../src/core/merkle.ts';
import { charterLeaves, proveKey } from '../../src/core/root.ts';
import type { Charter } from '../../src/core/trust/charter.ts';
import { scopeCovers } from '../../src/core/trust/scope.ts';
import { oracleFold, oracleRoot, type OracleState } from '../oracle/fold-state.ts';
import { fakePorts, trust } from './fold-builders.ts';
import { scopes, subjects } from './fold-histories.ts';

/** Everything that a fold says, in one text: two folds agree iff their texts are equal. */
export function dumpFold(fold: Fold): string {
  const { records, alarms, notices, counts, root } = readState(fold);
  const ids = ['', ...subjectsOf(fold)].flatMap((subject) => eventsOf(fold, subject)).toSorted();
  const events = ids.map((id) => [id, eventView(fold, id)]);
  return JSON.stringify({
    records: sorted(records),
    alarms: sorted(alarms),
    notices: sorted(notices),
    counts,
    root,
    events,
  });
}

/** The part of a fold's word that the oracle speaks of too. */
export function dumpComparable(fold: Fold): string {
  const { records, alarms, notices, root } = readState(fold);
  const events: OracleState['events'] = Object.fromEntries(
    ['', ...subjectsOf(fold)]
      .flatMap((subject) => eventsOf(fold, subject))
      .flatMap((id) => eventView(fold, id) ?? [])
      .map(({ id, status, reason, by, stale }) => [id, { status, reason, by, stale }]),
  );
  return dump({ records: sorted(records), alarms: sorted(alarms), notices: sorted(notices), events }, root);
}

/** The same from the oracle. */
export function dumpOracle(
  charter: Charter,
  lines: readonly FoldLine[],
  given: { readonly ports: FoldPorts; readonly trust: string } = { ports: fakePorts, trust },
): string {
  const state = askOracle(charter, lines, given.ports);
  return dump(state, oracleRoot(state, [...charterLeaves(charter)], given.trust));
}

export function askOracle(charter: Charter, lines: readonly FoldLine[], ports: FoldPorts = fakePorts): OracleState {
  return oracleFold(
    {
      meshId: charter.meshId,
      classes: charter.classes,
      audiences: charter.audiences,
      scopes: (signer) => charter.signers.get(signer)?.scopes ?? [],
      revocations: (signer) => charter.signers.get(signer)?.revocations.map(({ marks }) => marks) ?? [],
      delegations: charter.delegations.map((delegation) => ({
        ...delegation,
        underKey: (seq) =>
          charter.hosts
            .get(delegation.host)
            ?.spans.some(
              ({ key, from, upto }) =>
                from <= seq && seq <= (upto ?? seq) && String(key) === String(delegation.key.raw32),
            ) === true,
      })),
      purges: charter.purges,
      covers: scopeCovers,
      approve: (auth, message, subject) => ports.approve(charter, auth, message, subject),
    },
    lines,
  );
}

function dump(state: { [K in keyof Omit<OracleState, 'undisputed'>]: unknown }, root: string): string {
  const { records, alarms, notices, events } = state;
  return JSON.stringify({
    records: byKey(records),
    alarms: byKey(alarms),
    notices: byKey(notices),
    events: byKey(events),
    root,
  });
}

function byKey(value: unknown): unknown {
  const entries = Array.isArray(value) ? (value as [string, unknown][]) : Object.entries(value as object);
  return entries.toSorted(([a], [b]) => (a < b ? -1 : 1));
}

function sorted<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** A promise that a state breaks, or nothing. */
export type Broken = string | undefined;

/** True iff one event names another, however indirectly: a skeleton that closes a circle has no say there (R0.5 e). */
function leadsTo(fold: Fold, from: string, to: string, seen = new Set<string>()): boolean {
  if (from === to || seen.has(from)) return from === to;
  const view = eventView(fold, from);
  const { supersedes = [], basis = [] } = view?.purge?.target ?? view?.body ?? {};
  return [...supersedes, ...basis].some((next) => leadsTo(fold, next, to, seen.add(from)));
}

/** S1 and S5, judged from the lines alone: they know nothing of edges but what signers signed. */
export function brokenSignedPromise(fold: Fold, charter: Charter): Broken {
  const views = viewsOf(fold).filter(({ body }) => body !== null);
  const purged = viewsOf(fold).flatMap(({ purge, level }) => (purge !== null && level === 'signed' ? purge : []));
  const signs = (view: EventView, subject: string): boolean =>
    view.signers.some((name) =>
      [view.subject ?? '', subject].every((s) => scopeCovers(charter.signers.get(name)?.scopes ?? [], s)),
    );
  const isClaim = ({ body }: EventView): boolean => body?.kind === 'assert' || body?.kind === 'lesson';
  const said = views.filter((view) => view.level === 'signed' && view.status !== 'held');
  const dead = new Set(
    said
      .filter(({ body }) => ['assert', 'lesson', 'retract'].includes(body?.kind ?? ''))
      .flatMap((view) =>
        (view.body?.supersedes ?? []).filter((id) => signs(view, eventView(fold, id)?.subject ?? '?')),
      ),
  );
  for (const { target } of purged) {
    // One that is held for its class or audience does nothing, as before it was purged.
    if (!['assert', 'lesson', 'retract'].includes(target.kind) || fold.nodes.get(target.id)?.held !== null) continue;
    for (const id of target.supersedes) if (!leadsTo(fold, id, target.id)) dead.add(id);
  }
  const live = said.filter((view) => isClaim(view) && !dead.has(view.id));
  for (const record of readState(fold).records.values()) {
    const { subject, scope, served } = record;
    const here = live.filter((view) => view.subject === subject && ['*', scope].includes(view.body?.scope ?? '*'));
    const shown = served === null ? undefined : eventView(fold, served);
    if (new Set(here.map(keyOf)).size === 1 && shown?.level !== 'signed')
      return `S1 signed truth is not served: ${subject} ${scope}`;
    const gone = views.some(
      (view) =>
        view.subject === subject &&
        isClaim(view) &&
        dead.has(view.id) &&
        shown !== undefined &&
        keyOf(view) === keyOf(shown),
    );
    const again = live.some((view) => view.subject === subject && shown !== undefined && keyOf(view) === keyOf(shown));
    if (shown !== undefined && shown.level !== 'signed' && gone && !again)
      return `S5 a signed retraction is undone: ${subject} ${scope}`;
  }
  return undefined;
}

/**
 * K1 to K5: what nobody without a signer's key may do, whoever and however many they are. Read off the two folds; what
 * edges are and how they are judged is no part of it.
 */
export function brokenAuthority(before: Fold, after: Fold): Broken {
  for (const was of readState(before).records.values()) {
    const is = readState(after).records.get(recordKey(was.subject, was.scope));
    const broken = is === undefined ? 'a record is gone' : brokenRecord(before, after, { was, is });
    if (broken !== undefined) return `${broken}: ${was.subject} ${was.scope}`;
  }
  for (const node of before.nodes.values()) {
    const now = after.nodes.get(node.id);
    if (node.withdrawnBySigned && now?.withdrawnBySigned !== true)
      return `K3 what a signer withdrew is no longer withdrawn: ${node.id}`;
    if (node.status === 'purged' && now?.status !== 'purged') return `K4 a purged event came back: ${node.id}`;
    if (node.level === 'signed' && now?.level !== 'signed') return `K2 an approval stopped counting: ${node.id}`;
    if (node.level === 'unsigned' && now !== undefined && now.level !== 'unsigned')
      return `K2 an event gained the level ${now.level}: ${node.id}`;
  }
  return charterIn(before) === charterIn(after) ? undefined : 'K5 the charter is another one';
}

function brokenRecord(
  before: Fold,
  after: Fold,
  { was, is }: { readonly was: SubjectRecord; readonly is: SubjectRecord },
): Broken {
  if (was.flags.includes('pinned') !== is.flags.includes('pinned')) return 'K2 a pin appeared or is gone';
  const claim = was.served === null ? undefined : must(eventView(before, was.served));
  if (claim?.level !== 'signed') return undefined;
  const shown = is.served === null ? undefined : must(eventView(after, is.served));
  if (shown?.level !== 'signed') return 'K1 a signed subject serves nothing signed';
  return keyOf(shown) === keyOf(claim) ? undefined : 'K1 a signed subject serves something else';
}

/** Everything that the root has of the charter: each item as it is proved, and how many leaves there are besides records. */
function charterIn({ charter, records, tree, trust }: Fold): string {
  const items = [...charterLeaves(charter).keys()].map((item) => [item, proveKey(tree, item).leaf]);
  return JSON.stringify([trust, items, leafCount(tree) - records.size]);
}

/** An unsigned attack by `hosts`. `undisputed`: claims that nobody disputed before, in the sense of R3.7. */
export interface Attack {
  readonly before: Fold;
  readonly after: Fold;
  readonly hosts: ReadonlySet<string>;
  readonly undisputed: ReadonlySet<string>;
}

/** Q2, Q3, Q1, S1b, R1, R2: what an unsigned attack by some hosts may never do to what was before. */
export function brokenByAttack(attack: Attack): Broken {
  for (const subject of subjects) {
    for (const scope of scopes) {
      const was = readState(attack.before).records.get(recordKey(subject, scope));
      const is = readState(attack.after).records.get(recordKey(subject, scope));
      if (was === undefined) continue;
      const broken =
        is === undefined ? 'a record is gone' : (brokenDispute(attack, was, is) ?? brokenService(attack, was, is));
      if (broken !== undefined) return `${broken}: ${subject} ${scope} by ${[...attack.hosts].join(' ')}`;
    }
  }
  return undefined;
}

/**
 * Q2 and Q3 speak of claims in dispute as R3.7 has it. A claim can be parked without that: when the one revision of it
 * lapsed because its host narrowed or took back its word. Whoever revises such a claim settles nothing between others.
 */
function brokenDispute({ before, after, hosts, undisputed }: Attack, was: SubjectRecord, is: SubjectRecord): Broken {
  const open = openQuestions(before, was).filter((view) => !hosts.has(view.body?.host ?? ''));
  if (open.some(({ id }) => eventView(after, id)?.status !== 'open'))
    return 'Q1 the question of another host was closed';
  if (was.status !== 'parked' || is.status === 'parked') return undefined;
  const others = was.parked.first
    .map((id) => must(eventView(before, id)))
    .filter(
      (view) =>
        view.reason === 'PARKED' &&
        !hosts.has(view.body?.host ?? '') &&
        view.level === 'unsigned' &&
        !undisputed.has(view.id),
    );
  const keys = new Set(others.map(keyOf));
  if (keys.size >= 2) return 'Q2 a dispute between two hosts was settled by a third';
  const shown = is.served === null ? undefined : eventView(after, is.served);
  const inFavour = keys.size === 1 && (shown === undefined || !keys.has(keyOf(shown)));
  return inFavour ? 'Q3 a party settled its own dispute in its favour' : undefined;
}

function brokenService({ before, after, hosts }: Attack, was: SubjectRecord, is: SubjectRecord): Broken {
  if (was.served === null) return undefined;
  const claim = must(eventView(before, was.served));
  const shown = is.served === null ? undefined : eventView(after, is.served);
  if (claim.level === 'signed') return shown?.level === 'signed' ? undefined : 'S1b signed truth stopped being served';
  if (was.status !== 'served' || hosts.has(claim.body?.host ?? '')) return undefined;
  const ownWord = viewsOf(before).some(
    (view) => hosts.has(view.body?.host ?? '') && view.subject === was.subject && keyOf(view) === keyOf(claim),
  );
  const nothingLeft = is.served === null && is.parked.count === 0;
  if (nothingLeft && !ownWord) return "R1 another host's belief was removed and nothing is left";
  const replaced = shown !== undefined && hosts.has(shown.body?.host ?? '') && keyOf(shown) !== keyOf(claim);
  if (!replaced) return undefined;
  // Parked: a signer withdrew what it says, and the attacker showed the withdrawn body. Else it was revised.
  const named = eventView(after, claim.id)?.status === 'parked' || is.flags.includes('revised');
  if (!named) return "R2 another host's belief was replaced and the record does not say so";
  return shown.stale === is.flags.includes('stale')
    ? undefined
    : 'R2 a belief was replaced by a stale claim that looks fresh';
}

function openQuestions(fold: Fold, { subject, scope }: SubjectRecord): readonly EventView[] {
  return viewsOf(fold).filter(
    (view) => view.status === 'open' && view.subject === subject && ['*', scope].includes(view.body?.scope ?? '*'),
  );
}

function viewsOf(fold: Fold): readonly EventView[] {
  return subjectsOf(fold)
    .flatMap((subject) => eventsOf(fold, subject))
    .map((id) => must(eventView(fold, id)));
}

function keyOf({ body }: EventView): string {
  if (body === null) return '';
  const said =
    body.value === undefined
      ? `c${(body.content ?? '')
          .split(/[\t\n\v\f\r ]+/)
          .join(' ')
          .trim()}`
      : `v${body.value}`;
  return `${body.polarity ?? ''} ${said}`;
}

function must<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('expected to be there');
  return value;
}

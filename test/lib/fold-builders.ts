/**
 * Small worlds for tests of the fold: hosts say things, signers approve them, and the fold is asked what it makes of it.
 * Approvals are fake: a table says which are good, so that a history costs microseconds. Real ones have their own tests.
 */
import type { Auth, Body, Kind } from '../../src/core/event.ts';
import { eventId } from '../../src/core/event.ts';
import {
  createFold,
  eventView,
  foldLines,
  readState,
  type Fold,
  type FoldLine,
  type FoldPorts,
} from '../../src/core/fold/fold.ts';
import { recordKey, type EventView, type SubjectRecord } from '../../src/core/fold/state.ts';
import type { Charter } from '../../src/core/trust/charter.ts';
import type { PurgeSkeleton } from '../../src/core/trust/op-types.ts';
import { scopeCovers } from '../../src/core/trust/scope.ts';
import { sha256Hex } from '../../src/crypto/hash.ts';

export const meshId = 'a'.repeat(64);
export const trust = 'b'.repeat(64);

type ClassInput = { revise: 'mesh' | 'host' | null; claims: 'fact' | 'rule' | null };

export interface CharterInput {
  readonly signers?: Readonly<Record<string, readonly string[]>>;
  readonly classes?: Readonly<Record<string, ClassInput>>;
  readonly audiences?: Readonly<Record<string, readonly string[]>>;
  /** By signer, the marks of each revocation in force: per log a seq, or a seq and the link that must stand there. */
  readonly revoked?: Readonly<Record<string, readonly Marks[]>>;
  readonly delegations?: readonly DelegationInput[];
  readonly purges?: readonly PurgeInput[];
  /** Hosts that changed their key, and the last seq of the old one. */
  readonly rekeyed?: Readonly<Record<string, number>>;
}

export type Marks = Readonly<Record<string, number | { readonly seq: number; readonly link: string }>>;

export interface DelegationInput {
  readonly host: string;
  readonly subjects?: readonly string[];
  readonly kinds?: readonly Kind[];
  readonly from?: number;
  readonly upto: number;
  /** The key that it names: the host's first one, or the one after its rekey. */
  readonly key?: 'first' | 'second';
}

export interface PurgeInput {
  readonly target: PurgeSkeleton;
}

/** craig and dana may approve everything, bob only subjects of note/two. */
export const usualCharter = {
  signers: { craig: ['*'], bob: ['note/two*'], dana: ['*'] },
  classes: {
    note: { revise: 'mesh', claims: 'fact' },
    lesson: { revise: 'mesh', claims: 'rule' },
    policy: { revise: 'host', claims: 'fact' },
    decision: { revise: null, claims: null },
  },
  audiences: { operator: ['agents'], agents: [], staff: ['operator'] },
} as const satisfies CharterInput;

/** A charter without hosts: the fold asks it for signers, classes and audiences only. */
export function fakeCharter(input: CharterInput = usualCharter): Charter {
  const origin = { op: 'c'.repeat(64), by: { signer: 'craig', key: 'SHA256:x' } };
  const signers = Object.entries(input.signers ?? usualCharter.signers).map(([name, scopes]) => {
    const revocations = (input.revoked?.[name] ?? []).map((marks) => ({ ...origin, marks: marksOf(marks) }));
    const status = revocations.length === 0 ? 'active' : 'revoked';
    return [name, { ...origin, name, key: { text: `key of ${name}` }, scopes, rank: 0, status, revocations }];
  });
  const hosts = ['alpha', 'beta', 'gamma'].map((name) => [name, { ...origin, name, ...hostFields(input, name) }]);
  const delegations = (input.delegations ?? []).map(({ host, key = 'first', ...rest }, i) => ({
    ...origin,
    op: i.toString(16).padStart(64, 'd'),
    host,
    key: fakeKey(`${host} ${key}`),
    subjects: ['*'],
    kinds: ['assert', 'lesson', 'retract', 'question', 'decision', 'observe', 'pin'],
    from: 1,
    ...rest,
  }));
  const purges = (input.purges ?? []).map(({ target }) => [target.id, { ...origin, reason: 'secret', target }]);
  const classes = Object.entries(input.classes ?? usualCharter.classes).map(([name, fields]) => [
    name,
    { ...origin, description: '', ...fields },
  ]);
  const audiences = Object.entries(input.audiences ?? usualCharter.audiences).map(([name, includes]) => [
    name,
    { ...origin, includes },
  ]);
  return {
    meshId,
    name: 'test',
    hosts: new Map(hosts as never),
    signers: new Map(signers as never),
    classes: new Map(classes as never),
    audiences: new Map(audiences as never),
    policy: new Map(),
    delegations: delegations as never,
    purges: new Map(purges as never),
    conflicts: [],
  };
}

function hostFields({ rekeyed }: CharterInput, name: string): object {
  const [first, second] = [fakeKey(`${name} first`), fakeKey(`${name} second`)];
  const upto = rekeyed?.[name] ?? null;
  const spans = [
    { op: '', key: first.raw32, from: 1, upto },
    ...(upto === null ? [] : [{ op: '', key: second.raw32, from: upto + 1, upto: null }]),
  ];
  const current = upto === null ? first : second;
  const keys = spans.map(({ key }) => key);
  return { sign: current, ssh: current, address: '', status: 'active', spans, keys, pins: [], end: null, fork: null };
}

function fakeKey(text: string): { text: string; raw32: Uint8Array } {
  return { text, raw32: new TextEncoder().encode(text) };
}

function marksOf(marks: Marks): ReadonlyMap<string, { seq: number; link: string }> {
  return new Map(
    Object.entries(marks).map(([log, mark]) => [
      log,
      typeof mark === 'number' ? { seq: mark, link: fakeLink(log, mark) } : mark,
    ]),
  );
}

/** The link that the fake line at this place has, whatever it carries. */
function fakeLink(log: string, seq: number): string {
  return sha256Hex(`${log} ${seq}`);
}

/**
 * Approvals whose `sshsig` is `good` are good, whatever they stand beside; those that say `for ID` are good for that event
 * alone.
 */
export const fakePorts: FoldPorts = {
  approve: (charter, auth, message, subject) => {
    const signer = charter.signers.get(auth.signer);
    if (signer === undefined) return 'unknown';
    if (auth.sshsig !== 'good' && auth.sshsig !== `for ${sha256Hex(message)}`) return 'forged';
    return scopeCovers(signer.scopes, subject) ? 'ok' : 'out-of-scope';
  },
};

export function fakeAuth(signer: string, sshsig = 'good'): Auth {
  return { key: `SHA256:${signer}`, signer, sshsig };
}

export type Fields = Partial<Omit<Body, 'kind' | 'subject'>>;

/** How a line is carried: in whose log (the host's own by default), approved by whom (or with what), or broken how. */
export interface Carriage {
  readonly log?: string;
  readonly sign?: string;
  readonly sshsig?: string;
  readonly auth?: Auth;
  readonly fault?: 'FIELD_VALUE' | 'UNKNOWN_VERSION' | 'HOLE';
}

/** A line as the fold takes it. Place in the chain and host signature are none of its business. */
export function fakeLine(place: { log: string; seq: number }, body: Body, carriage: Carriage = {}): FoldLine {
  const { fault, sign, sshsig, auth = sign === undefined ? null : fakeAuth(sign, sshsig) } = carriage;
  const line = {
    ...place,
    v: fault === 'UNKNOWN_VERSION' ? 2 : 1,
    prev: meshId,
    auth,
    id: eventId(body),
    body: fault === undefined ? body : null,
    fault: fault ?? null,
    held: fault === 'FIELD_VALUE' ? { subject: body.subject, scope: body.scope ?? '*' } : null,
    link: fakeLink(place.log, place.seq),
    sig: '',
    text: '',
  };
  return line as unknown as FoldLine;
}

/** Hosts that write, one event at a time. Every event has its own id. */
export interface World {
  readonly lines: FoldLine[];
  /** Says something in the host's own log and returns the id. */
  say(host: string, kind: Kind, subject: string, fields?: Fields, carriage?: Carriage): string;
  /** Carries the body of a known id once more. */
  carry(log: string, id: string, carriage?: Omit<Carriage, 'log'>): void;
  /** Makes an event without carrying it: its id can be named, and `carry` shows it later. */
  keep(host: string, kind: Kind, subject: string, fields?: Fields): string;
}

export function newWorld(): World {
  const lines: FoldLine[] = [];
  const seqs = new Map<string, number>();
  const bodies = new Map<string, Body>();
  const write = (log: string, body: Body, carriage: Carriage): void => {
    const seq = (seqs.get(log) ?? 0) + 1;
    seqs.set(log, seq);
    lines.push(fakeLine({ log, seq }, body, carriage));
  };
  const keep: World['keep'] = (host, kind, subject, fields = {}) => {
    const nonce = bodies.size.toString(16).padStart(32, '0');
    const stamp = { mesh: meshId, host, session: 's', at: '2026-07-27T12:00:00.000Z', nonce };
    const body = { ...stamp, kind, subject, ...fields } as Body;
    const id = eventId(body);
    bodies.set(id, body);
    return id;
  };
  const bodyOf = (id: string): Body => {
    const body = bodies.get(id);
    if (body === undefined) throw new Error(`no such event in this world: ${id}`);
    return body;
  };
  return {
    lines,
    keep,
    say: (host, kind, subject, fields = {}, carriage = {}) => {
      const id = keep(host, kind, subject, fields);
      write(carriage.log ?? host, bodyOf(id), carriage);
      return id;
    },
    carry: (log, id, carriage = {}) => write(log, bodyOf(id), carriage),
  };
}

/** What the fold makes of a world, in short questions. */
export interface Beliefs {
  readonly fold: Fold;
  readonly record: (subject: string, scope?: string) => SubjectRecord;
  readonly view: (id: string) => EventView;
  /** `KIND subject host`, sorted. */
  readonly alarms: readonly string[];
  readonly notices: readonly string[];
}

export function beliefsOf(world: { readonly lines: readonly FoldLine[] }, charter: Charter = fakeCharter()): Beliefs {
  const fold = createFold(charter, trust, fakePorts);
  foldLines(fold, world.lines);
  return readBeliefs(fold);
}

export function readBeliefs(fold: Fold): Beliefs {
  const state = readState(fold);
  const record = (subject: string, scope = '*'): SubjectRecord => {
    const found = state.records.get(recordKey(subject, scope));
    if (found === undefined) throw new Error(`no record: ${subject} ${scope}`);
    return found;
  };
  const view = (id: string): EventView => {
    const found = eventView(fold, id);
    if (found === undefined) throw new Error(`no event: ${id}`);
    return found;
  };
  return {
    fold,
    record,
    view,
    alarms: [...state.alarms.keys()].toSorted(),
    notices: [...state.notices.keys()].toSorted(),
  };
}

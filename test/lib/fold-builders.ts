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
import { scopeCovers } from '../../src/core/trust/scope.ts';

export const meshId = 'a'.repeat(64);
export const trust = 'b'.repeat(64);

type ClassInput = { revise: 'mesh' | 'host' | null; claims: 'fact' | 'rule' | null };

export interface CharterInput {
  readonly signers?: Readonly<Record<string, readonly string[]>>;
  readonly classes?: Readonly<Record<string, ClassInput>>;
  readonly audiences?: Readonly<Record<string, readonly string[]>>;
}

/** craig may approve everything, bob only subjects of note/two. */
export const usualCharter = {
  signers: { craig: ['*'], bob: ['note/two*'] },
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
  const signers = Object.entries(input.signers ?? usualCharter.signers).map(([name, scopes]) => [
    name,
    { ...origin, name, key: { text: `key of ${name}` }, scopes, rank: 0 },
  ]);
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
    hosts: new Map(),
    signers: new Map(signers as never),
    classes: new Map(classes as never),
    audiences: new Map(audiences as never),
    policy: new Map(),
    conflicts: [],
  };
}

/** Approvals whose `sshsig` is `good` are good; `odd` ones are of a sort that cannot be checked. */
export const fakePorts: FoldPorts = {
  approve: (charter, auth, _message, subject) => {
    const signer = charter.signers.get(auth.signer);
    if (signer === undefined) return 'unknown';
    if (auth.sshsig === 'odd') return 'unsupported';
    if (auth.sshsig !== 'good') return 'forged';
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
    link: meshId,
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

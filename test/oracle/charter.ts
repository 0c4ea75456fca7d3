/**
 * A second charter, written from the sentences of docs/fold.md T and from nothing else: plain sets, no index, no bit
 * sets, no sharing with src/core/trust. Slow and meant to be obviously right. It takes well-formed op texts, and no more
 * void ops than are kept (T1.8).
 */
import { createHash } from 'node:crypto';
import { parseSshPublicKey } from '../../src/crypto/ssh-key.ts';
import { verifySshsig } from '../../src/crypto/sshsig.ts';
import { forksOf, isForkProof, readOracleFork, validForks, type OracleFork } from './charter-forks.ts';
import { agreed, hostItem, isDisputed, type HostItem } from './charter-items.ts';
import {
  approverOf,
  byId,
  countedAbout,
  counts,
  descendsFrom,
  sayings,
  sha256,
  sortText,
  type OracleBody,
  type OracleOp,
  type Saying,
  type View,
} from './charter-ops.ts';

export interface OracleCharter {
  readonly valid: readonly string[];
  readonly counted: readonly string[];
  readonly items: Readonly<Record<string, unknown>>;
  readonly delegations: readonly string[];
  readonly purges: Readonly<Record<string, string>>;
  readonly alarms: readonly string[];
  readonly trustHash: string;
}

const ofThisVersion = new Set(
  'genesis host-add host-rekey host-revoke signer-add signer-revoke class-add audience-add policy-set delegate purge'.split(
    ' ',
  ),
);
/** Reads an op text. The body is the rest of the text after the approval, which holds no quote that could mislead. */
export function readOracleOp(text: string): OracleOp {
  const message = text.slice(text.indexOf(',"body":') + 8, -1);
  const { auth, body } = JSON.parse(text) as { auth: { sshsig: string }; body: OracleBody };
  return { id: sha256(message), sshsig: auth.sshsig, message, body };
}

/** Everything T says about a set of op texts, whatever their order. */
export function oracleCharter(meshId: string, texts: readonly string[]): OracleCharter {
  const offered = texts.filter((text) => !isForkProof(text)).map(readOracleOp);
  const ancestors = new Map<string, ReadonlySet<string>>();
  const valid = new Map<string, OracleOp>();
  const unsupported = new Map<string, OracleOp>();
  // T1.2, T1.3: what is valid can only become more, so go round until nothing is added.
  for (let before = -1; before !== valid.size;) {
    before = valid.size;
    for (const op of offered) {
      if (valid.has(op.id) || !isValid(meshId, { valid, ancestors }, op)) continue;
      if (ofThisVersion.has(op.body.op)) valid.set(op.id, op);
      else unsupported.set(op.id, op);
    }
  }
  const view = viewOf([...valid.values()], ancestors);
  const forks = validForks(meshId, valid, texts.filter(isForkProof).map(readOracleFork));
  return { valid: sortText(valid.keys()), ...charterOf(view, forks, [...unsupported.values()]) };
}

function charterOf(view: View, forks: readonly OracleFork[], later: readonly OracleOp[]): Omit<OracleCharter, 'valid'> {
  const items: Record<string, unknown> = {};
  const live = later.filter((op) => view.ranks.has(approverOf(op)) && !view.force.has(approverOf(op)));
  const alarms = live.map((op) => `OP_UNSUPPORTED ${op.body.op}`); // T1.10
  const cuts: [string, number][] = [];
  for (const item of sortText(new Set(view.ops.flatMap((op) => Object.keys(sayings(op)))))) {
    const value = valueOf(view, item);
    if (isForked(view, item)) alarms.push(`CHARTER_FORK ${item}`);
    if (value === 'held') alarms.push(...(hostItem(view, item)?.revoked === true ? [] : [`KEY_REUSED ${item}`]));
    else if (value !== null) {
      items[item] = { ...value.fields, ...besides(view, item, value) };
      const fork = item.startsWith('host:') ? forksOf(hostItem(view, item) as HostItem, item, forks) : null;
      if (fork === null) continue;
      cuts.push([item.slice(5), fork]);
      alarms.push(`LOG_FORKED ${item}`);
      const host = items[item] as { end: number | null };
      items[item] = { ...host, status: 'forked', fork, end: Math.min(host.end ?? fork - 1, fork - 1) };
    }
  }
  const counted = view.ops.filter((op) => counts(view, op)).toSorted(byId);
  const delegations = counted.filter(
    (op) => op.body.op === 'delegate' && hasKey(items[`host:${op.body['host'] as string}`], op),
  );
  const list = [...sortText(view.ops.map(({ id }) => id)), ...cuts.toSorted(([a], [b]) => (a < b ? -1 : 1))];
  return {
    counted: counted.map(({ id }) => id),
    items,
    delegations: delegations.map(({ id }) => id),
    purges: purgesOf(view, counted),
    alarms: sortText(alarms),
    trustHash: sha256(JSON.stringify(list)), // T1.11
  };
}

/** What the charter tells of an item beside what its op says. */
function besides(view: View, item: string, value: Saying): object {
  if (item.startsWith('host:')) {
    const { address, spans, pins, end, revoked } = hostItem(view, item) as HostItem;
    return { pin: undefined, address, status: revoked ? 'revoked' : 'active', spans, pins, end, fork: null };
  }
  if (!item.startsWith('signer:')) return {};
  const name = value.op.body.op === 'genesis' ? item.slice(7) : value.op.body.name;
  const force = view.force.get(`${name} ${fingerprint(value.fields['key'] as string)}`) ?? [];
  return { revocations: sortText(force.map(({ id }) => id)) };
}

/** T2.11. */
function hasKey(host: unknown, op: OracleOp): boolean {
  const spans = (host as { spans?: readonly (readonly [string, number, number | null])[] } | undefined)?.spans ?? [];
  return spans.some(([key]) => key === op.body['key']);
}

/** T5.1. */
function purgesOf(view: View, counted: readonly OracleOp[]): Record<string, string> {
  const purges: Record<string, string> = {};
  for (const op of counted) {
    if (op.body.op !== 'purge') continue;
    const before = viewOf(
      sortText(view.ancestors.get(op.id) ?? []).map((id) => view.ops.find((one) => one.id === id) as OracleOp),
      view.ancestors,
    );
    const { fields } = valueOf(before, `signer:${op.body.by.signer}`) as Saying;
    for (const { id } of op.body['targets'] as { id: string }[])
      if (!(id in purges) && (fields['scopes'] as string[]).includes('*')) purges[id] = op.id;
  }
  return purges;
}

// ---- T1

interface Known {
  readonly valid: ReadonlyMap<string, OracleOp>;
  readonly ancestors: Map<string, ReadonlySet<string>>;
}

function isValid(meshId: string, { valid, ancestors }: Known, op: OracleOp): boolean {
  if (op.body.op === 'genesis') {
    ancestors.set(op.id, new Set());
    return op.id === meshId && verifies(op, (op.body['signer'] as { key: string }).key); // T1.1
  }
  if (op.body.mesh !== meshId || !op.body.prev.every((id) => valid.has(id))) return false;
  const older = new Set(op.body.prev.flatMap((id) => [id, ...(ancestors.get(id) ?? [])]));
  ancestors.set(op.id, older);
  const view = viewOf(
    [...older].map((id) => valid.get(id) as OracleOp),
    ancestors,
  );
  const signer = valueOf(view, `signer:${op.body.by.signer}`); // T1.2a
  if (signer === null || signer === 'held') return false;
  const key = signer.fields['key'] as string;
  const scopes = signer.fields['scopes'] as string[];
  if (fingerprint(key) !== op.body.by.key || (view.force.get(approverOf(op)) ?? []).length > 0) return false;
  if (!scopes.includes(op.body.op === 'purge' ? 'purge' : 'charter')) return false; // T1.2b
  return (!ofThisVersion.has(op.body.op) || maySay(view, op, scopes)) && verifies(op, key); // T1.2i
}

/** T1.2 c to h. */
function maySay(view: View, op: OracleOp, scopes: readonly string[]): boolean {
  const { body } = op;
  const isFree = (item: string): boolean => countedAbout(view, item).length === 0;
  const host = hostItem(view, `host:${body.name}`);
  switch (body.op) {
    case 'signer-add': {
      const item = `signer:${body.name}`;
      return (
        (body['scopes'] as string[]).every((scope) => grants(scopes, scope)) && (isFree(item) || isForked(view, item))
      );
    }
    case 'host-add':
      return isFree(`host:${body.name}`) || (isForked(view, `host:${body.name}`) && host === null);
    case 'host-rekey': {
      const pin = body['pin'] as { seq: number; link: string };
      const last = host?.linePins.at(-1);
      return (
        host !== null &&
        !host.revoked &&
        !countedAbout(view, `host:${body.name}`).some(({ fields }) => fields['sign'] === body['sign']) &&
        (last === undefined || pin.seq > last[0] || (pin.seq === last[0] && pin.link === last[1]))
      );
    }
    case 'host-revoke':
      return !isFree(`host:${body.name}`);
    case 'delegate': {
      const value = valueOf(view, `host:${body['host'] as string}`);
      const isRevoked = hostItem(view, `host:${body['host'] as string}`)?.revoked;
      if (value === null || value === 'held' || isRevoked === true) return false;
      return value.fields['sign'] === body['key'] && (body['subjects'] as string[]).every((one) => grants(scopes, one));
    }
    case 'signer-revoke':
      return mayRevoke(view, op);
    default:
      return true;
  }
}

function mayRevoke(view: View, op: OracleOp): boolean {
  const named = [...view.ranks].filter(([approver]) => approver.startsWith(`${op.body.name} `));
  const own = view.ranks.get(approverOf(op)) as readonly [number, string];
  const isSenior = named.some(([, rank]) => before(own, rank));
  const others = charterSigners(view).filter((name) => name !== op.body.name);
  return named.length > 0 && (op.body.by.signer === op.body.name || isSenior) && others.length > 0;
}

/** T1.4 to T1.6: nobody is revoked; then one revocation after the other comes into force, and all is looked at anew. */
function viewOf(ops: readonly OracleOp[], ancestors: ReadonlyMap<string, ReadonlySet<string>>): View {
  let view: View = explore({ ops, ancestors, ranks: new Map(), force: new Map() });
  const settled = new Set<string>();
  for (;;) {
    const next = [...view.ranks]
      .filter(([who]) => !settled.has(who))
      .sort(([, a], [, b]) => (before(a, b) ? -1 : 1))[0];
    if (next === undefined) return view;
    const [who, rank] = next;
    settled.add(who);
    const named = ops
      .filter((op) => op.body.op === 'signer-revoke' && who.startsWith(`${op.body.name} `))
      .toSorted(byId);
    const isSenior = (op: OracleOp): boolean => before(view.ranks.get(approverOf(op)) ?? [Infinity, ''], rank);
    for (const op of named) if (approverOf(op) !== who && isSenior(op) && counts(view, op)) view = force(view, who, op);
    const bounds = view.force.get(who) ?? [];
    const own = named.filter((op) => approverOf(op) === who && bounds.every((cut) => descendsFrom(view, cut, op)));
    for (const op of own) view = force(view, who, op);
  }
}

function force(view: View, who: string, op: OracleOp): View {
  const more = explore({ ...view, force: new Map([...view.force, [who, [...(view.force.get(who) ?? []), op]]]) });
  return charterSigners(more).length === 0 ? view : more;
}

/** T1.4. */
function explore(view: View): View {
  const ranks = new Map<string, readonly [number, string]>();
  const now: View = { ...view, ranks };
  for (const op of view.ops) if (op.body.op === 'genesis') ranks.set(approverOf(op), [0, op.id]);
  for (let number = 1; ; number += 1) {
    const found = new Map<string, string>();
    for (const op of view.ops) {
      if (op.body.op !== 'signer-add' || ranks.get(approverOf(op))?.[0] !== number - 1 || !counts(now, op)) continue;
      const added = `${op.body.name} ${fingerprint(op.body['key'] as string)}`;
      if (!ranks.has(added)) found.set(added, sortText([op.id, found.get(added) ?? op.id])[0] as string);
    }
    if (found.size === 0) return now;
    for (const [approver, id] of found) ranks.set(approver, [number, id]);
  }
}

/** T1.7. */
function charterSigners(view: View): string[] {
  const names = new Set([...view.ranks.keys()].map((who) => who.slice(0, who.indexOf(' '))));
  return [...names].filter((name) => {
    const value = valueOf(view, `signer:${name}`);
    if (value === null || value === 'held' || !(value.fields['scopes'] as string[]).includes('charter')) return false;
    return (view.force.get(`${name} ${fingerprint(value.fields['key'] as string)}`) ?? []).length === 0;
  });
}

const before = (a: readonly [number, string], b: readonly [number, string]): boolean =>
  a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]);

/** T1.9, with the glob as a regular expression. */
function grants(scopes: readonly string[], wanted: string): boolean {
  return wanted === 'charter' || wanted === 'purge' ? scopes.includes(wanted) : covers(scopes, wanted);
}

function covers(scopes: readonly string[], subject: string): boolean {
  const globs = scopes.filter((scope) => scope !== 'charter' && scope !== 'purge');
  return globs.some((glob) =>
    new RegExp(`^${glob.replaceAll(/[.\\/]/g, '\\$&').replaceAll('*', '.*')}$`).test(subject),
  );
}

// ---- T2

/** T2.5. */
function isForked(view: View, item: string): boolean {
  const all = countedAbout(view, item);
  if (all.some(({ op }) => op.body.op === 'host-revoke')) return false;
  return isDisputed(view, all, agreedOn(view, item));
}

/** T2.2 to T2.4. */
function agreedOn(view: View, item: string): Saying | null {
  if (item.startsWith('host:')) return hostItem(view, item)?.value ?? null;
  const number = (saying: Saying): number => view.ranks.get(approverOf(saying.op))?.[0] ?? Number.POSITIVE_INFINITY;
  const all = countedAbout(view, item);
  const say = item.startsWith('signer:')
    ? all.filter((one) => all.every((other) => number(one) <= number(other)))
    : all;
  return agreed(view, say).value;
}

/** T2.7 on top of the agreed value. */
function valueOf(view: View, item: string): Saying | null | 'held' {
  const value = agreedOn(view, item);
  if (value === null) return null;
  return keysIn(value.fields).every((key) => ownerOf(view, key) === item) ? value : 'held';
}

function ownerOf(view: View, key: string): string | undefined {
  const rank = (op: OracleOp): readonly [number, string] => view.ranks.get(approverOf(op)) as readonly [number, string];
  const carriers = view.ops
    .filter((op) => counts(view, op))
    .flatMap((op) =>
      Object.entries(sayings(op)).flatMap(([item, fields]) => (keysIn(fields).includes(key) ? [{ op, item }] : [])),
    );
  const senior = carriers.filter((one) => !carriers.some((other) => before(rank(other.op), rank(one.op))));
  const first = senior.filter((one) => !senior.some((other) => descendsFrom(view, one.op, other.op)));
  return first.toSorted((a, b) => byId(a.op, b.op))[0]?.item;
}

// ---- details

const keysIn = (fields: Readonly<Record<string, unknown>>): string[] =>
  ['sign', 'ssh', 'key'].flatMap((name) => (name in fields ? [fields[name] as string] : []));
const prints = new Map<string, string>();

function fingerprint(key: string): string {
  const known = prints.get(key);
  if (known !== undefined) return known;
  const digest = createHash('sha256')
    .update(Buffer.from(key.split(' ')[1] as string, 'base64'))
    .digest('base64');
  prints.set(key, `SHA256:${digest.replace(/=+$/, '')}`);
  return prints.get(key) as string;
}

function verifies(op: OracleOp, keyText: string): boolean {
  const key = parseSshPublicKey(keyText);
  return key.ok && verifySshsig({ sshsig: op.sshsig, namespace: 'memd-trust', message: op.message, key: key.value }).ok;
}

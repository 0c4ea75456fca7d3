/**
 * A second charter, written from the sentences of docs/fold.md T and from nothing else: plain sets, no index, no bit
 * sets, no sharing with src/core/trust. Slow and meant to be obviously right. It takes well-formed op texts.
 */
import { createHash } from 'node:crypto';
import { parseSshPublicKey } from '../../src/crypto/ssh-key.ts';
import { verifySshsig } from '../../src/crypto/sshsig.ts';

interface OracleBody {
  readonly mesh?: string;
  readonly op: string;
  readonly by: { readonly signer: string; readonly key: string };
  readonly prev: readonly string[];
  readonly name: string;
  readonly [argument: string]: unknown;
}

export interface OracleOp {
  readonly id: string;
  readonly sshsig: string;
  readonly message: string;
  readonly body: OracleBody;
}

/** What an op says about an item: the fields that T2.4 compares, and the keys among them. */
interface Saying {
  readonly op: OracleOp;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface OracleCharter {
  readonly valid: readonly string[];
  readonly items: Readonly<Record<string, unknown>>;
  readonly alarms: readonly string[];
  readonly trustHash: string;
}

const supported = ['genesis', 'host-add', 'signer-add', 'class-add'];
const sortText = (texts: Iterable<string>): string[] => [...texts].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Reads an op text. The body is the rest of the text after the approval, which holds no quote that could mislead. */
export function readOracleOp(text: string): OracleOp {
  const message = text.slice(text.indexOf(',"body":') + 8, -1);
  const { auth, body } = JSON.parse(text) as { auth: { sshsig: string }; body: OracleBody };
  return { id: sha256(message), sshsig: auth.sshsig, message, body };
}

/** Everything T1 and T2 say about a set of op texts, whatever their order. */
export function oracleCharter(meshId: string, texts: readonly string[]): OracleCharter {
  const offered = texts.map(readOracleOp);
  const valid = new Map<string, OracleOp>();
  const unsupported = new Map<string, OracleOp>();
  // T1.2, T1.3: what is valid can only become more, so go round until nothing is added.
  for (let before = -1; before !== valid.size;) {
    before = valid.size;
    for (const op of offered) {
      if (valid.has(op.id) || !isValid(meshId, valid, op)) continue;
      if (isSupported(op)) valid.set(op.id, op);
      else unsupported.set(op.id, op);
    }
  }
  const view = [...valid.values()];
  const items: Record<string, unknown> = {};
  const alarms: string[] = [...unsupported.values()].map((op) => `OP_UNSUPPORTED ${op.body.op}`);
  for (const item of sortText(new Set(view.flatMap((op) => Object.keys(sayings(op)))))) {
    const value = valueOf(view, item);
    if (isForked(view, item)) alarms.push(`CHARTER_FORK ${item}`);
    if (value === 'held') alarms.push(`KEY_REUSED ${item}`);
    else if (value !== null) items[item] = value.fields;
  }
  return {
    valid: sortText(valid.keys()),
    items,
    alarms: sortText(alarms),
    trustHash: sha256(JSON.stringify(sortText(valid.keys()))),
  };
}

// ---- T1

function isValid(meshId: string, held: ReadonlyMap<string, OracleOp>, op: OracleOp): boolean {
  if (op.body.op === 'genesis')
    return op.id === meshId && isSupported(op) && verifies(op, (op.body['signer'] as { key: string }).key); // T1.1
  if (op.body.mesh !== meshId || !op.body.prev.every((id) => held.has(id))) return false;
  const view = sortText(ancestorsOf(held, op)).map((id) => held.get(id) as OracleOp);
  const signer = valueOf(view, `signer:${op.body.by.signer}`); // T1.2a
  if (signer === null || signer === 'held') return false;
  const key = signer.fields['key'] as string;
  const scopes = signer.fields['scopes'] as string[];
  if (fingerprint(key) !== op.body.by.key) return false;
  if (!scopes.includes(op.body.op === 'purge' ? 'purge' : 'charter')) return false; // T1.2b
  if (isSupported(op)) {
    if (op.body.op === 'signer-add' && !(op.body['scopes'] as string[]).every((scope) => grants(scopes, scope)))
      return false; // T1.2c
    if (op.body.op !== 'class-add') {
      const item = Object.keys(sayings(op))[0] as string; // T1.2d
      if (countedAbout(view, item).length > 0 && !isForked(view, item)) return false;
    }
  }
  return verifies(op, key); // T1.2e
}

function ancestorsOf(held: ReadonlyMap<string, OracleOp>, op: OracleOp): Set<string> {
  const ancestors = new Set<string>(op.body.prev);
  for (const id of ancestors) for (const older of held.get(id)?.body.prev ?? []) ancestors.add(older); // sets grow while walked
  return ancestors;
}

function descendsFrom(view: readonly OracleOp[], younger: OracleOp, older: OracleOp): boolean {
  return ancestorsOf(new Map(view.map((op) => [op.id, op])), younger).has(older.id);
}

/** T1.4: approver → [number, id that orders equal numbers]. */
function ranksIn(view: readonly OracleOp[]): Map<string, [number, string]> {
  const ranks = new Map<string, [number, string]>();
  for (const op of view) if (op.body.op === 'genesis') ranks.set(approverOf(op), [0, op.id]);
  for (let number = 1; ; number += 1) {
    const found = new Map<string, string>();
    for (const op of view) {
      if (op.body.op !== 'signer-add' || ranks.get(approverOf(op))?.[0] !== number - 1) continue;
      const added = `${op.body.name} ${fingerprint(op.body['key'] as string)}`;
      if (!ranks.has(added))
        found.set(added, sortText([op.id, ...(found.has(added) ? [found.get(added) as string] : [])])[0] as string);
    }
    if (found.size === 0) return ranks;
    for (const [approver, id] of found) ranks.set(approver, [number, id]);
  }
}

function counted(view: readonly OracleOp[]): OracleOp[] {
  const ranks = ranksIn(view);
  return view.filter((op) => ranks.has(approverOf(op))); // T1.5
}

/** T1.6, with the glob as a regular expression. */
function grants(scopes: readonly string[], wanted: string): boolean {
  if (wanted === 'charter' || wanted === 'purge') return scopes.includes(wanted);
  const globs = scopes.filter((scope) => scope !== 'charter' && scope !== 'purge');
  return globs.some((glob) => new RegExp(`^${glob.replaceAll(/[.\\/]/g, '\\$&').replaceAll('*', '.*')}$`).test(wanted));
}

// ---- T2

function sayings(op: OracleOp): Record<string, Record<string, unknown>> {
  const { name, sign, ssh, address, key, scopes, revise, claims } = op.body;
  switch (op.body.op) {
    case 'host-add':
      return { [`host:${name}`]: { sign, ssh, address } };
    case 'signer-add':
      return { [`signer:${name}`]: { key, scopes } };
    case 'class-add':
      return { [`class:${name}`]: { revise, claims } };
    case 'genesis':
      return genesisSayings(op.body);
    default:
      return {};
  }
}

function genesisSayings(body: OracleBody): Record<string, Record<string, unknown>> {
  const host = body['host'] as Record<string, string>;
  const signer = body['signer'] as Record<string, unknown>;
  const said: Record<string, Record<string, unknown>> = {};
  said[`host:${host['name']}`] = { sign: host['sign'], ssh: host['ssh'], address: host['address'] };
  said[`signer:${signer['name'] as string}`] = { key: signer['key'], scopes: signer['scopes'] };
  for (const [name, fields] of Object.entries(body['classes'] as Record<string, Record<string, unknown>>)) {
    said[`class:${name}`] = { revise: fields['revise'], claims: fields['claims'] };
  }
  for (const [name, fields] of Object.entries(body['audiences'] as Record<string, Record<string, unknown>>)) {
    said[`audience:${name}`] = { includes: fields['includes'] };
  }
  for (const [name, value] of Object.entries(body['policy'] as Record<string, unknown>))
    said[`policy:${name}`] = { value };
  return said;
}

function countedAbout(view: readonly OracleOp[], item: string): Saying[] {
  return counted(view).flatMap((op) => {
    const fields = sayings(op)[item];
    return fields === undefined ? [] : [{ op, fields }];
  });
}

/** T2.2 and T2.3. */
function agreed(view: readonly OracleOp[], item: string): Saying | null {
  const ranks = ranksIn(view);
  const number = (saying: Saying): number => ranks.get(approverOf(saying.op))?.[0] ?? Number.POSITIVE_INFINITY;
  let say = countedAbout(view, item);
  if (item.startsWith('signer:')) say = say.filter((one) => say.every((other) => number(one) <= number(other)));
  while (say.length > 0) {
    const top = maximal(view, say);
    const [lowest] = top.toSorted((a, b) => (a.op.id < b.op.id ? -1 : 1));
    if (top.every((one) => same(one, lowest as Saying))) return lowest as Saying;
    say = say.filter((one) => top.every((other) => descendsFrom(view, other.op, one.op)));
  }
  return null;
}

function maximal(view: readonly OracleOp[], say: readonly Saying[]): Saying[] {
  return say.filter((one) => !say.some((other) => descendsFrom(view, other.op, one.op)));
}

/** T2.5. */
function isForked(view: readonly OracleOp[], item: string): boolean {
  const value = agreed(view, item);
  return maximal(view, countedAbout(view, item)).some((one) => value === null || !same(one, value));
}

/** T2.6 on top of T2.3. */
function valueOf(view: readonly OracleOp[], item: string): Saying | null | 'held' {
  const value = agreed(view, item);
  if (value === null) return null;
  return keysIn(value.fields).every((key) => ownerOf(view, key) === item) ? value : 'held';
}

function ownerOf(view: readonly OracleOp[], key: string): string | undefined {
  const ranks = ranksIn(view);
  const before = (a: OracleOp, b: OracleOp): boolean => {
    const [left, right] = [ranks.get(approverOf(a)) as [number, string], ranks.get(approverOf(b)) as [number, string]];
    return left[0] < right[0] || (left[0] === right[0] && left[1] < right[1]);
  };
  const carriers = counted(view).flatMap((op) =>
    Object.entries(sayings(op)).flatMap(([item, fields]) => (keysIn(fields).includes(key) ? [{ op, item }] : [])),
  );
  const senior = carriers.filter((one) => !carriers.some((other) => before(other.op, one.op)));
  const first = senior.filter((one) => !senior.some((other) => descendsFrom(view, one.op, other.op)));
  return first.toSorted((a, b) => (a.op.id < b.op.id ? -1 : 1))[0]?.item;
}

// ---- details

const same = (a: Saying, b: Saying): boolean => JSON.stringify(a.fields) === JSON.stringify(b.fields);
const keysIn = (fields: Readonly<Record<string, unknown>>): string[] =>
  ['sign', 'ssh', 'key'].flatMap((name) => (name in fields ? [fields[name] as string] : []));
const approverOf = (op: OracleOp): string => `${op.body.by.signer} ${op.body.by.key}`;

function isSupported(op: OracleOp): boolean {
  const keys = Object.values(sayings(op)).flatMap(keysIn);
  return supported.includes(op.body.op) && keys.every((key) => key.startsWith('ssh-ed25519 '));
}

function fingerprint(key: string): string {
  const digest = createHash('sha256')
    .update(Buffer.from(key.split(' ')[1] as string, 'base64'))
    .digest('base64');
  return `SHA256:${digest.replace(/=+$/, '')}`;
}

function verifies(op: OracleOp, keyText: string): boolean {
  const key = parseSshPublicKey(keyText);
  return key.ok && verifySshsig({ sshsig: op.sshsig, namespace: 'memd-trust', message: op.message, key: key.value }).ok;
}

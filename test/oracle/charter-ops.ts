/** What the second charter is made of: ops, views of them, and what an op says. */
import { createHash } from 'node:crypto';

export interface OracleBody {
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

/** What an op says about an item: the fields that T2.6 compares, and the keys among them. */
export interface Saying {
  readonly op: OracleOp;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A set of valid ops that holds all ancestors of its members, with who exists in it and which revocations are in force. */
export interface View {
  readonly ops: readonly OracleOp[];
  readonly ancestors: ReadonlyMap<string, ReadonlySet<string>>;
  readonly ranks: ReadonlyMap<string, readonly [number, string]>;
  readonly force: ReadonlyMap<string, readonly OracleOp[]>;
}

export const sortText = (texts: Iterable<string>): string[] => [...texts].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
export const byId = (a: { id: string }, b: { id: string }): number => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);

export const approverOf = (op: OracleOp): string => `${op.body.by.signer} ${op.body.by.key}`;

/** T1.5. */
export function counts(view: View, op: OracleOp): boolean {
  const cuts = view.force.get(approverOf(op)) ?? [];
  return view.ranks.has(approverOf(op)) && (cuts.includes(op) || cuts.every((cut) => descendsFrom(view, cut, op)));
}

export function descendsFrom(view: View, younger: OracleOp, older: OracleOp): boolean {
  return view.ancestors.get(younger.id)?.has(older.id) === true;
}

/** T2.1, T2.6: the fields that are compared, by item. */
export function sayings(op: OracleOp): Record<string, Record<string, unknown>> {
  const { name, sign, ssh, address, key, scopes, revise, claims, pin, includes, value } = op.body;
  switch (op.body.op) {
    case 'host-add':
      return { [`host:${name}`]: { sign, ssh, address } };
    case 'host-rekey':
      return { [`host:${name}`]: { sign, ssh, pin } };
    case 'host-revoke':
      return { [`host:${name}`]: { revokedAt: pin } };
    case 'signer-add':
      return { [`signer:${name}`]: { key, scopes } };
    case 'class-add':
      return { [`class:${name}`]: { revise, claims } };
    case 'audience-add':
      return { [`audience:${name}`]: { includes } };
    case 'policy-set':
      return { [`policy:${key as string}`]: { value } };
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

export function countedAbout(view: View, item: string): Saying[] {
  return view.ops.flatMap((op) => {
    const fields = sayings(op)[item];
    return fields === undefined || !counts(view, op) ? [] : [{ op, fields }];
  });
}

/** The charter in words: one line for each item, with who approved it and when. */
import type {
  CharterJson,
  DelegationJson,
  HostJson,
  ItemJson,
  OpJson,
  OriginJson,
  SignerJson,
} from '../daemon/api/api-types.ts';
import { shortId } from './output.ts';

/** The whole charter in lines. Pure. */
export function describeCharter(charter: CharterJson): string[] {
  const { mesh, name, trust, hosts, signers, classes, delegations, purges, items, conflicts, ops } = charter;
  const lost = ops.filter(({ status }) => status !== 'counted');
  return [
    `mesh ${mesh} (${name})`,
    `trust ${trust}, ${ops.length} ops`,
    ...hosts.flatMap(describeHost),
    ...signers.flatMap(describeSigner),
    ...classes.map(
      (one) =>
        `class ${one.name}: ${one.claims ?? 'no claims'}, revise ${one.revise ?? '-'}, ${one.description} ${origin(one)}`,
    ),
    ...['audience', 'policy'].flatMap((kind) => itemsOf(items, kind).flatMap(describeItem)),
    ...delegations.map(describeDelegation),
    ...purges.map((one) => `purged ${shortId(one.id)} (${one.reason}) ${origin(one)}`),
    ...lost.map(describeOp),
    ...conflicts.map(({ kind, detail }) => `CONFLICT ${kind}: ${detail}`),
  ];
}

function origin({ op, by, at }: OriginJson): string {
  return `(by ${by.signer}, ${at}, op ${shortId(op)})`;
}

function describeHost(host: HostJson): string[] {
  return [
    `host ${host.host} ${host.status} ${host.address || '(cannot be dialled)'} ${origin(host)}`,
    ...host.pins.map(({ seq, link }) => `  pinned at line ${seq}, link ${shortId(link)}`),
    ...(host.end === null ? [] : [`  ends at line ${host.end}`]),
  ];
}

function describeDelegation(one: DelegationJson): string {
  const { host, kinds, subjects, from, upto } = one;
  return `delegated to ${host}: ${kinds.join(', ')} on ${subjects.join(', ')} in lines ${from} to ${upto} ${origin(one)}`;
}

/** One op in a line: what became of it, what it is, what about, by whom, when. */
export function describeOp({ op, kind, items, by, at, status, voidedBy }: OpJson): string {
  const about = items.length > 3 ? `${items.slice(0, 3).join(' ')} and ${items.length - 3} more` : items.join(' ');
  const who = by.signer === '' ? '' : ` by ${by.signer}, ${at}`;
  const why = voidedBy.length === 0 ? '' : `, not known to the revocation ${voidedBy.map(shortId).join(', ')}`;
  return `${status === 'counted' ? 'op' : `${status.toUpperCase()} op`} ${shortId(op)}: ${kind} ${about}${who}${why}`;
}

/** A signer in a line, and one for every revocation in force. */
export function describeSigner(signer: SignerJson): string[] {
  const { name, key, scopes, rank, status, by, at, op, revocations } = signer;
  return [
    `signer ${name} ${status} ${key}, may sign ${scopes.join(', ')}; rank ${rank}, by ${by.signer}, ${at} (op ${shortId(op)})`,
    ...revocations.map(
      (one) => `  revoked by ${one.by.signer}, ${one.at} (op ${shortId(one.op)}); ${standing(one.marks)}`,
    ),
  ];
}

function standing(marks: SignerJson['revocations'][number]['marks']): string {
  const places = Object.entries(marks).map(([host, { seq }]) => `${host}:${seq}`);
  return places.length === 0 ? 'no approval stands' : `approvals stand up to ${places.join(', ')}`;
}

/** The items of one kind: `policy`, `audience`… */
export function itemsOf(items: readonly ItemJson[], kind: string): readonly ItemJson[] {
  return items.filter(({ item }) => item.startsWith(`${kind}:`));
}

/** An item in a line: name, value, who said so when; and a line for each conflict. */
export function describeItem({ item, value, origin, conflicts }: ItemJson): string[] {
  const said = origin === undefined ? 'nothing in effect' : JSON.stringify(value);
  const who = origin === undefined ? '' : ` (by ${origin.by.signer}, ${origin.at}, op ${origin.op.slice(0, 12)})`;
  return [
    `${item.replace(':', ' ')}: ${said}${who}`,
    ...conflicts.map(({ kind, detail }) => `  CONFLICT ${kind}: ${detail}`),
  ];
}

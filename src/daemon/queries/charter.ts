/** charter: what the trust set amounts to, with the op behind every item. */
import type { Charter, Origin } from '../../core/trust/charter.ts';
import type { Approver, TrustBody } from '../../core/trust/op.ts';
import { opNotes } from '../../core/trust/history.ts';
import { byText } from '../../core/trust/register.ts';
import type { TrustSet } from '../../core/trust/set.ts';
import type { StateDatabase } from '../../store/database/database.ts';
import type {
  AlarmJson,
  CharterJson,
  HostJson,
  ItemJson,
  OpJson,
  OriginJson,
  PlaceJson,
  SignerJson,
} from '../api/api-types.ts';
import type { Engine } from '../engine.ts';
import { tipsOf } from './sound-rows.ts';

export function charterJson(engine: Engine, database: StateDatabase): CharterJson {
  const charter = engine.charter();
  const { set, hash } = engine.trust();
  const from = originsOf(set);
  const ops = opList(set);
  const conflicts = charter.conflicts.map(({ kind, item, detail }) => ({ kind, detail: `${item}: ${detail}` }));
  return {
    mesh: charter.meshId,
    name: charter.name,
    trust: hash,
    hosts: hostList(charter, from, tipsOf(database)),
    signers: signerList(charter, from),
    classes: [...charter.classes].map(([name, one]) => {
      const { revise, claims, description } = one;
      return { name, revise, claims, description, ...from(one) };
    }),
    audiences: [...charter.audiences.keys()],
    delegations: charter.delegations.map((one) => {
      const { host, subjects, kinds, from: first, upto } = one;
      return { host, subjects, kinds, from: first, upto, ...from(one) };
    }),
    purges: [...charter.purges].map(([id, one]) => ({ id, reason: one.reason, ...from(one) })),
    items: itemList(charter, from, ops),
    ops,
    conflicts,
  };
}

type Originate = (item: Origin) => OriginJson;

/** When an op was signed is claimed in it; the charter itself knows no times. */
function originsOf(set: TrustSet): Originate {
  return ({ op, by: { signer, key } }) => ({ op, by: { signer, key }, at: set.held.get(op)?.op.body.at ?? '' });
}

function hostList(charter: Charter, from: Originate, tips: Readonly<Record<string, PlaceJson>>): HostJson[] {
  return [...charter.hosts.values()].map((host) => {
    const { name, address, status, sign, end, pins } = host;
    const { seq, link } = tips[name] ?? { seq: 0, link: charter.meshId };
    const keys = { key: sign.fingerprint, signKey: sign.text };
    const places = pins.map((pin) => ({ seq: pin.seq, link: pin.link }));
    return { host: name, address, status, seq, link, ...keys, end, pins: places, ...from(host) };
  });
}

/** By rank, the order in which they outrank each other. */
function signerList(charter: Charter, from: Originate): SignerJson[] {
  const signers = [...charter.signers.values()].map((signer) => ({
    name: signer.name,
    key: signer.key.fingerprint,
    publicKey: signer.key.text,
    scopes: signer.scopes,
    status: signer.status,
    rank: signer.rank,
    revocations: signer.revocations.map((one) => ({ ...from(one), marks: Object.fromEntries(one.marks) })),
    ...from(signer),
  }));
  return signers.toSorted((left, right) => left.rank - right.rank || (left.op < right.op ? -1 : 1));
}

/** Every op that is held, ancestors first; then fork-proofs, which nobody approves, and ops of later versions. */
export function opList(set: TrustSet): readonly OpJson[] {
  const notes = new Map(opNotes(set).map((note) => [note.id, note]));
  const valid = Array.from(set.held.values(), ({ op: { id, body } }): OpJson => {
    const { counts = false, voidedBy = [], inForce = null } = notes.get(id) ?? {};
    const status = !counts ? 'void' : inForce === false ? 'idle' : 'counted';
    return { ...opOf(id, body), items: itemsOfBody(body), status, voidedBy };
  });
  const forks = Array.from(set.forks.values(), ({ id, body }): OpJson => {
    const proof = { kind: body.op, by: { signer: '', key: '' }, at: '' };
    return { op: id, ...proof, items: [`host:${body.host}`], status: 'counted', voidedBy: [] };
  });
  const unsupported = Array.from(set.unsupported.values(), ({ id, body }): OpJson => {
    return { ...opOf(id, body), items: [], status: 'unsupported', voidedBy: [] };
  });
  return [...valid, ...forks, ...unsupported];
}

function opOf(
  id: string,
  body: { readonly op: string; readonly by: Approver; readonly at: string },
): Omit<OpJson, 'items' | 'status' | 'voidedBy'> {
  const { signer, key } = body.by;
  return { op: id, kind: body.op, by: { signer, key }, at: body.at };
}

/** What an op is about. */
function itemsOfBody(body: TrustBody): readonly string[] {
  switch (body.op) {
    case 'genesis':
      return [
        `host:${body.host.name}`,
        `signer:${body.signer.name}`,
        ...Object.keys(body.classes).map((name) => `class:${name}`),
        ...Object.keys(body.audiences).map((name) => `audience:${name}`),
        ...Object.keys(body.policy).map((key) => `policy:${key}`),
      ];
    case 'policy-set':
      return [`policy:${body.key}`];
    case 'delegate':
      return [`delegation:${body.host}`];
    case 'purge':
      return body.targets.map(({ id }) => `event:${id}`);
    default:
      return [`${body.op.slice(0, body.op.lastIndexOf('-'))}:${body.name}`];
  }
}

function itemList(charter: Charter, from: Originate, ops: readonly OpJson[]): ItemJson[] {
  const about = new Map<string, string[]>();
  for (const { op, items } of ops) for (const item of items) about.set(item, [...(about.get(item) ?? []), op]);
  const disputed = new Map<string, AlarmJson[]>();
  for (const { kind, item, detail } of charter.conflicts)
    disputed.set(item, [...(disputed.get(item) ?? []), { kind, detail }]);
  const names = new Set([...about.keys(), ...disputed.keys()].filter((name) => !/^(?:delegation|event):/.test(name)));
  return [...names].toSorted(byText).map((item) => {
    const held = valueOf(charter, item);
    return {
      item,
      value: held?.value ?? null,
      ...(held === undefined ? {} : { origin: from(held.origin) }),
      ops: about.get(item) ?? [],
      conflicts: disputed.get(item) ?? [],
    };
  });
}

/** The item as the charter has it; undefined when nothing is in effect. */
function valueOf(charter: Charter, item: string): { readonly value: unknown; readonly origin: Origin } | undefined {
  const colon = item.indexOf(':');
  const name = item.slice(colon + 1);
  switch (item.slice(0, colon)) {
    case 'host':
      return valued(charter.hosts.get(name), ({ sign, ssh, address, status }) => {
        return { sign: sign.text, ssh: ssh.text, address, status };
      });
    case 'signer':
      return valued(charter.signers.get(name), ({ key, scopes, status }) => ({ key: key.text, scopes, status }));
    case 'class':
      return valued(charter.classes.get(name), ({ description, revise, claims }) => ({ description, revise, claims }));
    case 'audience':
      return valued(charter.audiences.get(name), ({ includes }) => ({ includes }));
    case 'policy':
      return valued(charter.policy.get(name), ({ value }) => value);
    default:
      return undefined;
  }
}

function valued<T extends Origin>(
  held: T | undefined,
  read: (held: T) => unknown,
): { readonly value: unknown; readonly origin: Origin } | undefined {
  return held === undefined ? undefined : { value: read(held), origin: held };
}

/** Bodies of new trust ops, from what a person asked for. Every body is checked with the table that readers use. */
import type { JsonObject } from '../../crypto/canonical.ts';
import { ok, type Result } from '../../crypto/result.ts';
import type { Kind } from '../event.ts';
import {
  checkTrustBody,
  type Approver,
  type AudienceAddBody,
  type AudienceFields,
  type ClassAddBody,
  type ClassFields,
  type DelegateBody,
  type DelegateFields,
  type GenesisBody,
  type HostAddBody,
  type HostFields,
  type HostRekeyBody,
  type HostRevokeBody,
  type HostRevokeFields,
  type Pin,
  type PolicySetBody,
  type PurgeBody,
  type PurgeFields,
  type PurgeSkeleton,
  type RekeyFields,
  type SignerAddBody,
  type SignerFields,
  type SignerRevokeBody,
  type SignerRevokeFields,
  type TrustBody,
  type TrustOpFault,
} from './op.ts';
import { byText } from './register.ts';

/** Time and 32 random hex digits: the two things a pure function cannot know. */
export interface Stamp {
  readonly at: string;
  readonly nonce: string;
}

/** Where a new op stands: `by` approves it, `prev` = `maximalOps(set)`. */
export interface Placement {
  readonly mesh: string;
  readonly by: Approver;
  readonly prev: readonly string[];
}

/** As for a foreign op. */
export type DraftFault = TrustOpFault;

const fact: Pick<Required<ClassFields>, 'revise' | 'claims'> = { revise: 'mesh', claims: 'fact' };

/** Classes of a new mesh. `decision` and `question` take no claims; the kinds of that name may be on any class. */
export const defaultClasses: Readonly<Record<string, ClassFields>> = {
  'ssh-route': { description: 'How to reach a machine or account over ssh', ...fact },
  endpoint: { description: 'Where a service listens: address, port, URL', ...fact },
  install: { description: 'What is installed where, and in which version', ...fact },
  capability: { description: 'What a machine, tool or account can or cannot do', ...fact },
  home: { description: 'Where the canonical document of a topic lives', ...fact },
  project: { description: 'Facts about a project: layout, commands, owners', ...fact },
  note: { description: 'Facts that fit no other class', ...fact },
  policy: { description: 'A fact that only its own host revises', revise: 'host', claims: 'fact' },
  lesson: { description: 'How to work: a rule learned', revise: 'mesh', claims: 'rule' },
  decision: { description: 'Choices, rejected alternatives and their reasons' },
  question: { description: 'Open points' },
};

/** Audiences of a new mesh: an event that names none is for `operator`. */
export const defaultAudiences: Readonly<Record<string, AudienceFields>> = { operator: { includes: [] } };

/** Scopes of the first signer: every subject, the charter, purges. */
export const founderScopes: readonly string[] = ['*', 'charter', 'purge'];

/**
 * Body of the op that starts a mesh. Classes, audiences, policy and the scopes of the signer have defaults. `key` of
 * `signer` must be the one that `by` names. Refused like a foreign op with the same fault. Pure.
 */
export function genesisBody(
  input: {
    readonly name: string;
    readonly by: Approver;
    readonly signer: { readonly name: string; readonly key: string; readonly scopes?: readonly string[] };
    readonly host: HostFields;
    readonly classes?: Readonly<Record<string, ClassFields>>;
    readonly audiences?: Readonly<Record<string, AudienceFields>>;
    readonly policy?: Readonly<Record<string, string | number>>;
  },
  stamp: Stamp,
): Result<GenesisBody, DraftFault> {
  const { name, by, signer, host } = input;
  return checked({
    op: 'genesis',
    ...stampOf(stamp),
    by: approverOf(by),
    prev: [],
    name,
    signer: signerOf({ ...signer, scopes: signer.scopes ?? founderScopes }),
    host: hostOf(host),
    classes: input.classes ?? defaultClasses,
    audiences: input.audiences ?? defaultAudiences,
    policy: input.policy ?? {},
  });
}

/** Body of the op that enrols a host. Pure. */
export function hostAddBody(input: Placement & HostFields, stamp: Stamp): Result<HostAddBody, DraftFault> {
  return checked({ op: 'host-add', ...placementOf(input), ...stampOf(stamp), ...hostOf(input) });
}

/** Body of the op that adds a signer. Scopes may be given in any order. Pure. */
export function signerAddBody(input: Placement & SignerFields, stamp: Stamp): Result<SignerAddBody, DraftFault> {
  return checked({ op: 'signer-add', ...placementOf(input), ...stampOf(stamp), ...signerOf(input) });
}

/** Body of the op that registers a class or changes it. Pure. */
export function classAddBody(
  input: Placement & Required<ClassFields> & { readonly name: string },
  stamp: Stamp,
): Result<ClassAddBody, DraftFault> {
  const { name, description, revise, claims } = input;
  return checked({ op: 'class-add', ...placementOf(input), ...stampOf(stamp), name, description, revise, claims });
}

/** Body of the op that gives a host new keys; the word of the old sign key ends at the pin. Pure. */
export function hostRekeyBody(input: Placement & RekeyFields, stamp: Stamp): Result<HostRekeyBody, DraftFault> {
  const { name, sign, ssh, pin } = input;
  return checked({
    op: 'host-rekey',
    ...placementOf(input),
    ...stampOf(stamp),
    name,
    sign,
    ssh,
    pin: pinOf(pin),
  });
}

/** Body of the op that ends a host; its word ends at the pin. Pure. */
export function hostRevokeBody(input: Placement & HostRevokeFields, stamp: Stamp): Result<HostRevokeBody, DraftFault> {
  const { name, pin } = input;
  return checked({ op: 'host-revoke', ...placementOf(input), ...stampOf(stamp), name, pin: pinOf(pin) });
}

/** Body of the op that ends a signer. Pure. */
export function signerRevokeBody(
  input: Placement & SignerRevokeFields,
  stamp: Stamp,
): Result<SignerRevokeBody, DraftFault> {
  const { name } = input;
  const marks = Object.fromEntries(Object.entries(input.marks).map(([host, pin]) => [host, pinOf(pin)]));
  return checked({ op: 'signer-revoke', ...placementOf(input), ...stampOf(stamp), name, marks });
}

/** Body of the op that declares an audience or changes it. Includes may be given in any order. Pure. */
export function audienceAddBody(
  input: Placement & AudienceFields & { readonly name: string },
  stamp: Stamp,
): Result<AudienceAddBody, DraftFault> {
  const { name, includes } = input;
  return checked({
    op: 'audience-add',
    ...placementOf(input),
    ...stampOf(stamp),
    name,
    includes: sortedSet(includes),
  });
}

/** Body of the op that sets a policy. Pure. */
export function policySetBody(
  input: Placement & { readonly key: string; readonly value: string | number },
  stamp: Stamp,
): Result<PolicySetBody, DraftFault> {
  const { key, value } = input;
  return checked({ op: 'policy-set', ...placementOf(input), ...stampOf(stamp), key, value });
}

/** Body of the op that lends a host some authority for a stretch of its log. Lists may be given in any order. Pure. */
export function delegateBody(input: Placement & DelegateFields, stamp: Stamp): Result<DelegateBody, DraftFault> {
  const { host, key, subjects, kinds, from, upto } = input;
  const lists = { subjects: sortedSet(subjects), kinds: sortedSet(kinds) as readonly Kind[] };
  return checked({ op: 'delegate', ...placementOf(input), ...stampOf(stamp), host, key, ...lists, from, upto });
}

/** Body of the op that purges events. Targets may be given in any order. Pure. */
export function purgeBody(input: Placement & PurgeFields, stamp: Stamp): Result<PurgeBody, DraftFault> {
  const targets = input.targets.map(skeletonOf).toSorted((left, right) => byText(left.id, right.id));
  return checked({ op: 'purge', ...placementOf(input), ...stampOf(stamp), targets, reason: input.reason });
}

function checked<B extends TrustBody>(body: B): Result<B, DraftFault> {
  const verdict = checkTrustBody(body as unknown as JsonObject);
  return verdict.ok ? ok(body) : verdict;
}

function placementOf({ mesh, by, prev }: Placement): Placement {
  return { mesh, by: approverOf(by), prev: sortedSet(prev) };
}

function stampOf({ at, nonce }: Stamp): Stamp {
  return { at, nonce };
}

function approverOf({ signer, key }: Approver): Approver {
  return { signer, key };
}

function hostOf({ name, sign, ssh, address }: HostFields): HostFields {
  return { name, sign, ssh, address };
}

function signerOf({ name, key, scopes }: SignerFields): SignerFields {
  return { name, key, scopes: sortedSet(scopes) };
}

function pinOf({ seq, link }: Pin): Pin {
  return { seq, link };
}

function skeletonOf(target: PurgeSkeleton): PurgeSkeleton {
  const { id, host, kind, subject, scope, audience, lineage, level, key, home, digest, supersedes, basis } = target;
  const told = { id, host, kind, subject, scope, audience, lineage, level, key, home, digest };
  return { ...told, supersedes: sortedSet(supersedes), basis: sortedSet(basis) };
}

function sortedSet(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].toSorted(byText);
}

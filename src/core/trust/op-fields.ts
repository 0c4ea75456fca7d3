/** The field table of every supported trust op. Source: docs/format.md, trust ops. */
import { fieldGrammars, isInstant, isReasonCode, isSubject } from '../body-fields.ts';
import type { Kind } from '../event.ts';
import { decodeBase64 } from '../../crypto/base64.ts';
import type { JsonValue } from '../../crypto/canonical.ts';
import { isHex, isId, isSlug } from '../id.ts';
import {
  basisIdsMax,
  supersedesIdsMax,
  trustAddressBytesMax,
  trustDescriptionBytesMax,
  trustItemsMax,
  trustMarksMax,
  trustPolicyBytesMax,
  trustPrevMax,
  trustPurgeTargetsMax,
  trustScopesMax,
  trustSshsigBytesMax,
} from '../limits.ts';
import { isScope, isSubjectGlob } from './scope.ts';
import {
  either,
  integer,
  listBy,
  members,
  namedEntries,
  nullOr,
  oneLine,
  oneOf,
  pattern,
  sortedList,
  textThat,
  type Check,
} from './shape.ts';

const slug: Check = textThat(isSlug, 'a name like alpha-2 (a-z, 0-9, -, at most 31)');
const id: Check = textThat(isId, '64 hex digits');
const fingerprint: Check = pattern(/^SHA256:[A-Za-z0-9+/]{43}$/, 'a SHA256: fingerprint');
const policyKey: Check = pattern(/^[a-z][a-z0-9.-]{0,62}$/, 'a name like index.bytes');
const address: Check = textThat(isAddress, "'' or ssh://host:port");
const scopes: Check = sortedList(textThat(isScope, 'charter, purge or a subject glob'), {
  min: 1,
  max: trustScopesMax,
});
/** Form only: the key itself is read, once, when the whole body has the right shape. */
const sshKey: Check = pattern(/^[a-z0-9@.-]{1,64} [A-Za-z0-9+/=]{1,16384}$/, 'an OpenSSH public key without comment');
const anyPort = 65_535;
const signatureBytes = 64;

const hostMembers: Readonly<Record<string, Check>> = { name: slug, sign: sshKey, ssh: sshKey, address };
const signerMembers: Readonly<Record<string, Check>> = { name: slug, key: sshKey, scopes };
const description: Check = oneLine(trustDescriptionBytesMax);
const claimMembers: Readonly<Record<string, Check>> = {
  description,
  revise: oneOf('mesh', 'host'),
  claims: oneOf('fact', 'rule'),
};
/** Only a genesis may register a class that takes no claims: it holds decisions and questions. */
const genesisClass: Check = either(members({ description }), members(claimMembers));
const audience: Check = members({ includes: sortedList(slug, { min: 0, max: trustItemsMax }) });
const policyValue: Check = either(
  (value) => (typeof value === 'number' ? undefined : 'must be a number'),
  textThat(
    (text) => oneLine(trustPolicyBytesMax)(text) === undefined,
    `a whole number or one line of at most ${trustPolicyBytesMax} bytes`,
  ),
);

const kinds: readonly Kind[] = [
  'assert',
  'lesson',
  'decision',
  'question',
  'observe',
  'propose',
  'retract',
  'pin',
  'deny',
];
const pin: Check = members({ seq: integer(0), link: id });
const kind: Check = oneOf(...kinds);
const scope: Check = textThat((text) => text === '*' || isSlug(text), 'a name, or *');
const skeleton: Check = members({
  id,
  host: slug,
  kind,
  subject: textThat(isSubject, 'class/entity'),
  scope,
  audience: slug,
  lineage: oneOf('trusted', 'untrusted'),
  level: oneOf('unsigned', 'delegated', 'signed'),
  key: nullOr(id),
  home: nullOr(grammar('home')),
  digest: nullOr(grammar('digest')),
  supersedes: sortedList(id, { min: 0, max: supersedesIdsMax }),
  basis: sortedList(id, { min: 0, max: basisIdsMax }),
});
const seq: Check = integer(1);
const header: Check = members({
  auth: nullOr(id),
  id,
  log: slug,
  mesh: id,
  prev: id,
  seq,
  v: integer(1),
});
const signedHeader: Check = members({
  header,
  sig: textThat((text) => decodeBase64(text)?.length === signatureBytes, 'the base64 of 64 bytes'),
});

/** Members that every op but genesis has. */
export const stemMembers: Readonly<Record<string, Check>> = {
  mesh: id,
  op: pattern(/^[a-z][a-z-]{0,30}$/, 'the name of an op'),
  by: members({ signer: slug, key: fingerprint }),
  prev: sortedList(id, { min: 1, max: trustPrevMax }),
  at: textThat(isInstant, 'an instant like 2026-07-27T15:04:05.000Z'),
  nonce: textThat((text) => isHex(text, 32), '32 hex digits'),
};

const { mesh: _mesh, ...genesisStem } = stemMembers;

/** The complete check of the body of each op that this version supports. */
export const bodyChecks: ReadonlyMap<string, Check> = new Map([
  [
    'genesis',
    members({
      ...genesisStem,
      prev: sortedList(id, { min: 0, max: 0 }),
      name: slug,
      signer: members(signerMembers),
      host: members(hostMembers),
      classes: namedEntries(slug, genesisClass, trustItemsMax),
      audiences: namedEntries(slug, audience, trustItemsMax),
      policy: namedEntries(policyKey, policyValue, trustItemsMax),
    }),
  ],
  ['host-add', members({ ...stemMembers, ...hostMembers })],
  ['signer-add', members({ ...stemMembers, ...signerMembers })],
  ['class-add', members({ ...stemMembers, name: slug, ...claimMembers })],
  ['host-rekey', members({ ...stemMembers, name: slug, sign: sshKey, ssh: sshKey, pin })],
  ['host-revoke', members({ ...stemMembers, name: slug, pin })],
  ['signer-revoke', members({ ...stemMembers, name: slug, marks: namedEntries(slug, pin, trustMarksMax) })],
  ['audience-add', members({ ...stemMembers, name: slug, includes: sortedList(slug, { min: 0, max: trustItemsMax }) })],
  ['policy-set', members({ ...stemMembers, key: policyKey, value: policyValue })],
  [
    'delegate',
    members({
      ...stemMembers,
      host: slug,
      key: sshKey,
      subjects: sortedList(textThat(isSubjectGlob, 'a subject glob'), { min: 1, max: trustScopesMax }),
      kinds: sortedList(kind, { min: 1, max: kinds.length }),
      from: seq,
      upto: seq,
    }),
  ],
  [
    'purge',
    members({
      ...stemMembers,
      targets: listBy('id', skeleton, { min: 1, max: trustPurgeTargetsMax }),
      reason: textThat(isReasonCode, 'a code like secret (lower case)'),
    }),
  ],
]);

/** The body of a fork-proof: nobody approves it, so it has no `by`. Its two lines differ, and stand by link. */
export const forkProofCheck: Check = members({
  op: oneOf('fork-proof'),
  mesh: id,
  prev: sortedList(id, { min: 1, max: 1 }),
  host: slug,
  lines: (value) =>
    Array.isArray(value) && value.length === 2
      ? value.map((line: JsonValue) => signedHeader(line)).find((fault) => fault !== undefined)
      : 'must be two lines',
});

/** Approval of an op, beside its body. */
export const authCheck: Check = members({
  key: fingerprint,
  signer: slug,
  sshsig: pattern(new RegExp(`^[A-Za-z0-9+/=]{1,${trustSshsigBytesMax}}$`), 'base64'),
});

function grammar(field: string): Check {
  const found = fieldGrammars[field];
  return (value) => (found?.check(value) === true ? undefined : `must be ${found?.says}`);
}

/**
 * True for '' (no address known) and for `ssh://host:port`: a lower-case DNS name, IPv4 address or bracketed IPv6 address
 * that cannot be taken for an option, and a port from 1 to 65535 without leading zeros. Pure.
 */
export function isAddress(text: string): boolean {
  if (text === '') return true;
  if (text.length > trustAddressBytesMax) return false;
  const match = /^ssh:\/\/(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]{2,45}\]):([1-9][0-9]{0,4})$/.exec(text);
  return match !== null && !text.includes('..') && Number(match[1]) <= anyPort;
}

/** The field table of every supported trust op. Source: docs/format.md, trust ops. */
import { isInstant } from '../body-fields.ts';
import { isHex, isId, isSlug } from '../id.ts';
import {
  trustAddressBytesMax,
  trustDescriptionBytesMax,
  trustItemsMax,
  trustPolicyBytesMax,
  trustPrevMax,
  trustScopesMax,
  trustSshsigBytesMax,
} from '../limits.ts';
import { isScope } from './scope.ts';
import { either, members, namedEntries, oneLine, oneOf, pattern, sortedList, textThat, type Check } from './shape.ts';

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
]);

/** Approval of an op, beside its body. */
export const authCheck: Check = members({
  key: fingerprint,
  signer: slug,
  sshsig: pattern(new RegExp(`^[A-Za-z0-9+/=]{1,${trustSshsigBytesMax}}$`), 'base64'),
});

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

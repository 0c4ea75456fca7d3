/** The field table of every supported trust op. Source: docs/format.md, trust ops. */
import { parseSshPublicKey } from '../../crypto/ssh-key.ts';
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

const slug: Check = pattern(/^[a-z][a-z0-9-]{0,30}$/, 'a name like alpha-2 (a-z, 0-9, -, at most 31)');
const id: Check = pattern(/^[0-9a-f]{64}$/, '64 hex digits');
const fingerprint: Check = pattern(/^SHA256:[A-Za-z0-9+/]{43}$/, 'a SHA256: fingerprint');
const policyKey: Check = pattern(/^[a-z][a-z0-9.-]{0,62}$/, 'a name like index.bytes');
const address: Check = textThat(isAddress, "'' or ssh://host:port");
const scopes: Check = sortedList(textThat(isScope, 'charter, purge or a subject glob'), {
  min: 1,
  max: trustScopesMax,
});
const sshKey: Check = textThat(isUsableKey, 'a canonical OpenSSH public key of full order without comment');
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
  nonce: pattern(/^[0-9a-f]{32}$/, '32 hex digits'),
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

/** A key of a type that this version cannot verify passes here: the op is then set aside loudly, never called malformed. */
function isUsableKey(text: string): boolean {
  const parsed = parseSshPublicKey(text);
  if (!parsed.ok) return parsed.code === 'KEY_TYPE_UNSUPPORTED' && !/[ \n]/.test(text.slice(text.indexOf(' ') + 1));
  return parsed.value.text === text;
}

/** True for `YYYY-MM-DDTHH:MM:SS.mmmZ` with a day that exists. */
function isInstant(text: string): boolean {
  const match = /^(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/.exec(text);
  if (match === null) return false;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1];
  return days !== undefined && day >= 1 && day <= days;
}

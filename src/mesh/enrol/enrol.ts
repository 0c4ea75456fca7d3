/** The line that a new host prints and a person carries to an enrolled one. It holds public keys only. */
import { decodeBase64, encodeBase64 } from '../../crypto/base64.ts';
import { canonicalJson, isJsonObject, parseCanonical } from '../../crypto/canonical.ts';
import { assert, ok, refuse, type Result } from '../../crypto/result.ts';
import { parseSshPublicKey } from '../../crypto/ssh-key.ts';
import { decodeUtf8, utf8Bytes } from '../../crypto/text.ts';
import { isSlug } from '../../core/id.ts';
import { isAddress } from '../../core/trust/op-fields.ts';

/** Characters of a request line; two ed25519 keys and the longest address need about 700. */
const requestCharsMax = 2_048;
const prefix = 'memd-host';

/** What a `host-add` says about a new host. */
export interface HostRequest {
  readonly host: string;
  /** OpenSSH public key texts without comment. */
  readonly sign: string;
  readonly ssh: string;
  /** `ssh://host:port`, or '' when it cannot be dialled. */
  readonly address: string;
}

/** `memd-host:beta:<base64url of JCS {address, sign, ssh}>`. The request must be a sound one. Pure. */
export function printHostRequest(request: HostRequest): string {
  const { host, sign, ssh, address } = request;
  const fault = requestFault(request);
  assert(fault === undefined, `a host request is well formed: ${fault}`);
  const payload = encodeBase64(utf8Bytes(canonicalJson({ address, sign, ssh })));
  return `${prefix}:${host}:${payload.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}`;
}

/**
 * Reads such a line. White space anywhere is passed over (mail and chat wrap long lines); nothing else is forgiven:
 * one request has one text. Pure.
 */
export function parseHostRequest(line: string): Result<HostRequest, 'NOT_A_REQUEST'> {
  if (line.length > 2 * requestCharsMax) return refuse('NOT_A_REQUEST', 'too long');
  const text = line.replace(/[ \t\r\n]+/g, '');
  const match = /^memd-host:([^:]{1,31}):([A-Za-z0-9_-]{1,2048})$/.exec(text);
  if (match === null)
    return refuse('NOT_A_REQUEST', `not of the form ${prefix}:NAME:… (run memctl host request on the new host)`);
  const [, host = '', payload = ''] = match;
  const members = readPayload(payload);
  if (members === undefined) return refuse('NOT_A_REQUEST', 'damaged: a part of the line is missing or changed');
  const request = { host, ...members };
  const fault = requestFault(request);
  return fault === undefined ? ok(request) : refuse('NOT_A_REQUEST', fault);
}

function readPayload(payload: string): Omit<HostRequest, 'host'> | undefined {
  const standard = payload.replaceAll('-', '+').replaceAll('_', '/');
  const bytes = decodeBase64(standard.padEnd(Math.ceil(standard.length / 4) * 4, '='));
  const text = bytes === undefined ? undefined : decodeUtf8(bytes);
  const parsed = text === undefined ? undefined : parseCanonical(text, { depthMax: 1 });
  if (parsed?.ok !== true || !isJsonObject(parsed.value)) return undefined;
  if (Object.keys(parsed.value).join(' ') !== 'address sign ssh') return undefined;
  const { address, sign, ssh } = parsed.value;
  if (typeof address !== 'string' || typeof sign !== 'string' || typeof ssh !== 'string') return undefined;
  return { sign, ssh, address };
}

function requestFault(request: HostRequest): string | undefined {
  if (!isSlug(request.host)) return 'the host name is not like alpha-2 (a-z, 0-9, -, at most 31)';
  for (const [name, text] of [
    ['sign', request.sign],
    ['ssh', request.ssh],
  ] as const) {
    const key = parseSshPublicKey(text);
    if (!key.ok) return `the ${name} key: ${key.detail}`;
    if (key.value.type !== 'ssh-ed25519')
      return `the ${name} key: a host has ed25519 keys, this one is ${key.value.type}`;
    if (key.value.text !== text) return `the ${name} key carries a comment`;
  }
  if (request.sign === request.ssh) return 'the two keys are one key; a host signs and connects with different ones';
  return isAddress(request.address) ? undefined : 'the address is neither empty nor ssh://host:port';
}

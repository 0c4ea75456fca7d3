/** Keys ready for verification. Importing one costs about as much as a verification, so the last ones used are kept. */
import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { encodeBase64Unpadded } from '../base64.ts';

/** A mesh has tens of signers, so this bounds only abuse: 1 024 keys of 8 192 bits are 3 MB. */
const handlesMax = 1_024;
const handles = new Map<string, KeyObject>();

/** The handle of the key with this fingerprint; `jwk` says it in the words of RFC 7517 when it has to be made. */
export function handleOf(fingerprint: string, jwk: () => JsonWebKey): KeyObject {
  const known = handles.get(fingerprint);
  if (known !== undefined) return known;
  const handle = createPublicKey({ key: jwk(), format: 'jwk' });
  if (handles.size >= handlesMax) handles.clear();
  handles.set(fingerprint, handle);
  return handle;
}

/** base64url, as JSON web keys write numbers and coordinates. Pure. */
export function base64Url(bytes: Uint8Array): string {
  return encodeBase64Unpadded(bytes).replaceAll('+', '-').replaceAll('/', '_');
}

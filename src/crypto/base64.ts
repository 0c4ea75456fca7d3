/**
 * Canonical base64 (RFC 4648 section 4): standard alphabet, padding written, zero pad bits, no white space. One byte
 * string has one text, so a respelled signature is never a second signature. Source: docs/format.md, section 1.
 */
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** Base64 with padding. Pure. */
export function encodeBase64(bytes: Uint8Array): string {
  return btoa(binaryString(bytes));
}

/** Bytes of a canonical base64 text, or undefined for any other spelling. The empty text is no bytes. Pure. */
export function decodeBase64(text: string): Uint8Array | undefined {
  if (!isCanonicalBase64(text)) return undefined;
  // A copy: short buffers of Node share one pool, and what is kept of a key would keep all of it.
  return new Uint8Array(Buffer.from(text, 'base64'));
}

/** True iff `decodeBase64` would give bytes. Reads the text only; nothing is decoded. Pure. */
export function isCanonicalBase64(text: string): boolean {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return false;
  if (!text.endsWith('=')) return true;
  const twoPads = text.endsWith('==');
  const last = alphabet.indexOf(text.charAt(text.length - (twoPads ? 3 : 2)));
  return (last & (twoPads ? 0b1111 : 0b11)) === 0;
}

/** Base64 without padding, as OpenSSH writes fingerprints. Pure. */
export function encodeBase64Unpadded(bytes: Uint8Array): string {
  return encodeBase64(bytes).replace(/=+$/, '');
}

function binaryString(bytes: Uint8Array): string {
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return binary;
}

/**
 * Tells a private key from everything else, in whatever form somebody may paste it, so that it is refused as what it is
 * and by nobody quoted, logged or stored.
 */

/** Headers of PEM (all kinds, OpenSSH's too), of ssh.com and of PuTTY; the member names of a PuTTY file. */
const headers = /PRIVATE KEY|PuTTY-User-Key-File|Private-(?:Lines|MAC|Hash):/;
/** `openssh-key-v1` in base64: the body of an OpenSSH file without its header. */
const opensshBody = /b3BlbnNzaC1rZXktdjE/;
/** A JSON web key and its secret member. */
const webKey: readonly RegExp[] = [/"kty"\s*:/, /"d"\s*:/];
/** Start of a DER SEQUENCE (0x30) in base64, long enough to see what follows it. */
const derStart = /(?<![A-Za-z0-9+/])M[A-P][A-Za-z0-9+/]{14}/g;

/** True iff the text holds something that looks like a private key. Says nothing about a public one. Pure. */
export function looksLikePrivateKey(text: string): boolean {
  // A file of UTF-16 that was read as bytes has a NUL at every second place.
  const plain = text.replaceAll('\0', '');
  if (headers.test(plain) || opensshBody.test(plain) || webKey.every((member) => member.test(plain))) return true;
  return (plain.match(derStart) ?? []).some(startsPrivateDer);
}

/**
 * A private key in DER is a SEQUENCE that begins with a small INTEGER, its version: PKCS#8 (then a SEQUENCE), PKCS#1
 * (then the modulus), SEC 1 (then an OCTET STRING). Encrypted PKCS#8 looks like a public key and is of no use alone.
 */
function startsPrivateDer(base64: string): boolean {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const length = bytes[1] as number;
  const content = length < 0x80 ? 2 : 2 + (length & 0x7f);
  const [tag, size, version, next] = bytes.subarray(content);
  if (tag !== 0x02 || size !== 0x01) return false;
  return (version === 0 && (next === 0x30 || next === 0x02)) || (version === 1 && (next === 0x04 || next === 0x30));
}

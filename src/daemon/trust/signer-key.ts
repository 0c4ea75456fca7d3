/** Whether a signer's private key asks for a passphrase. Told from the head of its file: nothing secret is read. */
import { closeSync, openSync, readSync } from 'node:fs';

/** Bytes that name format and cipher of every kind of key file; the key itself comes later. */
const headBytes = 110;
const opensshHeader = /^-----BEGIN OPENSSH PRIVATE KEY-----\r?\n([A-Za-z0-9+/]{68})/;
/** `openssh-key-v1`, NUL, and the length of the cipher's name. */
const opensshPrefixBytes = 19;
/**
 * Where the type of the first key stands when nothing is encrypted: after cipher, kdf, its options, a count and two
 * lengths.
 */
const plainTypeAt = 47;

/**
 * True when any process of this user can sign with the key. False when it cannot be read here: nothing is known then; and
 * for a key in hardware, whose file is no more than a handle: each use needs a touch.
 */
export function isUnprotectedKey(file: string): boolean {
  const head = readHead(file);
  const openssh = opensshHeader.exec(head)?.[1];
  if (openssh !== undefined) {
    const text = Buffer.from(openssh, 'base64').toString('latin1');
    return text.startsWith('none', opensshPrefixBytes) && !text.startsWith('sk-', plainTypeAt);
  }
  return /^-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(head) && !head.includes('ENCRYPTED');
}

function readHead(file: string): string {
  try {
    const descriptor = openSync(file, 'r');
    try {
      const head = Buffer.alloc(headBytes);
      return head.toString('latin1', 0, readSync(descriptor, head, 0, headBytes, 0));
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return '';
  }
}

/** Hashes. One-shot `crypto.hash` is 6 to 10 times faster than `createHash` on the short inputs of this program. */
import { hash } from 'node:crypto';

/** sha256 of bytes or of the UTF-8 form of a string, as 64 lower-case hex digits. Pure. */
export function sha256Hex(data: string | Uint8Array): string {
  return hash('sha256', data, 'hex');
}

/** The same as 32 units below 256: half of the room where millions of digests are kept to be compared. Pure. */
export function sha256Units(data: string): string {
  return hash('sha256', data, 'binary');
}

/** sha256 of bytes or of the UTF-8 form of a string: 32 bytes. Pure. */
export function sha256(data: string | Uint8Array): Uint8Array {
  return hash('sha256', data, 'buffer');
}

/** sha512 of bytes or of the UTF-8 form of a string: 64 bytes. Pure. Used inside SSHSIG only. */
export function sha512(data: string | Uint8Array): Uint8Array {
  return hash('sha512', data, 'buffer');
}

/** sha1, 40 lower-case hex digits: names of git objects, never authority. Pure. */
export function sha1Hex(data: string | Uint8Array): string {
  return hash('sha1', data, 'hex');
}

/** sha256 of the bytes that these hex digits stand for, as 64 lower-case hex digits. Pure. */
export function sha256OfHex(hex: string): string {
  return hash('sha256', Buffer.from(hex, 'hex'), 'hex');
}

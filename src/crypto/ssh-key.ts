/**
 * OpenSSH key texts. Public keys are read strictly, because their text and fingerprint are part of signed objects: one
 * key has one text. Private keys are read and written only for the host's own unencrypted keys (by sshpk).
 * Source: docs/format.md, approvals.
 */
import { createPrivateKey } from 'node:crypto';
import sshpk from 'sshpk';
import { decodeBase64, encodeBase64, encodeBase64Unpadded } from './base64.ts';
import { isStrongEd25519Key, pkcs8OfSeed } from './ed25519.ts';
import { sha256 } from './hash.ts';
import { ok, refuse, type Result } from './result.ts';
import { concatBytes, readWire, wireString } from './ssh-wire.ts';

export interface SshPublicKey {
  /** Key type as OpenSSH names it. */
  readonly type: string;
  /** `type base64`, no comment: the one text of this key. */
  readonly text: string;
  /** The key as it stands in signatures. */
  readonly blob: Uint8Array;
  /** `SHA256:` and 43 characters. */
  readonly fingerprint: string;
  /** The 32 raw bytes of an ed25519 key. */
  readonly raw32?: Uint8Array;
}

export type SshKeyFault = 'NOT_A_KEY' | 'PRIVATE_KEY' | 'NOT_CANONICAL' | 'WEAK_KEY' | 'KEY_TYPE_UNSUPPORTED';

/** Key types that are known by name and refused as "not supported yet" or for good. */
const unsupportedTypes: ReadonlyMap<string, string> = new Map([
  ['ecdsa-sha2-nistp256', 'not supported yet'],
  ['ecdsa-sha2-nistp384', 'not supported yet'],
  ['ecdsa-sha2-nistp521', 'not supported yet'],
  ['ssh-rsa', 'not supported yet'],
  ['sk-ssh-ed25519@openssh.com', 'not supported yet'],
  ['sk-ecdsa-sha2-nistp256@openssh.com', 'not supported yet'],
  ['ssh-dss', 'not supported: DSA is broken'],
]);

/**
 * Reads one public key: `type base64`, optionally a comment and a final newline. Refuses private keys (and never quotes
 * them), other spellings of the base64 or blob, weak keys, and types that this version does not verify. Pure.
 */
export function parseSshPublicKey(text: string): Result<SshPublicKey, SshKeyFault> {
  if (/PRIVATE KEY|PuTTY-User-Key-File/.test(text))
    return refuse('PRIVATE_KEY', 'this is a private key; give the .pub file');
  const match = /^([a-z0-9@.-]{1,64}) ([A-Za-z0-9+/=]{1,16384})(?: [^\r\n]*)?\n?$/.exec(text);
  if (match === null) return refuse('NOT_A_KEY', 'not an OpenSSH public key of the form "type base64 [comment]"');
  const [, type = '', encoded = ''] = match;
  const blob = decodeBase64(encoded);
  if (blob === undefined) return refuse('NOT_CANONICAL', 'the key is not in canonical base64');
  return readKeyBlob(type, blob);
}

/** The same for a key blob as it stands in a signature. `type` is the name that the blob must carry. Pure. */
export function readKeyBlob(type: string, blob: Uint8Array): Result<SshPublicKey, SshKeyFault> {
  const reader = readWire(blob);
  if (reader.ascii() !== type) return refuse('NOT_A_KEY', 'the key and its type name disagree');
  if (type !== 'ssh-ed25519') return refuseType(type);
  const raw32 = reader.bytes();
  if (raw32?.length !== 32) return refuse('NOT_A_KEY', 'an ed25519 key has 32 bytes');
  if (!reader.atEnd()) return refuse('NOT_CANONICAL', 'bytes after the end of the key');
  if (!isStrongEd25519Key(raw32)) return refuse('WEAK_KEY', 'not a canonical ed25519 key of full order');
  return ok({ type, text: `${type} ${encodeBase64(blob)}`, blob, fingerprint: fingerprintOf(blob), raw32 });
}

/** `SHA256:` fingerprint of a key blob, as `ssh-keygen -l` prints it. Pure. */
export function fingerprintOf(blob: Uint8Array): string {
  return `SHA256:${encodeBase64Unpadded(sha256(blob))}`;
}

/** OpenSSH text, without comment, of a raw ed25519 public key. Pure. */
export function ed25519PublicText(raw32: Uint8Array): string {
  return `ssh-ed25519 ${encodeBase64(concatBytes([wireString('ssh-ed25519'), wireString(raw32)]))}`;
}

/** Unencrypted OpenSSH private key file of a seed, readable by `ssh-keygen` and ssh2. Holds a secret: mode 0600. */
export function ed25519PrivatePem(seed32: Uint8Array, comment: string): string {
  const handle = createPrivateKey(pkcs8OfSeed(seed32));
  const key = sshpk.parsePrivateKey(handle.export({ format: 'pem', type: 'pkcs8' }), 'pem');
  key.comment = comment;
  return key.toString('openssh');
}

/** Seed of the host's own unencrypted OpenSSH ed25519 private key. The text is never quoted in a refusal. */
export function seedFromPem(text: string): Result<Uint8Array, 'NOT_A_KEY' | 'ENCRYPTED' | 'KEY_TYPE_UNSUPPORTED'> {
  let key: sshpk.PrivateKey;
  try {
    key = sshpk.parsePrivateKey(text, 'openssh');
  } catch (error) {
    const encrypted = error instanceof Error && error.name === 'KeyEncryptedError';
    return encrypted
      ? refuse('ENCRYPTED', 'the key has a passphrase')
      : refuse('NOT_A_KEY', 'not an OpenSSH private key');
  }
  const part = (key as unknown as { readonly part: Readonly<Record<string, { readonly data: Uint8Array }>> }).part['k'];
  if (key.type !== 'ed25519' || part === undefined) return refuse('KEY_TYPE_UNSUPPORTED', 'not an ed25519 key');
  return ok(new Uint8Array(part.data));
}

function refuseType(type: string): Result<never, SshKeyFault> {
  const known = unsupportedTypes.get(type);
  if (known !== undefined) return refuse('KEY_TYPE_UNSUPPORTED', `${type}: ${known}`);
  if (/-cert-v0[01]@openssh\.com$/.test(type))
    return refuse('KEY_TYPE_UNSUPPORTED', `${type}: certificates are not supported`);
  return refuse('NOT_A_KEY', 'unknown key type');
}

export { fingerprintWords } from './fingerprint-words.ts';

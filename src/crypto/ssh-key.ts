/**
 * OpenSSH key texts. Public keys are read strictly, because their text and fingerprint are part of signed objects: one
 * key has one text; what the families of keys have in their blobs is read in `keys/`. Private keys are read and written
 * only for the host's own unencrypted keys (by sshpk). Source: docs/format.md, approvals.
 */
import { createPrivateKey } from 'node:crypto';
import sshpk from 'sshpk';
import { decodeBase64, encodeBase64, encodeBase64Unpadded } from './base64.ts';
import { pkcs8OfSeed } from './ed25519.ts';
import { sha256 } from './hash.ts';
import { readEcdsaFields } from './keys/ecdsa-key.ts';
import { readEd25519Fields } from './keys/ed25519-key.ts';
import type { SshKeyFault, SshPublicKey } from './keys/key.ts';
import { looksLikePrivateKey } from './keys/private-text.ts';
import { readRsaFields } from './keys/rsa-key.ts';
import { readSkEcdsaFields, readSkEd25519Fields } from './keys/sk-key.ts';
import { ok, refuse, type Result } from './result.ts';
import { concatBytes, readWire, wireString, type WireReader } from './ssh-wire.ts';

/** Characters of the base64 of a key: RSA of 16 384 bits, which is refused by its size and not as "no key", has 2 800. */
const keyCharactersMax = 4_096;
const keyText = new RegExp(`^([a-z0-9@.-]{1,64}) ([A-Za-z0-9+/=]{1,${keyCharactersMax}})(?: [^\\r\\n]*)?\\n?$`);

/** Key types that are known and refused for good. */
const refusedTypes: ReadonlyMap<string, string> = new Map([
  ['ssh-dss', 'DSA is broken and not supported'],
  ['ssh-xmss@openssh.com', 'XMSS is not supported'],
]);

/**
 * Reads one public key: `type base64`, optionally a comment and a final newline. Refuses private keys (and never quotes
 * them), other spellings of the base64 or blob, weak keys, and types that are refused by name. Pure.
 */
export function parseSshPublicKey(text: string): Result<SshPublicKey, SshKeyFault> {
  if (looksLikePrivateKey(text)) return refuse('PRIVATE_KEY', 'this is a private key; give the .pub file');
  const match = keyText.exec(text);
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
  const key = readFamily(type, reader, {
    text: `${type} ${encodeBase64(blob)}`,
    blob,
    fingerprint: fingerprintOf(blob),
  });
  return key.ok && !reader.atEnd() ? refuse('NOT_CANONICAL', 'bytes after the end of the key') : key;
}

function readFamily(
  type: string,
  reader: WireReader,
  common: Pick<SshPublicKey, 'text' | 'blob' | 'fingerprint'>,
): Result<SshPublicKey, SshKeyFault> {
  const as = <F extends object, K extends object>(
    fields: Result<F, SshKeyFault>,
    kind: K,
  ): Result<typeof common & F & K, SshKeyFault> => (fields.ok ? ok({ ...kind, ...common, ...fields.value }) : fields);
  switch (type) {
    case 'ssh-ed25519':
      return as(readEd25519Fields(reader), { type });
    case 'ecdsa-sha2-nistp256':
    case 'ecdsa-sha2-nistp384':
    case 'ecdsa-sha2-nistp521':
      return as(readEcdsaFields(type, reader), { type });
    case 'ssh-rsa':
      return as(readRsaFields(reader), { type });
    case 'sk-ssh-ed25519@openssh.com':
      return as(readSkEd25519Fields(reader), { type });
    case 'sk-ecdsa-sha2-nistp256@openssh.com':
      return as(readSkEcdsaFields(reader), { type });
    default:
      return refuseType(type);
  }
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
  const known = refusedTypes.get(type);
  if (known !== undefined) return refuse('KEY_TYPE_UNSUPPORTED', `${type}: ${known}`);
  if (/-cert-v0[01]@openssh\.com$/.test(type))
    return refuse('KEY_TYPE_UNSUPPORTED', `${type}: certificates are not supported`);
  return refuse('NOT_A_KEY', 'unknown key type');
}

export type { SshKeyFault, SshPublicKey } from './keys/key.ts';
export { looksLikePrivateKey } from './keys/private-text.ts';
export { fingerprintWords } from './fingerprint-words.ts';

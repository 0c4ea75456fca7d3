/**
 * SSHSIG approvals, read so strictly that every verifier gives the same verdict (OpenSSH versions, Node and others
 * differ on the rest). Source: docs/format.md, approvals; OpenSSH PROTOCOL.sshsig.
 */
import { verify } from 'node:crypto';
import { decodeBase64, encodeBase64 } from './base64.ts';
import { sha256, sha512 } from './hash.ts';
import { ecdsaCheck } from './keys/ecdsa-key.ts';
import { ed25519Check } from './keys/ed25519-key.ts';
import type { InnerSignature, SignatureCheck, SignatureFault, SshPublicKey } from './keys/key.ts';
import { rsaCheck } from './keys/rsa-key.ts';
import { skCheck } from './keys/sk-key.ts';
import { ok, refuse, type Result } from './result.ts';
import { concatBytes, readWire, sameBytes, wireString, wireUint32 } from './ssh-wire.ts';
import { utf8Bytes } from './text.ts';

/**
 * Why an approval does not count. NOT_BASE64, NOT_SSHSIG (fields, or too long), NOT_CANONICAL (another spelling, or
 * another type inside), NAMESPACE, HASH_UNSUPPORTED, KEY_MISMATCH, SIGNATURE_TYPE_UNSUPPORTED (refused by name),
 * NO_USER_PRESENCE (a token that nobody touched), SIGNATURE (does not verify).
 */
export type SshsigFault =
  | 'NOT_BASE64'
  | 'NOT_SSHSIG'
  | 'NAMESPACE'
  | 'HASH_UNSUPPORTED'
  | 'KEY_MISMATCH'
  | SignatureFault;

/** `sshsig` (base64 of the blob, no armor) by `key` over `message` in `namespace`. */
export interface Approval {
  readonly sshsig: string;
  readonly namespace: string;
  readonly message: string | Uint8Array;
  readonly key: SshPublicKey;
}

/** Gives the verdict of `verifySshsig`, worked out now or before. */
export type ApprovalVerifier = (approval: Approval) => Result<true, SshsigFault>;

interface Fields {
  readonly publicKey: Uint8Array;
  readonly namespace: string;
  readonly hash: 'sha256' | 'sha512';
  readonly signatureType: string;
  readonly signature: Uint8Array;
  /** Flags and counter of a FIDO token; nothing otherwise. */
  readonly rest?: Uint8Array;
}

/** Characters of an approval that are looked at: an RSA key of 8 192 bits with its signature has 2 900. */
const sshsigCharactersMax = 8_192;
const armorColumns = 70;
const noBytes: Uint8Array = new Uint8Array(0);
const magic: Uint8Array = Uint8Array.from('SSHSIG', (character) => character.charCodeAt(0));

/** Verdict on an approval: the strict rules of docs/format.md, then node:crypto. Pure. */
export function verifySshsig(approval: Approval): Result<true, SshsigFault> {
  const check = prepareCheck(approval);
  if (!check.ok) return check;
  const { digest, data, key, signature } = check.value;
  return verdictOf(verify(digest, data, key, signature));
}

/** The same verdict, worked out on Node's thread pool: many at once use every core and leave this thread free. */
export function verifySshsigLater(approval: Approval): Promise<Result<true, SshsigFault>> {
  const check = prepareCheck(approval);
  if (!check.ok) return Promise.resolve(check);
  const { digest, data, key, signature } = check.value;
  return new Promise((resolve) => {
    verify(digest, data, key, signature, (error, valid) => resolve(verdictOf(error === null && valid)));
  });
}

function verdictOf(valid: boolean): Result<true, SshsigFault> {
  return valid ? ok(true) : refuse('SIGNATURE', 'the signature does not verify');
}

/** Everything but the mathematics. */
function prepareCheck({ sshsig, namespace, message, key }: Approval): Result<SignatureCheck, SshsigFault> {
  if (sshsig.length > sshsigCharactersMax) return refuse('NOT_SSHSIG', 'longer than any signature');
  const blob = decodeBase64(sshsig);
  if (blob === undefined) return refuse('NOT_BASE64', 'the signature is not canonical base64');
  const read = readFields(blob);
  if (!read.ok) return read;
  const fields = read.value;
  if (fields.namespace !== namespace) return refuse('NAMESPACE', 'signed for another purpose');
  if (!sameBytes(fields.publicKey, key.blob)) return refuse('KEY_MISMATCH', 'signed by another key');
  const { signatureType: type, signature, rest = noBytes } = fields;
  return familyCheck(key, { type, signature, rest }, signedData(fields, message));
}

function familyCheck(
  key: SshPublicKey,
  inner: InnerSignature,
  data: Uint8Array,
): Result<SignatureCheck, SignatureFault> {
  switch (key.type) {
    case 'ssh-ed25519':
      return ed25519Check(key, inner, data);
    case 'ecdsa-sha2-nistp256':
    case 'ecdsa-sha2-nistp384':
    case 'ecdsa-sha2-nistp521':
      return ecdsaCheck(key, inner, data);
    case 'ssh-rsa':
      return rsaCheck(key, inner, data);
    case 'sk-ssh-ed25519@openssh.com':
    case 'sk-ecdsa-sha2-nistp256@openssh.com':
      return skCheck(key, inner, data);
  }
}

/** Base64 of the blob inside the armor that `ssh-keygen -Y sign` writes, or NOT_ARMOR. Pure. */
export function armorToBlob(armor: string): Result<string, 'NOT_ARMOR'> {
  const match = /^-----BEGIN SSH SIGNATURE-----\n([A-Za-z0-9+/=\n]*)\n-----END SSH SIGNATURE-----\n?$/.exec(armor);
  const lines = match?.[1]?.split('\n') ?? [];
  // The writer breaks after 70 characters wherever that is, also between two signs of padding.
  const full = lines.slice(0, -1).every((line) => line.length === armorColumns);
  const body = lines.join('');
  const last = lines.at(-1)?.length ?? 0;
  if (!full || last === 0 || last > armorColumns || decodeBase64(body) === undefined)
    return refuse('NOT_ARMOR', 'not an armored SSH signature');
  return ok(body);
}

/** The bytes that an SSHSIG signature covers. Pure. */
export function signedData(
  fields: { readonly namespace: string; readonly hash: 'sha256' | 'sha512' },
  message: string | Uint8Array,
): Uint8Array {
  const bytes = typeof message === 'string' ? utf8Bytes(message) : message;
  const digest = fields.hash === 'sha256' ? sha256(bytes) : sha512(bytes);
  return concatBytes([
    magic,
    wireString(fields.namespace),
    wireString(''),
    wireString(fields.hash),
    wireString(digest),
  ]);
}

/** Blob of these fields, as base64: the inverse of reading, and the way to build one without `ssh-keygen`. Pure. */
export function encodeSshsig(fields: Fields): string {
  return encodeBase64(encodeFields(fields));
}

function readFields(blob: Uint8Array): Result<Fields, SshsigFault> {
  const reader = readWire(blob);
  const start = reader.raw(magic.length);
  if (start === undefined || !sameBytes(start, magic) || reader.uint32() !== 1) {
    return refuse('NOT_SSHSIG', 'not an SSHSIG of version 1');
  }
  const publicKey = reader.bytes();
  const namespace = reader.ascii();
  const reserved = reader.bytes();
  const hash = reader.ascii();
  const inner = readWire(reader.bytes() ?? noBytes);
  const signatureType = inner.ascii();
  const signature = inner.bytes();
  const rest = inner.rest();
  if (publicKey === undefined || namespace === undefined || reserved === undefined) return malformed();
  if (hash !== 'sha256' && hash !== 'sha512') return refuse('HASH_UNSUPPORTED', 'only sha256 and sha512 are allowed');
  if (signatureType === undefined || signature === undefined) return malformed();
  const fields: Fields = { publicKey, namespace, hash, signatureType, signature, rest };
  if (!sameBytes(encodeFields(fields), blob)) return refuse('NOT_CANONICAL', 'another spelling of a signature');
  return ok(fields);
}

function malformed(): Result<never, SshsigFault> {
  return refuse('NOT_SSHSIG', 'a field of the SSHSIG is missing or not printable');
}

function encodeFields(fields: Fields): Uint8Array {
  const { signatureType, signature, rest = noBytes } = fields;
  const inner = concatBytes([wireString(signatureType), wireString(signature), rest]);
  return concatBytes([
    magic,
    wireUint32(1),
    wireString(fields.publicKey),
    wireString(fields.namespace),
    wireString(''),
    wireString(fields.hash),
    wireString(inner),
  ]);
}

/**
 * SSHSIG approvals, read so strictly that every verifier gives the same verdict (OpenSSH versions, Node and others
 * differ on the rest). Source: docs/format.md, approvals; OpenSSH PROTOCOL.sshsig.
 */
import { decodeBase64, encodeBase64 } from './base64.ts';
import { verifyEd25519 } from './ed25519.ts';
import { sha256, sha512 } from './hash.ts';
import { ok, refuse, type Result } from './result.ts';
import { concatBytes, readWire, sameBytes, wireString, wireUint32 } from './ssh-wire.ts';
import type { SshPublicKey } from './ssh-key.ts';
import { utf8Bytes } from './text.ts';

export type SshsigFault =
  | 'NOT_BASE64'
  | 'NOT_SSHSIG'
  | 'NOT_CANONICAL'
  | 'NAMESPACE'
  | 'HASH_UNSUPPORTED'
  | 'KEY_MISMATCH'
  | 'KEY_TYPE_UNSUPPORTED'
  | 'SIGNATURE';

interface Fields {
  readonly publicKey: Uint8Array;
  readonly namespace: string;
  readonly hash: 'sha256' | 'sha512';
  readonly signatureType: string;
  readonly signature: Uint8Array;
}

const magic: Uint8Array = Uint8Array.from('SSHSIG', (character) => character.charCodeAt(0));

/**
 * Verdict on an approval: `sshsig` (base64 of the blob, no armor) by `key` over `message` in `namespace`. Pure.
 * Codes: NOT_BASE64, NOT_SSHSIG (fields), NOT_CANONICAL (another spelling), NAMESPACE, HASH_UNSUPPORTED, KEY_MISMATCH,
 * KEY_TYPE_UNSUPPORTED (not supported yet), SIGNATURE (does not verify).
 */
export function verifySshsig(approval: {
  readonly sshsig: string;
  readonly namespace: string;
  readonly message: string | Uint8Array;
  readonly key: SshPublicKey;
}): Result<true, SshsigFault> {
  const blob = decodeBase64(approval.sshsig);
  if (blob === undefined) return refuse('NOT_BASE64', 'the signature is not canonical base64');
  const read = readFields(blob);
  if (!read.ok) return read;
  const fields = read.value;
  if (fields.namespace !== approval.namespace) return refuse('NAMESPACE', 'signed for another purpose');
  if (!sameBytes(fields.publicKey, approval.key.blob)) return refuse('KEY_MISMATCH', 'signed by another key');
  const raw32 = approval.key.raw32;
  if (approval.key.type !== 'ssh-ed25519' || raw32 === undefined) {
    return refuse('KEY_TYPE_UNSUPPORTED', `${approval.key.type}: not supported yet`);
  }
  if (fields.signatureType !== 'ssh-ed25519') return refuse('NOT_CANONICAL', 'signature and key types differ');
  const signed = signedData(fields, approval.message);
  return verifyEd25519(raw32, signed, fields.signature)
    ? ok(true)
    : refuse('SIGNATURE', 'the signature does not verify');
}

/** Base64 of the blob inside the armor that `ssh-keygen -Y sign` writes, or NOT_ARMOR. Pure. */
export function armorToBlob(armor: string): Result<string, 'NOT_ARMOR'> {
  const match =
    /^-----BEGIN SSH SIGNATURE-----\n((?:[A-Za-z0-9+/]{70}\n)*[A-Za-z0-9+/]{1,70}={0,2}\n)-----END SSH SIGNATURE-----\n?$/.exec(
      armor,
    );
  const body = match?.[1]?.replaceAll('\n', '');
  if (body === undefined || decodeBase64(body) === undefined)
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
  const inner = readWire(reader.bytes() ?? new Uint8Array(0));
  const signatureType = inner.ascii();
  const signature = inner.bytes();
  if (publicKey === undefined || namespace === undefined || reserved === undefined) return malformed();
  if (hash !== 'sha256' && hash !== 'sha512') return refuse('HASH_UNSUPPORTED', 'only sha256 and sha512 are allowed');
  if (signatureType === undefined || signature === undefined) return malformed();
  const fields: Fields = { publicKey, namespace, hash, signatureType, signature };
  if (!sameBytes(encodeFields(fields), blob)) return refuse('NOT_CANONICAL', 'another spelling of a signature');
  return ok(fields);
}

function malformed(): Result<never, SshsigFault> {
  return refuse('NOT_SSHSIG', 'a field of the SSHSIG is missing or not printable');
}

function encodeFields(fields: Fields): Uint8Array {
  const inner = concatBytes([wireString(fields.signatureType), wireString(fields.signature)]);
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

/**
 * ed25519 by node:crypto, narrowed to what every verifier agrees on: canonical keys of the prime-order subgroup and
 * S < L. Source: docs/format.md, approvals.
 */
import { createPrivateKey, createPublicKey, sign, verify, type KeyObject, type PrivateKeyInput } from 'node:crypto';
import { encodeBase64Unpadded } from './base64.ts';
import { hasPrimeOrder } from './ed25519-point.ts';
import { assert } from './result.ts';
import { utf8Bytes } from './text.ts';

/** Opaque private key of this host. Holds no printable secret. */
export interface SigningKey {
  readonly brand: 'memd-signing-key';
  readonly handle: KeyObject;
}

/** Keys kept ready for verification; a mesh has tens of keys, so this bounds only abuse. */
const cachedKeysMax = 1_024;
const keyCache = new Map<string, KeyObject | null>();

/** 2^252 + 27742317777372353535851937790883648493, little endian. */
const groupOrder: Uint8Array = new Uint8Array([
  0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0, 0, 0, 0, 0,
  0, 0, 0, 0, 0, 0, 0, 0, 0x10,
]);

/** The y coordinates of the eight points of small order, little endian. */
const smallOrderY: readonly Uint8Array[] = [
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
].map((hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16)));

/** True iff the 32 bytes are the canonical form of a point of full (prime) order. Pure. */
export function isStrongEd25519Key(raw: Uint8Array): boolean {
  return verificationKey(raw) !== null;
}

/**
 * True iff `signature` (64 bytes, S < L) by the key `raw` (32 bytes, canonical, of full order) covers `message` (bytes,
 * or the UTF-8 form of a string). Anything else is false, never an error. Pure.
 */
export function verifyEd25519(raw: Uint8Array, message: string | Uint8Array, signature: Uint8Array): boolean {
  const key = strictEd25519Handle(raw, signature);
  if (key === null) return false;
  return verify(null, typeof message === 'string' ? utf8Bytes(message) : message, key, signature);
}

/** The key, ready for `verify` of node:crypto, when key and signature are of the strict form; null otherwise. */
export function strictEd25519Handle(raw: Uint8Array, signature: Uint8Array): KeyObject | null {
  if (signature.length !== 64 || !isReducedScalar(signature) || hasSmallOrderStart(signature)) return null;
  return verificationKey(raw);
}

/** 64-byte signature over bytes or the UTF-8 form of a string. Deterministic (RFC 8032). */
export function signEd25519(key: SigningKey, message: string | Uint8Array): Uint8Array {
  return sign(null, typeof message === 'string' ? utf8Bytes(message) : message, key.handle);
}

/** The same on Node's thread pool: many at once use every core and leave this thread free. */
export function signEd25519Later(key: SigningKey, message: string | Uint8Array): Promise<Uint8Array> {
  const bytes = typeof message === 'string' ? utf8Bytes(message) : message;
  return new Promise((resolve, reject) => {
    sign(null, bytes, key.handle, (error, signature) => (error === null ? resolve(signature) : reject(error)));
  });
}

/** Private key of a 32-byte seed. */
export function signingKeyFromSeed(seed: Uint8Array): SigningKey {
  return { brand: 'memd-signing-key', handle: createPrivateKey(pkcs8OfSeed(seed)) };
}

/** The 32 public bytes of a private key. Pure. */
export function publicKeyOf(key: SigningKey): Uint8Array {
  const der = createPublicKey(key.handle).export({ format: 'der', type: 'spki' });
  return new Uint8Array(der.subarray(der.length - 32));
}

/** PrivateKeyInfo of RFC 8410 up to the seed. */
const pkcs8Prefix: readonly number[] = [
  0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

/** PrivateKeyInfo of a seed, as `createPrivateKey` takes it. Holds a secret. */
export function pkcs8OfSeed(seed: Uint8Array): PrivateKeyInput {
  assert(seed.length === 32, 'an ed25519 seed has 32 bytes');
  return { key: Buffer.from([...pkcs8Prefix, ...seed]), format: 'der', type: 'pkcs8' };
}

/** Ready key, or null for a weak or malformed one. Both answers are cached, so a hostile key costs its check once. */
function verificationKey(raw: Uint8Array): KeyObject | null {
  if (raw.length !== 32) return null;
  const name = encodeBase64Unpadded(raw);
  const known = keyCache.get(name);
  if (known !== undefined) return known;
  const key = hasPrimeOrder(raw) ? importPublicKey(raw) : null;
  if (keyCache.size >= cachedKeysMax) keyCache.clear();
  keyCache.set(name, key);
  return key;
}

function importPublicKey(raw: Uint8Array): KeyObject {
  const x = encodeBase64Unpadded(raw).replaceAll('+', '-').replaceAll('/', '_');
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
}

/**
 * R of small order: the equation can hold, but the signature gives the private scalar away, and verifiers differ.
 * No honest signature has one.
 */
function hasSmallOrderStart(signature: Uint8Array): boolean {
  // The first byte tells almost every honest signature apart; the rest is looked at where it does not.
  return smallOrderY.some(
    (y) =>
      y[0] === signature[0] &&
      y.every((byte, index) => byte === (index === 31 ? (signature[31] as number) & 0x7f : signature[index])),
  );
}

/** S < L on the last 32 bytes, little endian: without it a second valid signature exists for every signature. */
function isReducedScalar(signature: Uint8Array): boolean {
  for (let index = 31; index >= 0; index -= 1) {
    const digit = signature[32 + index] as number;
    const bound = groupOrder[index] as number;
    if (digit !== bound) return digit < bound;
  }
  return false;
}

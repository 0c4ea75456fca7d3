/**
 * The three NIST curves of RFC 5656, y² = x³ - 3x + b over the integers modulo p, and which of their points OpenSSH takes
 * as a key. Public data only. Source: FIPS 186-4 appendix D; OpenSSH `sshkey_ec_validate_public`.
 */
import { numberOf } from './mpint.ts';

export interface Curve {
  /** As it stands in key blobs. */
  readonly name: 'nistp256' | 'nistp384' | 'nistp521';
  /** As JSON web keys call it. */
  readonly jwkName: 'P-256' | 'P-384' | 'P-521';
  readonly digest: 'sha256' | 'sha384' | 'sha512';
  /** Bytes of one coordinate, and of r and s. */
  readonly width: number;
  readonly p: bigint;
  readonly b: bigint;
  /** Order of the group: prime, so that every point but infinity is of full order. */
  readonly n: bigint;
}

export const nistp256: Curve = {
  name: 'nistp256',
  jwkName: 'P-256',
  digest: 'sha256',
  width: 32,
  p: 0xffffffff00000001000000000000000000000000ffffffffffffffffffffffffn,
  b: 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604bn,
  n: 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n,
};

export const nistp384: Curve = {
  name: 'nistp384',
  jwkName: 'P-384',
  digest: 'sha384',
  width: 48,
  p: 0xfffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffeffffffff0000000000000000ffffffffn,
  b: 0xb3312fa7e23ee7e4988e056be3f82d19181d9c6efe8141120314088f5013875ac656398d8a2ed19d2a85c8edd3ec2aefn,
  n: 0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973n,
};

export const nistp521: Curve = {
  name: 'nistp521',
  jwkName: 'P-521',
  digest: 'sha512',
  width: 66,
  p: 2n ** 521n - 1n,
  b: 0x0051953eb9618e1c9a1f929a21a0b68540eea2da725b99b315f3b8b489918ef109e156193951ec7e937b1652c0bd3bb1bf073573df883d2c34f1ef451fd46b503f00n,
  n: 0x01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409n,
};

/**
 * True iff the uncompressed point is on the curve and one that OpenSSH takes: it refuses coordinates of up to half the
 * bits of n, and from n - 1 on. No honest key has such, and what it refuses must not count here. Pure.
 */
export function isKeyPoint(curve: Curve, point: Uint8Array): boolean {
  const { width, p, b, n } = curve;
  if (point.length !== 1 + 2 * width || point[0] !== 4) return false;
  const x = numberOf(point.subarray(1, 1 + width));
  const y = numberOf(point.subarray(1 + width));
  const tiny = 1n << BigInt(n.toString(2).length >> 1);
  if ([x, y].some((coordinate) => coordinate < tiny || coordinate >= n - 1n || coordinate >= p)) return false;
  return (y * y - (x * x * x - 3n * x + b)) % p === 0n;
}

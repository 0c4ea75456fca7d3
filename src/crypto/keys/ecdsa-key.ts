/**
 * ECDSA over P-256, P-384 and P-521. A signature is two numbers; both s and n - s are valid, and every verifier takes
 * both, so identity never rests on signature bytes. Source: RFC 5656 section 3; docs/format.md F6.11.
 */
import type { KeyObject } from 'node:crypto';
import { ok, refuse, type Result } from '../result.ts';
import { readWire, type WireReader } from '../ssh-wire.ts';
import { isKeyPoint, nistp256, nistp384, nistp521, type Curve } from './ecdsa-curves.ts';
import { base64Url, handleOf } from './handles.ts';
import type {
  EcdsaKeyType,
  EcdsaPublicKey,
  InnerSignature,
  SignatureCheck,
  SignatureFault,
  SshKeyFault,
} from './key.ts';
import { numberOf, positiveMpint } from './mpint.ts';

const curves: Readonly<Record<EcdsaKeyType, Curve>> = {
  'ecdsa-sha2-nistp256': nistp256,
  'ecdsa-sha2-nistp384': nistp384,
  'ecdsa-sha2-nistp521': nistp521,
};

/** The fields of a key blob after its type name. Pure. */
export function readEcdsaFields(
  type: EcdsaKeyType,
  reader: WireReader,
): Result<{ readonly point: Uint8Array }, SshKeyFault> {
  return readCurvePoint(curves[type], reader);
}

/** Curve name and point, as they stand in plain and in FIDO keys. Pure. */
export function readCurvePoint(curve: Curve, reader: WireReader): Result<{ readonly point: Uint8Array }, SshKeyFault> {
  if (reader.ascii() !== curve.name) return refuse('NOT_A_KEY', 'the key and its curve disagree');
  const point = reader.bytes();
  if (point === undefined || point.length === 0) return refuse('NOT_A_KEY', 'the point of the key is missing');
  const form = point[0] as number;
  if (form === 2 || form === 3 || form === 6 || form === 7)
    return refuse('NOT_CANONICAL', 'the point of the key is not in its uncompressed form');
  return isKeyPoint(curve, point) ? ok({ point }) : refuse('WEAK_KEY', `not a usable point of ${curve.name}`);
}

/** What verifies a signature by a plain ECDSA key. Pure. */
export function ecdsaCheck(
  key: EcdsaPublicKey,
  inner: InnerSignature,
  data: Uint8Array,
): Result<SignatureCheck, SignatureFault> {
  if (inner.type !== key.type) return refuse('NOT_CANONICAL', 'signature and key types differ');
  if (inner.rest.length > 0) return refuse('NOT_CANONICAL', 'bytes after the end of the signature');
  return curveCheck(curves[key.type], key, inner.signature, data);
}

/** The same for the two numbers alone: a FIDO key signs other data with the same mathematics. Pure. */
export function curveCheck(
  curve: Curve,
  key: { readonly fingerprint: string; readonly point: Uint8Array },
  numbers: Uint8Array,
  data: Uint8Array,
): Result<SignatureCheck, SignatureFault> {
  const reader = readWire(numbers);
  const r = positiveMpint(reader.bytes());
  const s = positiveMpint(reader.bytes());
  if (r === undefined || s === undefined || !reader.atEnd())
    return refuse('NOT_CANONICAL', 'not two positive numbers in their shortest form');
  if (numberOf(r) >= curve.n || numberOf(s) >= curve.n) return refuse('SIGNATURE', 'a number of the order or above');
  const signature = new Uint8Array(2 * curve.width);
  signature.set(r, curve.width - r.length);
  signature.set(s, 2 * curve.width - s.length);
  const handle = curveHandle(curve, key.fingerprint, key.point);
  return ok({ digest: curve.digest, key: { key: handle, dsaEncoding: 'ieee-p1363' }, data, signature });
}

function curveHandle(curve: Curve, fingerprint: string, point: Uint8Array): KeyObject {
  return handleOf(fingerprint, () => ({
    kty: 'EC',
    crv: curve.jwkName,
    x: base64Url(point.subarray(1, 1 + curve.width)),
    y: base64Url(point.subarray(1 + curve.width)),
  }));
}

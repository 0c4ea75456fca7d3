/**
 * RSA of 2 048 to 8 192 bits with sha256 or sha512. SHA-1 (`ssh-rsa` as a signature type) is refused by name.
 * Source: RFC 4253 section 6.6, RFC 8332; docs/format.md F6.12.
 */
import { ok, refuse, type Result } from '../result.ts';
import type { WireReader } from '../ssh-wire.ts';
import { base64Url, handleOf } from './handles.ts';
import type { InnerSignature, RsaPublicKey, SignatureCheck, SignatureFault, SshKeyFault } from './key.ts';
import { bitLength, numberOf, positiveMpint } from './mpint.ts';

const modulusBitsMin = 2_048;
/** A verification takes half a millisecond at this size, and it grows with the square. */
const modulusBitsMax = 8_192;
/** Below it FIPS verifiers refuse, and old ones could be fooled; `ssh-keygen` has made 65 537 since 2010. */
const exponentMin = 65_537n;
/** From here on others refuse (Go, BoringSSL), and a verification takes longer the longer the exponent is. */
const exponentLimit: bigint = 2n ** 31n;

/** The fields of a key blob after its type name. Pure. */
export function readRsaFields(
  reader: WireReader,
): Result<{ readonly modulus: Uint8Array; readonly exponent: Uint8Array }, SshKeyFault> {
  const [exponentField, modulusField] = [reader.bytes(), reader.bytes()];
  if (exponentField === undefined || modulusField === undefined)
    return refuse('NOT_A_KEY', 'a number of the RSA key is missing');
  const exponent = positiveMpint(exponentField);
  const modulus = positiveMpint(modulusField);
  if (exponent === undefined || modulus === undefined)
    return refuse('NOT_CANONICAL', 'a number of the RSA key is not positive in its shortest form');
  const bits = bitLength(modulus);
  if (bits > modulusBitsMax)
    return refuse('KEY_TYPE_UNSUPPORTED', `ssh-rsa: not supported above ${modulusBitsMax} bits`);
  if (bits < modulusBitsMin) return refuse('WEAK_KEY', `an RSA key of less than ${modulusBitsMin} bits`);
  if (isEven(modulus)) return refuse('WEAK_KEY', 'an RSA key with an even modulus');
  if (isEven(exponent)) return refuse('WEAK_KEY', 'an RSA key with an even exponent');
  if (exponent.length > 4 || numberOf(exponent) < exponentMin || numberOf(exponent) >= exponentLimit)
    return refuse('WEAK_KEY', 'an RSA key whose exponent is not between 65537 and 2^31');
  return ok({ modulus, exponent });
}

/** What verifies a signature by an RSA key. Pure. */
export function rsaCheck(
  key: RsaPublicKey,
  inner: InnerSignature,
  data: Uint8Array,
): Result<SignatureCheck, SignatureFault> {
  const digest = digestOf(inner.type);
  if (!digest.ok) return digest;
  // OpenSSH pads a shorter one with zeros: the same signature with its leading zeros cut off.
  if (inner.signature.length !== key.modulus.length || inner.rest.length > 0)
    return refuse('NOT_CANONICAL', 'an RSA signature is as long as the modulus');
  const handle = handleOf(key.fingerprint, () => ({
    kty: 'RSA',
    n: base64Url(key.modulus),
    e: base64Url(key.exponent),
  }));
  return ok({ digest: digest.value, key: handle, data, signature: inner.signature });
}

function digestOf(signatureType: string): Result<'sha256' | 'sha512', SignatureFault> {
  switch (signatureType) {
    case 'rsa-sha2-256':
      return ok('sha256');
    case 'rsa-sha2-512':
      return ok('sha512');
    case 'ssh-rsa':
      return refuse('SIGNATURE_TYPE_UNSUPPORTED', 'ssh-rsa: RSA signatures with SHA-1 are not supported');
    default:
      return refuse('NOT_CANONICAL', 'signature and key types differ');
  }
}

function isEven(bytes: Uint8Array): boolean {
  return ((bytes.at(-1) as number) & 1) === 0;
}

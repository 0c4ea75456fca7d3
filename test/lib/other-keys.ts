/**
 * A key of every family, made from nothing but its name: no secret is kept, and every run has the same keys. Tokens are
 * played in software, in the form of OpenSSH's PROTOCOL.u2f.
 */
import { createECDH, createHash, createPrivateKey, sign, type KeyObject } from 'node:crypto';
import { pkcs8OfSeed, publicKeyOf, signEd25519, signingKeyFromSeed } from '../../src/crypto/ed25519.ts';
import { parseSshPublicKey, type SshPublicKey } from '../../src/crypto/ssh-key.ts';
import { encodeSshsig, signedData } from '../../src/crypto/sshsig.ts';
import { concatBytes, wireString, wireUint32 } from '../../src/crypto/ssh-wire.ts';
import { must } from './trust-ops.ts';

/** The parts of a signature that stand inside an SSHSIG. */
export interface SoftSignature {
  readonly signatureType: string;
  readonly signature: Uint8Array;
  readonly rest: Uint8Array;
}

export interface SignOptions {
  readonly hash?: 'sha256' | 'sha512';
  /** Of tokens: 1 = touched. */
  readonly flags?: number;
  readonly counter?: number;
  /** Of RSA keys; sha512 unless said. */
  readonly digest?: 'sha256' | 'sha512' | 'sha1';
}

export interface SoftKey {
  readonly name: string;
  /** `type base64`. */
  readonly text: string;
  readonly public: SshPublicKey;
  /** Unencrypted PKCS#8, for keys that `ssh-keygen -Y sign` can use. */
  readonly pem: string | undefined;
  /** Signs any bytes, as the key signs the data of an SSHSIG. */
  readonly signData: (data: Uint8Array, options?: SignOptions) => SoftSignature;
  /** SSHSIG, base64 of the blob. */
  readonly sign: (message: string, namespace: string, options?: SignOptions) => string;
}

/** Bytes that follow from a label, as many as wanted: sha256 of `label/0`, `label/1`, … */
function derivedBytes(label: string, count: number): Uint8Array {
  const parts = Array.from({ length: Math.ceil(count / 32) }, (_, index) =>
    createHash('sha256').update(`${label}/${index}`).digest(),
  );
  return new Uint8Array(Buffer.concat(parts).subarray(0, count));
}

/** Content of an mpint: shortest form of a positive number. */
export function mpintOf(value: bigint): Uint8Array {
  const hex = value.toString(16);
  const bytes = Buffer.from(hex.padStart(hex.length + (hex.length & 1), '0'), 'hex');
  return new Uint8Array((bytes[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes);
}

export function numberFrom(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).toString('hex') || '0'}`);
}

/** `type base64` of a key blob with these fields behind its type name. */
export function keyTextOf(type: string, ...fields: readonly (string | Uint8Array)[]): string {
  const blob = concatBytes([type, ...fields].map((field) => wireString(field)));
  return `${type} ${Buffer.from(blob).toString('base64')}`;
}

/** A well-formed RSA key that nobody can sign with. */
export const rsaPublicText: string = keyTextOf('ssh-rsa', mpintOf(65_537n), mpintOf((1n << 2_047n) + 1n));

function softKey(
  name: string,
  text: string,
  own: { readonly pem?: string; readonly signData: SoftKey['signData'] },
): SoftKey {
  const key = must(parseSshPublicKey(text));
  return {
    name,
    text,
    public: key,
    pem: own.pem,
    signData: own.signData,
    sign(message, namespace, options = {}) {
      const fields = { namespace, hash: options.hash ?? 'sha512' } as const;
      const inner = own.signData(signedData(fields, message), options);
      return encodeSshsig({ ...fields, publicKey: key.blob, ...inner });
    },
  };
}

const nothing = new Uint8Array(0);

export function softEd25519(label: string): SoftKey {
  const seed = derivedBytes(label, 32);
  const signing = signingKeyFromSeed(seed);
  return softKey('ed25519', keyTextOf('ssh-ed25519', publicKeyOf(signing)), {
    pem: pemOf(createPrivateKey(pkcs8OfSeed(seed))),
    signData: (data) => ({ signatureType: 'ssh-ed25519', signature: signEd25519(signing, data), rest: nothing }),
  });
}

const nistCurves = {
  nistp256: { node: 'prime256v1', jwk: 'P-256', digest: 'sha256', scalarBytes: 32, width: 32 },
  nistp384: { node: 'secp384r1', jwk: 'P-384', digest: 'sha384', scalarBytes: 47, width: 48 },
  nistp521: { node: 'secp521r1', jwk: 'P-521', digest: 'sha512', scalarBytes: 64, width: 66 },
} as const;

function curveKey(name: keyof typeof nistCurves, label: string): { readonly point: Uint8Array; handle: KeyObject } {
  const { node, jwk, scalarBytes, width } = nistCurves[name];
  const ecdh = createECDH(node);
  ecdh.setPrivateKey(derivedBytes(label, scalarBytes));
  const point = ecdh.getPublicKey();
  const d = Buffer.concat([Buffer.alloc(width - scalarBytes), derivedBytes(label, scalarBytes)]).toString('base64url');
  const x = point.subarray(1, 1 + width).toString('base64url');
  const y = point.subarray(1 + width).toString('base64url');
  const handle = createPrivateKey({ key: { kty: 'EC', crv: jwk, d, x, y }, format: 'jwk' });
  return { point: new Uint8Array(point), handle };
}

/** The two numbers of an ECDSA signature as ssh writes them. */
export function ecdsaNumbers(r: bigint, s: bigint): Uint8Array {
  return concatBytes([wireString(mpintOf(r)), wireString(mpintOf(s))]);
}

function signOnCurve(name: keyof typeof nistCurves, handle: KeyObject, data: Uint8Array): Uint8Array {
  const { digest, width } = nistCurves[name];
  const raw = sign(digest, data, { key: handle, dsaEncoding: 'ieee-p1363' });
  return ecdsaNumbers(numberFrom(raw.subarray(0, width)), numberFrom(raw.subarray(width)));
}

export function softEcdsa(name: keyof typeof nistCurves, label: string): SoftKey {
  const { point, handle } = curveKey(name, label);
  const type = `ecdsa-sha2-${name}`;
  return softKey(name, keyTextOf(type, name, point), {
    pem: pemOf(handle),
    signData: (data) => ({ signatureType: type, signature: signOnCurve(name, handle, data), rest: nothing }),
  });
}

/** How far behind the derived number the next prime is: found once, by the search that make-vectors.py does. */
const primeOffsets = { 2048: [0x408n, 0x404n], 3072: [0x134n, 0x398n], 8192: [0xfe6n, 0xf8n] } as const;

export function softRsa(bits: keyof typeof primeOffsets): SoftKey {
  const [p, q] = primeOffsets[bits].map((offset, index) => {
    const start = numberFrom(derivedBytes(`memd vectors ${'pq'.charAt(index)}`, bits / 16));
    return (start | (3n << BigInt(bits / 2 - 2)) | 1n) + offset;
  }) as [bigint, bigint];
  const e = 65_537n;
  const d = inverse(e, (p - 1n) * (q - 1n));
  const numbers = { n: p * q, e, d, p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi: inverse(q, p) };
  const text = (value: bigint): string => {
    const hex = value.toString(16);
    return Buffer.from(hex.padStart(hex.length + (hex.length & 1), '0'), 'hex').toString('base64url');
  };
  const jwk = Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, text(value)]));
  const handle = createPrivateKey({ key: { kty: 'RSA', ...jwk }, format: 'jwk' });
  return softKey(`rsa${bits}`, keyTextOf('ssh-rsa', mpintOf(e), mpintOf(p * q)), {
    pem: pemOf(handle),
    signData: (data, { digest = 'sha512' } = {}) => ({
      signatureType: digest === 'sha1' ? 'ssh-rsa' : `rsa-sha2-${digest.slice(3)}`,
      signature: new Uint8Array(sign(digest, data, handle)),
      rest: nothing,
    }),
  });
}

function inverse(value: bigint, modulus: bigint): bigint {
  let [a, b, x, y] = [value % modulus, modulus, 1n, 0n];
  while (a > 1n) {
    const quotient = b === 0n ? 0n : a / b;
    [a, b, x, y] = [b, a - quotient * b, y, x - quotient * y];
  }
  return ((x % modulus) + modulus) % modulus;
}

/** What a token signs, and what it adds. */
function tokenData(
  application: string | Uint8Array,
  data: Uint8Array,
  { flags = 1, counter = 7 }: SignOptions,
): { readonly signed: Uint8Array; readonly rest: Uint8Array } {
  const rest = concatBytes([new Uint8Array([flags]), wireUint32(counter)]);
  const digest = (bytes: string | Uint8Array): Uint8Array => createHash('sha256').update(bytes).digest();
  return { signed: concatBytes([digest(application), rest, digest(data)]), rest };
}

export function softSkEd25519(label: string, application = 'ssh:'): SoftKey {
  const signing = signingKeyFromSeed(derivedBytes(label, 32));
  const type = 'sk-ssh-ed25519@openssh.com';
  return softKey('sk-ed25519', keyTextOf(type, publicKeyOf(signing), new TextEncoder().encode(application)), {
    signData(data, options = {}) {
      const { signed, rest } = tokenData(application, data, options);
      return { signatureType: type, signature: signEd25519(signing, signed), rest };
    },
  });
}

export function softSkEcdsa(label: string, application = 'ssh:'): SoftKey {
  const { point, handle } = curveKey('nistp256', label);
  const type = 'sk-ecdsa-sha2-nistp256@openssh.com';
  return softKey('sk-ecdsa', keyTextOf(type, 'nistp256', point, new TextEncoder().encode(application)), {
    signData(data, options = {}) {
      const { signed, rest } = tokenData(application, data, options);
      return { signatureType: type, signature: signOnCurve('nistp256', handle, signed), rest };
    },
  });
}

function pemOf(handle: KeyObject): string {
  return handle.export({ format: 'pem', type: 'pkcs8' }) as string;
}

export const p256: SoftKey = softEcdsa('nistp256', 'a person with P-256');

/** One key of every family and size. */
export const softKeys: readonly SoftKey[] = [
  softEd25519('a person with ed25519'),
  p256,
  softEcdsa('nistp384', 'a person with P-384'),
  softEcdsa('nistp521', 'a person with P-521'),
  softRsa(2048),
  softRsa(3072),
  softRsa(8192),
  softSkEd25519('a person with an ed25519 token'),
  softSkEcdsa('a person with a P-256 token'),
];

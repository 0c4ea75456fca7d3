/**
 * Every way we know in which an SSHSIG can be wrong, or another spelling of a right one, for a key of any family. Each
 * cell is a question that two verifiers answer.
 */
import { createHash } from 'node:crypto';
import { concatBytes, wireString, wireUint32 } from '../../src/crypto/ssh-wire.ts';
import type { SoftKey, SoftSignature } from './other-keys.ts';

export interface Cell {
  readonly name: string;
  /** Text of the key that is listed for the signer. */
  readonly key: string;
  readonly namespace: string;
  readonly message: string;
  readonly blob: Uint8Array;
  /** What ours must say. */
  readonly ours: boolean;
  /** Words of docs/format.md's table of differences: the stock verifier may accept what ours refuses. */
  readonly difference?: string;
}

export interface Parts {
  readonly version: number;
  readonly publicKey: Uint8Array;
  readonly namespace: string;
  readonly reserved: string;
  readonly hash: string;
  /** What the signature is really over, where it differs from the fields. */
  readonly signed: Partial<{
    namespace: string;
    reserved: string;
    hash: string;
    digest: 'sha1' | 'sha256' | 'sha384' | 'sha512';
  }>;
  readonly inner: (right: SoftSignature) => SoftSignature;
  readonly more: Uint8Array;
}

export const namespace = 'memd-event';
export const message = '{"content":"caf\u00e9"}';
const nul = 'NUL behind a name';
export const zeros = 'numbers of keys and signatures with zeros in front';

/** Bytes that a signature covers, with any fields. */
function coveredBytes(fields: { namespace: string; reserved: string; hash: string; digest: Uint8Array }): Uint8Array {
  const { digest } = fields;
  return concatBytes([
    new TextEncoder().encode('SSHSIG'),
    ...[fields.namespace, fields.reserved, fields.hash].map((field) => wireString(field)),
    wireString(digest),
  ]);
}

/** A blob by this key, right but for what `change` says. */
export function blobOf(
  key: SoftKey,
  text: string,
  change: Partial<Parts> = {},
  options?: Parameters<SoftKey['signData']>[1],
): Uint8Array {
  const parts: Parts = {
    version: 1,
    publicKey: key.public.blob,
    namespace,
    reserved: '',
    hash: 'sha512',
    signed: {},
    inner: (right) => right,
    more: new Uint8Array(0),
    ...change,
  };
  const { signed } = parts;
  const digestName = signed.digest ?? (/^sha(?:1|256|384)$/.test(parts.hash) ? parts.hash : 'sha512');
  const covered = coveredBytes({
    namespace: signed.namespace ?? parts.namespace,
    reserved: signed.reserved ?? parts.reserved,
    hash: signed.hash ?? parts.hash,
    digest: createHash(digestName).update(text).digest(),
  });
  const { signatureType, signature, rest } = parts.inner(key.signData(covered, options));
  return concatBytes([
    new TextEncoder().encode('SSHSIG'),
    wireUint32(parts.version),
    wireString(parts.publicKey),
    wireString(parts.namespace),
    wireString(parts.reserved),
    wireString(parts.hash),
    wireString(concatBytes([wireString(signatureType), wireString(signature), rest])),
    parts.more,
  ]);
}

const messages: Readonly<Record<string, string>> = {
  empty: '',
  'a newline behind': 'a\n',
  'carriage returns': 'a\r\nb\r\n',
  NUL: 'a\0b',
  'outside ASCII': 'caf\u00e9 \u2028 \u{1f600}',
  '64 KiB': 'x'.repeat(65_536),
};

/** Cells that mean the same for every family. `other` is another key of the family. */
export function commonCells(key: SoftKey, other: SoftKey): Cell[] {
  const cell = (name: string, ours: boolean, blob: Uint8Array, more: Partial<Cell> = {}): Cell => ({
    name: `${key.name}: ${name}`,
    key: key.text,
    namespace,
    message,
    blob,
    ours,
    ...more,
  });
  const bad = (name: string, change: Partial<Parts>, more: Partial<Cell> = {}): Cell =>
    cell(name, false, blobOf(key, message, change), more);
  const right = blobOf(key, message);
  const shapes = Object.entries(messages).map(([name, text]) =>
    cell(`message: ${name}`, true, blobOf(key, text), { message: text }),
  );
  return [
    cell('right', true, right),
    cell('sha256', true, blobOf(key, message, { hash: 'sha256' })),
    ...shapes,
    cell('a tampered message', false, right, { message: message.replace('caf', 'cab') }),
    cell('a newline behind the message', false, right, { message: `${message}\n` }),
    cell('asked for another namespace', false, right, { namespace: 'memd-trust' }),
    cell('asked for a namespace in upper case', false, right, { namespace: 'MEMD-EVENT' }),
    cell('another key listed', false, right, { key: other.text }),
    bad('a namespace that only begins like it', { namespace: 'memd-event2' }),
    bad('NUL behind the namespace, signed', { namespace: 'memd-event\0' }, { difference: nul }),
    bad(
      'NUL behind the namespace, not signed',
      { namespace: 'memd-event\0', signed: { namespace } },
      {
        difference: nul,
      },
    ),
    bad('empty namespace', { namespace: '' }),
    bad('the key of another in the blob', { publicKey: other.public.blob }),
    cell('the key of another in the blob, and listed', false, blobOf(key, message, { publicKey: other.public.blob }), {
      key: other.text,
    }),
    bad('version 0', { version: 0 }, { difference: 'version 0' }),
    bad('version 2', { version: 2 }),
    bad(
      'reserved bytes, not signed',
      { reserved: 'x', signed: { reserved: '' } },
      { difference: 'bytes in `reserved`' },
    ),
    bad('reserved bytes, signed', { reserved: 'x' }),
    ...['sha1', 'sha384', 'SHA512', ''].map((hash) => bad(`hash named "${hash}"`, { hash })),
    bad('NUL behind the hash, signed', { hash: 'sha512\0' }, { difference: nul }),
    bad('NUL behind the hash, not signed', { hash: 'sha512\0', signed: { hash: 'sha512' } }, { difference: nul }),
    bad('sha256 named over a sha512 digest', { hash: 'sha256', signed: { digest: 'sha512' } }),
    bad('sha256 named, sha512 signed', { hash: 'sha256', signed: { hash: 'sha512' } }),
    bad('a byte behind the blob', { more: new Uint8Array(1) }),
    bad('a second signature behind the blob', { more: right }),
    ...[1, 2, right.length >> 1].map((cut) => cell(`cut by ${cut}`, false, right.slice(0, -cut))),
    bad('a byte behind the inner signature', {
      inner: (made) => ({ ...made, rest: concatBytes([made.rest, new Uint8Array(1)]) }),
    }),
    bad('an empty inner signature', { inner: (made) => ({ ...made, signature: new Uint8Array(0) }) }),
    ...innerCells(bad),
    ...flipCells(right).map(({ name, blob }) => cell(name, false, blob)),
  ];
}

function innerCells(bad: (name: string, change: Partial<Parts>, more?: Partial<Cell>) => Cell): Cell[] {
  const types = ['', 'ssh-dss', 'ecdsa-sha2-nistp224', 'rsa-sha2-512-cert-v01@openssh.com'];
  return [
    ...types.map((signatureType) =>
      bad(`inner type "${signatureType}"`, { inner: (made) => ({ ...made, signatureType }) }),
    ),
    bad(
      'NUL behind the inner type',
      { inner: (made) => ({ ...made, signatureType: `${made.signatureType}\0` }) },
      { difference: nul },
    ),
    bad('a byte more in the signature', {
      inner: (made) => ({ ...made, signature: concatBytes([made.signature, new Uint8Array(1)]) }),
    }),
    bad('a byte less in the signature', { inner: (made) => ({ ...made, signature: made.signature.slice(0, -1) }) }),
    bad('a zero in front of the signature', {
      inner: (made) => ({ ...made, signature: concatBytes([new Uint8Array(1), made.signature]) }),
    }),
    bad('a signature of zeros', { inner: (made) => ({ ...made, signature: made.signature.map(() => 0) }) }),
  ];
}

/** One bit of about 16 places all over the blob. Bytes of unsigned fields are covered by cells of their own. */
function flipCells(right: Uint8Array): { readonly name: string; readonly blob: Uint8Array }[] {
  const step = Math.max(1, Math.floor(right.length / 16));
  const places = Array.from({ length: 16 }, (_, index) => 11 + index * step).filter((place) => place < right.length);
  return places.map((place) => {
    const blob = right.slice();
    blob[place] = (blob[place] as number) ^ 1;
    return { name: `byte ${place} flipped`, blob };
  });
}

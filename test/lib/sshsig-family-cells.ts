/** What can be wrong with the signature of one family of keys: numbers, lengths, hashes, flags. */
import { concatBytes, wireString } from '../../src/crypto/ssh-wire.ts';
import { ecdsaNumbers, mpintOf, numberFrom, type SoftKey } from './other-keys.ts';
import { blobOf, message, namespace, zeros, type Cell, type Parts } from './sshsig-cells.ts';

interface Asked {
  readonly name: string;
  readonly ours: boolean;
  readonly inner: Parts['inner'];
  readonly difference?: string;
}

function familyCell(key: SoftKey, { name, inner, ...rest }: Asked): Cell {
  return {
    name: `${key.name}: ${name}`,
    key: key.text,
    namespace,
    message,
    blob: blobOf(key, message, { inner }),
    ...rest,
  };
}

const edOrder = 2n ** 252n + 27742317777372353535851937790883648493n;

/** S is the last 32 bytes, little endian. */
export function ed25519Cells(key: SoftKey): Cell[] {
  const withS = (change: (s: bigint) => bigint): Parts['inner'] => {
    return (made) => {
      const S = change(numberFrom(made.signature.slice(32).reverse()));
      const bytes = Buffer.from((S % 2n ** 256n).toString(16).padStart(64, '0'), 'hex').reverse();
      return { ...made, signature: concatBytes([made.signature.slice(0, 32), new Uint8Array(bytes)]) };
    };
  };
  const difference = 'ed25519 with S';
  return [
    familyCell(key, { name: 'S + L', ours: false, difference, inner: withS((s) => s + edOrder) }),
    familyCell(key, { name: 'S + 8 L', ours: false, difference, inner: withS((s) => s + 8n * edOrder) }),
    familyCell(key, { name: 'S = 0', ours: false, inner: withS(() => 0n) }),
    familyCell(key, { name: 'L - S', ours: false, inner: withS((s) => edOrder - s) }),
  ];
}

const curveOrders: Readonly<Record<string, bigint>> = {
  nistp256: 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n,
  nistp384: 0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973n,
  nistp521: BigInt(
    '0x01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409',
  ),
};

function readNumbers(signature: Uint8Array): [bigint, bigint] {
  const length = Buffer.from(signature).readUInt32BE(0);
  return [numberFrom(signature.slice(4, 4 + length)), numberFrom(signature.slice(8 + length))];
}

/** `rawNumbers` are contents of two mpints. Plain keys and tokens alike. */
export function ecdsaCells(key: SoftKey, curve: string): Cell[] {
  const n = curveOrders[curve] as bigint;
  const width = Math.ceil(n.toString(2).length / 8);
  const raw = (change: (r: bigint, s: bigint) => readonly [Uint8Array, Uint8Array]): Parts['inner'] => {
    return (made) => ({
      ...made,
      signature: concatBytes(change(...readNumbers(made.signature)).map((content) => wireString(content))),
    });
  };
  const numbers = (change: (r: bigint, s: bigint) => readonly [bigint, bigint]): Parts['inner'] => {
    return (made) => ({ ...made, signature: ecdsaNumbers(...change(...readNumbers(made.signature))) });
  };
  const zero = new Uint8Array(1);
  const none = new Uint8Array(0);
  const bad: Readonly<Record<string, Parts['inner']>> = {
    'r + n': numbers((r, s) => [r + n, s]),
    's + n': numbers((r, s) => [r, s + n]),
    'r = n, s = n': numbers(() => [n, n]),
    'r = s = 1': numbers(() => [1n, 1n]),
    swapped: numbers((r, s) => [s, r]),
    'r = 0': raw((_, s) => [none, mpintOf(s)]),
    's = 0': raw((r) => [mpintOf(r), none]),
    'r = 0 as a byte': raw((_, s) => [zero, mpintOf(s)]),
    'r negative': raw((r, s) => [negative(r), mpintOf(s)]),
    's negative': raw((r, s) => [mpintOf(r), negative(s)]),
    'only r': (made) => ({ ...made, signature: wireString(mpintOf(readNumbers(made.signature)[0])) }),
    'a third number': (made) => ({ ...made, signature: concatBytes([made.signature, wireString(zero)]) }),
    DER: (made) => ({ ...made, signature: derOf(...readNumbers(made.signature)) }),
    'fixed width': (made) => ({ ...made, signature: fixedOf(readNumbers(made.signature), width) }),
  };
  return [
    familyCell(key, { name: 'n - s', ours: true, inner: numbers((r, s) => [r, n - s]) }),
    ...Object.entries(bad).map(([name, inner]) => familyCell(key, { name, ours: false, inner })),
    ...[1, 4].flatMap((count) => [
      familyCell(key, {
        name: `${count} zeros in front of r`,
        ours: false,
        difference: zeros,
        inner: raw((r, s) => [concatBytes([new Uint8Array(count), mpintOf(r)]), mpintOf(s)]),
      }),
      familyCell(key, {
        name: `${count} zeros in front of s`,
        ours: false,
        difference: zeros,
        inner: raw((r, s) => [mpintOf(r), concatBytes([new Uint8Array(count), mpintOf(s)])]),
      }),
    ]),
  ];
}

function negative(value: bigint): Uint8Array {
  const width = mpintOf(value).length;
  const hex = (256n ** BigInt(width) - value).toString(16).padStart(2 * width, '0');
  return new Uint8Array(Buffer.from(hex, 'hex'));
}

function derOf(r: bigint, s: bigint): Uint8Array {
  const integers = [r, s].map((value) => {
    const content = mpintOf(value);
    return concatBytes([new Uint8Array([2, content.length]), content]);
  });
  const inside = concatBytes(integers);
  const length = inside.length < 0x80 ? [inside.length] : [0x81, inside.length];
  return concatBytes([new Uint8Array([0x30, ...length]), inside]);
}

function fixedOf(numbers: readonly bigint[], width: number): Uint8Array {
  return new Uint8Array(
    Buffer.from(numbers.map((value) => value.toString(16).padStart(2 * width, '0')).join(''), 'hex'),
  );
}

/** `n` = the modulus. */
export function rsaCells(key: SoftKey, n: bigint): Cell[] {
  const width = Math.ceil(n.toString(2).length / 8);
  const changed = (change: (value: bigint) => bigint, size = width): Parts['inner'] => {
    return (made) => ({ ...made, signature: fixedOf([change(numberFrom(made.signature))], size) });
  };
  const stripped = messageWithZero(key);
  const cell = familyCell(key, { name: '', ours: true, inner: (made) => made });
  return [
    { ...cell, name: `${key.name}: rsa-sha2-256`, blob: blobOf(key, message, {}, { digest: 'sha256' }) },
    { ...cell, name: `${key.name}: begins with a zero`, message: stripped, blob: blobOf(key, stripped) },
    {
      ...cell,
      name: `${key.name}: that zero cut off`,
      ours: false,
      difference: 'RSA signatures with their leading zeros cut off',
      message: stripped,
      blob: blobOf(key, stripped, { inner: (made) => ({ ...made, signature: made.signature.slice(1) }) }),
    },
    { ...cell, name: `${key.name}: SHA-1`, ours: false, blob: blobOf(key, message, {}, { digest: 'sha1' }) },
    {
      ...cell,
      name: `${key.name}: SHA-1 under a better name`,
      ours: false,
      blob: blobOf(key, message, { inner: (made) => ({ ...made, signatureType: 'rsa-sha2-512' }) }, { digest: 'sha1' }),
    },
    familyCell(key, { name: 'plus n', ours: false, inner: changed((value) => value + n, width + 1) }),
    familyCell(key, { name: 'n minus it', ours: false, inner: changed((value) => n - value) }),
    familyCell(key, { name: 'one', ours: false, inner: changed(() => 1n) }),
    familyCell(key, {
      name: 'the other hash named',
      ours: false,
      inner: (made) => ({ ...made, signatureType: 'rsa-sha2-256' }),
    }),
    {
      ...cell,
      name: `${key.name}: its type in the blob is that of the signature`,
      ours: false,
      difference: 'RSA key whose blob names',
      blob: blobOf(key, message, { publicKey: renamed(key.public.blob, 'rsa-sha2-512') }),
    },
    {
      ...cell,
      name: `${key.name}: a zero in front of the modulus`,
      ours: false,
      difference: zeros,
      blob: blobOf(key, message, { publicKey: padded(key.public.blob) }),
    },
  ];
}

/** Where the search below ends for our keys, since a signature of 8 192 bits takes 60 ms. */
const zeroFoundAt: Readonly<Record<string, number>> = { rsa2048: 137, rsa3072: 9, rsa8192: 209 };

/** A message whose signature begins with a zero byte: one in 256 does. */
function messageWithZero(key: SoftKey): string {
  for (let number = zeroFoundAt[key.name] ?? 0; ; number += 1) {
    let first = 1;
    blobOf(key, `${number}`, { inner: (made) => ((first = made.signature[0] as number), made) });
    if (first === 0) return `${number}`;
  }
}

function renamed(blob: Uint8Array, type: string): Uint8Array {
  return concatBytes([wireString(type), blob.slice(4 + 'ssh-rsa'.length)]);
}

/** The modulus is the last field: its length, a zero, and what it was. */
function padded(blob: Uint8Array): Uint8Array {
  const start = 4 + 'ssh-rsa'.length + 4 + 3;
  return concatBytes([blob.slice(0, start), wireString(concatBytes([new Uint8Array(1), blob.slice(start + 4)]))]);
}

/** Flags and counter of a token. */
export function tokenCells(key: SoftKey): Cell[] {
  const signedWith = (name: string, ours: boolean, flags: number, counter = 7): Cell => ({
    ...familyCell(key, { name, ours, inner: (made) => made }),
    blob: blobOf(key, message, {}, { flags, counter }),
    ...(ours ? {} : { difference: 'token signature without a touch' }),
  });
  const rest =
    (bytes: readonly number[]): Parts['inner'] =>
    (made) => ({ ...made, rest: new Uint8Array(bytes) });
  return [
    signedWith('touched and verified', true, 5),
    signedWith('every flag', true, 0xff),
    signedWith('attested data', true, 0x41),
    signedWith('counter 0', true, 1, 0),
    signedWith('the largest counter', true, 1, 0xffff_ffff),
    signedWith('not touched', false, 0),
    signedWith('verified but not touched', false, 4),
    familyCell(key, { name: 'another counter', ours: false, inner: rest([1, 0, 0, 0, 8]) }),
    familyCell(key, { name: 'another flag', ours: false, inner: rest([5, 0, 0, 0, 7]) }),
    familyCell(key, { name: 'no counter', ours: false, inner: rest([1]) }),
    familyCell(key, { name: 'neither flags nor counter', ours: false, inner: rest([]) }),
    familyCell(key, {
      name: 'named as a plain key',
      ours: false,
      inner: (made) => ({
        ...made,
        signatureType: key.name === 'sk-ecdsa' ? 'ecdsa-sha2-nistp256' : 'ssh-ed25519',
      }),
    }),
    familyCell(key, {
      name: 'named as made by a browser, without what that needs',
      ours: false,
      inner: (made) => ({ ...made, signatureType: 'webauthn-sk-ecdsa-sha2-nistp256@openssh.com' }),
    }),
  ];
}

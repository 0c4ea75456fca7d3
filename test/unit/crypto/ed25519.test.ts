import { describe, expect, test } from 'vitest';
import {
  isStrongEd25519Key,
  publicKeyOf,
  signEd25519,
  signingKeyFromSeed,
  verifyEd25519,
} from '../../../src/crypto/ed25519.ts';

const seed = new Uint8Array(32).fill(7);
const key = signingKeyFromSeed(seed);
const raw = publicKeyOf(key);
const signature = signEd25519(key, 'message');
const groupOrder = 2n ** 252n + 27742317777372353535851937790883648493n;
const prime = 2n ** 255n - 19n;

function littleEndian(value: bigint): Uint8Array {
  return Uint8Array.from({ length: 32 }, (_, index) => Number((value >> BigInt(8 * index)) & 0xffn));
}

function withScalar(scalar: bigint): Uint8Array {
  return new Uint8Array([...signature.slice(0, 32), ...littleEndian(scalar)]);
}

function scalarOf(bytes: Uint8Array): bigint {
  return bytes.slice(32).reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
}

describe('ed25519', () => {
  test('the first test vector of RFC 8032', () => {
    const rfc = signingKeyFromSeed(
      Buffer.from('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60', 'hex'),
    );
    expect(Buffer.from(publicKeyOf(rfc)).toString('hex')).toBe(
      'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
    );
    expect(Buffer.from(signEd25519(rfc, '')).toString('hex')).toBe(
      'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
    );
  });

  test('a text is signed as its UTF-8 bytes', () => {
    expect(signEd25519(key, 'é')).toEqual(signEd25519(key, new Uint8Array([0xc3, 0xa9])));
    expect(verifyEd25519(raw, 'é', signEd25519(key, new Uint8Array([0xc3, 0xa9])))).toBe(true);
  });

  test('one flipped bit anywhere in the signature, and the answer is no', () => {
    expect(verifyEd25519(raw, 'message', signature)).toBe(true);
    for (let bit = 0; bit < 512; bit += 1) {
      const flipped = Uint8Array.from(signature);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect([bit, verifyEd25519(raw, 'message', flipped)]).toEqual([bit, false]);
    }
  });

  test('S must be below the group order: S + n L is another spelling', () => {
    const scalar = scalarOf(signature);
    for (let times = 1n; scalar + times * groupOrder < 2n ** 256n; times += 1n) {
      expect(verifyEd25519(raw, 'message', withScalar(scalar + times * groupOrder))).toBe(false);
    }
    expect(verifyEd25519(raw, 'message', withScalar(groupOrder))).toBe(false);
  });

  test('signatures and keys of another length are a no, never an error', () => {
    for (const length of [0, 1, 31, 63, 65, 128]) {
      expect(verifyEd25519(raw, 'message', new Uint8Array(length))).toBe(false);
      expect(verifyEd25519(new Uint8Array(length), 'message', signature)).toBe(false);
      expect(isStrongEd25519Key(new Uint8Array(length))).toBe(false);
    }
  });

  test('the keys of forty seeds are strong, and a set sign bit names another point', () => {
    for (let index = 0; index < 40; index += 1) {
      const own = publicKeyOf(signingKeyFromSeed(new Uint8Array(32).fill(index)));
      expect(isStrongEd25519Key(own)).toBe(true);
      const mirrored = Uint8Array.from(own);
      mirrored[31] = (mirrored[31] ?? 0) ^ 0x80;
      expect(verifyEd25519(mirrored, 'message', signature)).toBe(false);
    }
  });

  test('every small-order point is weak in every spelling', () => {
    const small = [0n, 1n, prime - 1n, 2707385501144840649318225287225658788936804267575313519463743609750303021478n];
    const eighth = small[3] ?? 0n;
    for (const y of [...small, prime - eighth, prime, prime + 1n]) {
      for (const sign of [0n, 1n]) expect(isStrongEd25519Key(littleEndian(y | (sign << 255n)))).toBe(false);
    }
  });

  test('y at or above the prime is weak, whatever point it would be', () => {
    for (let y = 0n; y < 19n; y += 1n) expect(isStrongEd25519Key(littleEndian(prime + y))).toBe(false);
  });

  test('about half of all small y are no point, and of the rest one in eight has prime order', () => {
    let strong = 0;
    for (let y = 2n; y < 130n; y += 1n) if (isStrongEd25519Key(littleEndian(y))) strong += 1;
    expect(strong).toBeGreaterThan(0);
    expect(strong).toBeLessThan(24);
  });

  test('more keys than the cache holds are still answered right', () => {
    for (let index = 0; index < 1_030; index += 1) {
      const weak = new Uint8Array(32).fill(255);
      weak[0] = index & 0xff;
      weak[1] = index >> 8;
      expect(verifyEd25519(weak, 'message', signature)).toBe(false);
    }
    expect(verifyEd25519(raw, 'message', signature)).toBe(true);
  });
});

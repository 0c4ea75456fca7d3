import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { sha1Hex, sha256, sha256Hex, sha512 } from '../../../src/crypto/hash.ts';

const inputs = ['', 'abc', 'é€😀', new Uint8Array([0, 255, 10])];

test('every hash is the plain hash of the bytes, and of the UTF-8 form of a text', () => {
  for (const input of inputs) {
    expect(sha256Hex(input)).toBe(createHash('sha256').update(input).digest('hex'));
    expect(sha1Hex(input)).toBe(createHash('sha1').update(input).digest('hex'));
    expect(Buffer.from(sha256(input)).toString('hex')).toBe(sha256Hex(input));
    expect(Buffer.from(sha512(input))).toEqual(createHash('sha512').update(input).digest());
  }
});

test('a known answer of FIPS 180', () => {
  expect(sha256Hex('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});

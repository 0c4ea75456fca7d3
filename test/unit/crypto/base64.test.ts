import { expect, test } from 'vitest';
import { decodeBase64, encodeBase64, encodeBase64Unpadded, isCanonicalBase64 } from '../../../src/crypto/base64.ts';

test('encoding and decoding agree with Buffer for every length of 0 to 200 bytes', () => {
  for (let length = 0; length <= 200; length += 1) {
    const bytes = Uint8Array.from({ length }, (_, index) => (index * 89 + length) & 0xff);
    const text = Buffer.from(bytes).toString('base64');
    expect(encodeBase64(bytes)).toBe(text);
    expect(decodeBase64(text)).toEqual(bytes);
    expect(encodeBase64Unpadded(bytes)).toBe(text.replaceAll('=', ''));
  }
});

test('a text is canonical exactly when encoding its decoded bytes gives it back', () => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  for (const letter of alphabet) {
    for (const text of [`AA${letter}=`, `A${letter}==`, `AAA${letter}`]) {
      const again = Buffer.from(text, 'base64').toString('base64');
      expect([text, isCanonicalBase64(text)]).toEqual([text, again === text]);
    }
  }
});

test('every other spelling is refused', () => {
  const bad = [
    'A',
    'AA',
    'AAA',
    'AA=',
    'A===',
    '====',
    'AA==AA==',
    'AAA=AAAA',
    ' AAA',
    'AAA\n',
    'AA\nAA',
    'AA-_',
    'AAé=',
    'AB==',
    'AAB=',
  ];
  for (const text of bad) expect([text, decodeBase64(text)]).toEqual([text, undefined]);
});

import { expect, test } from 'vitest';
import { decodeUtf8, fitsUtf8, utf8Bytes, utf8Length } from '../../../src/crypto/text.ts';

const samples = ['', 'abc', 'é', '€', '😀', 'a😀é€\u0000', '\ud800', '\udc00a', 'a\ud83d', '\ud83d\ud83d\ude00'];

test('utf8Length is the length of utf8Bytes, lone surrogates included', () => {
  for (const sample of samples) expect(utf8Length(sample)).toBe(utf8Bytes(sample).length);
});

test('fitsUtf8 draws the line exactly at the last byte', () => {
  for (const sample of samples) {
    const bytes = utf8Length(sample);
    expect(fitsUtf8(sample, bytes)).toBe(true);
    expect(fitsUtf8(sample, bytes - 1)).toBe(false);
  }
});

test('decodeUtf8 keeps a byte order mark, so that the parser refuses it', () => {
  expect(decodeUtf8(new Uint8Array([0xef, 0xbb, 0xbf, 0x7b]))).toBe('\ufeff{');
});

test('decodeUtf8 answers undefined for anything that is not UTF-8', () => {
  for (const bytes of [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xe2, 0x82], [0xf4, 0x90, 0x80, 0x80]]) {
    expect(decodeUtf8(new Uint8Array(bytes))).toBeUndefined();
  }
});

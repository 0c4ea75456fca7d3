import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parsePlainJson } from '../../../src/crypto/plain-json.ts';

describe('plain JSON', () => {
  test.each([
    'null',
    '{}',
    '[]',
    '{"a":{"a":{"a":1}}}',
    '[{"a":1},{"a":1}]',
    '{"a:b":":","c\\":":"\\\\","d\\\\":"\\":\\""}',
    '{"__proto__":1,"constructor":2}',
    ' { "a" : [ "a" , ":" ] , "b" : "" } ',
  ])('%s is what JSON.parse makes of it', (text) => {
    expect(parsePlainJson(text)).toEqual({ ok: true, value: JSON.parse(text) as unknown });
  });

  test.each([
    '{"a":1,"a":1}',
    '{"a":1,"b":2,"a":1}',
    '{"op":"assert","op":"retract"}',
    '{"a":1,"\\u0061":1}',
    '[[{"x":{"a":":","a":"\\":"}}]]',
    '{"a\\\\":1,"a\\\\":1}',
    '{"__proto__":1,"__proto__":2}',
  ])('%s names a key twice', (text) => {
    expect(parsePlainJson(text)).toMatchObject({ ok: false, code: 'REPEATED_KEY' });
  });

  test.each(['', '{', '{"a":}', '{"a":1}}', "{'a':1}", '\uFEFF{}'])('%j is no JSON', (text) => {
    expect(parsePlainJson(text)).toMatchObject({ ok: false, code: 'NOT_JSON' });
  });

  test('depth is no matter: a hundred thousand brackets are read and counted', () => {
    const deep = `${'['.repeat(100_000)}{"a":1,"a":1}${']'.repeat(100_000)}`;
    expect(parsePlainJson(deep)).toMatchObject({ ok: false, code: 'REPEATED_KEY' });
  });

  test('what JSON.stringify prints is never refused, whatever stands in it', () => {
    const printed = fc.tuple(fc.jsonValue(), fc.constantFrom(undefined, 1, '\t'));
    const same = fc.property(printed, ([value, indent]) => {
      const text = JSON.stringify({ value, 'a":"b': '\\":"' }, null, indent);
      expect(parsePlainJson(text)).toEqual({ ok: true, value: JSON.parse(text) as unknown });
    });
    fc.assert(same, { seed: 20_261_130, numRuns: 500 });
  });
});

import { expect, describe, test } from 'vitest';
import { parseHeads, printHeads, type Heads } from '../../../src/mesh/heads.ts';
import { canonicalJson, type JsonValue } from '../../../src/crypto/canonical.ts';

const hex = (digit: string, length = 64): string => digit.repeat(length);
const tip = { oid: hex('a', 40), seq: 7, link: hex('b') };
const good: Heads = {
  mesh: hex('1'),
  host: 'alpha',
  heads: { alpha: tip, beta: { ...tip, seq: 1 } },
  trust: { oid: hex('c', 40), hash: hex('d'), kept: hex('e') },
  addresses: { alpha: 'ssh://alpha.local:7422' },
  version: '0.1.0',
};
const text = (change: Record<string, unknown>): string => canonicalJson({ ...good, ...change } as unknown as JsonValue);

describe('heads', () => {
  test('print and parse are inverse, on one line', () => {
    expect(printHeads(good)).not.toContain('\n');
    expect(parseHeads(printHeads(good))).toEqual({ ok: true, value: good });
  });

  test('a member that a later version adds is passed over', () => {
    expect(parseHeads(text({ newest: { n: 1 } }))).toEqual({ ok: true, value: good });
  });

  test('an older host does not say what it keeps', () => {
    const { oid, hash } = good.trust;
    expect(parseHeads(text({ trust: { oid, hash } }))).toEqual({ ok: true, value: { ...good, trust: { oid, hash } } });
  });

  test('a host with nothing says so', () => {
    expect(parseHeads(text({ heads: {}, addresses: {} }))).toMatchObject({ ok: true });
  });

  test.each<[string, string]>([
    ['nothing', ''],
    ['two lines', `${printHeads(good)}\n${printHeads(good)}`],
    ['an array', '[]'],
    ['another spelling', printHeads(good).replace('{', '{ ')],
    ['a key twice', printHeads(good).replace('"host":"alpha"', '"host":"alpha","host":"alpha"')],
    ['too long', text({ x: 'y'.repeat(1_048_576) })],
    ['deep nesting', text({ x: [[[[1]]]] })],
    ['a short mesh id', text({ mesh: hex('1', 63) })],
    ['capitals in an id', text({ mesh: hex('A') })],
    ['a host name with a dot', text({ host: 'a.b' })],
    ['a log name with a slash', text({ heads: { 'a/b': tip } })],
    ['a log name __proto__', printHeads(good).replace('"beta":', '"__proto__":')],
    ['a ref as oid', text({ heads: { alpha: { ...tip, oid: 'refs/heads/main' } } })],
    ['the null id', text({ heads: { alpha: { ...tip, oid: hex('0', 40) } } })],
    ['an option as oid', text({ heads: { alpha: { ...tip, oid: `--upload-pack=${hex('a', 26)}` } } })],
    ['seq 0', text({ heads: { alpha: { ...tip, seq: 0 } } })],
    ['a negative seq', text({ heads: { alpha: { ...tip, seq: -1 } } })],
    ['a fraction as seq', printHeads(good).replace('"seq":7', '"seq":7.5')],
    ['a huge seq', printHeads(good).replace('"seq":7', '"seq":9007199254740993')],
    ['a text as seq', text({ heads: { alpha: { ...tip, seq: '7' } } })],
    ['a tip that is null', text({ heads: { alpha: null } })],
    ['heads that are a list', text({ heads: [tip] })],
    ['no trust', text({ trust: null })],
    ['a hash over all ops that is none', text({ trust: { ...good.trust, kept: 'x' } })],
    ['an address that is a number', text({ addresses: { alpha: 1 } })],
    ['a long address', text({ addresses: { alpha: 'x'.repeat(513) } })],
    ['a control character', printHeads(good).replace('alpha.local', 'alpha\\u001b.local')],
    ['a version that is a list', text({ version: [] })],
  ])('%s is refused', (_name, answer) => {
    expect(parseHeads(answer)).toMatchObject({ ok: false, code: 'NOT_HEADS' });
  });
});

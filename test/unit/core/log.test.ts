import { describe, expect, test } from 'vitest';
import { extendLog, extendLogInSteps, type LogStart } from '../../../src/core/log.ts';
import { publicKeyOf, signingKeyFromSeed } from '../../../src/crypto/ed25519.ts';
import { utf8Bytes } from '../../../src/crypto/text.ts';
import { hostRaw, lessons, logOf, mesh } from '../../lib/events.ts';

const start: LogStart = {
  host: 'alpha',
  mesh,
  from: { seq: 0, link: mesh },
  keys: [{ key: hostRaw, from: 1, upto: null }],
};
const otherKey = signingKeyFromSeed(new Uint8Array(32).fill(2));
const lines = logOf(lessons(12));
const texts = lines.map((line) => line.text);

/** Lines of which only those in `good` carry a signature by the host. */
function withGoodSignatures(count: number, good: readonly number[]): readonly string[] {
  return logOf(lessons(count), (seq) => (good.includes(seq) ? undefined : otherKey)).map((line) => line.text);
}

describe('extendLog', () => {
  test('takes a whole log, as text or bytes, and any split of it', () => {
    const whole = extendLog(start, texts);
    expect(whole.tip).toEqual({ host: 'alpha', seq: 12, link: lines[11]?.link });
    expect(whole.fault).toBeUndefined();
    expect(whole.lines).toEqual(lines);
    for (let cut = 0; cut <= 12; cut += 1) {
      const first = extendLog(start, texts.slice(0, cut));
      const second = extendLog({ ...start, from: first.tip }, texts.slice(cut).map(utf8Bytes));
      expect(second.tip).toEqual(whole.tip);
      expect([...first.lines, ...second.lines]).toEqual(whole.lines);
    }
  });

  test('nothing given is nothing gained', () => {
    expect(extendLog(start, [])).toEqual({ lines: [], tip: { host: 'alpha', seq: 0, link: mesh } });
  });

  test('A5: a damaged line ends the log there and is named', () => {
    const extension = extendLog(start, [...texts.slice(0, 6), '{"a":', ...texts.slice(7)]);
    expect(extension.tip.seq).toBe(6);
    expect(extension.fault).toMatchObject({ code: 'NOT_JSON', seq: 7 });
  });

  test('A2, A4: two records on one line, or one torn across two, are a fault and never silence', () => {
    const joined = extendLog(start, [texts[0] ?? '', `${texts[1]}${texts[2]}`, texts[3] ?? '']);
    expect([joined.tip.seq, joined.fault?.seq]).toEqual([1, 2]);
    const second = texts[1] ?? '';
    const torn = extendLog(start, [texts[0] ?? '', second.slice(0, 50), second.slice(50)]);
    expect([torn.tip.seq, torn.fault?.code]).toEqual([1, 'NOT_JSON']);
  });

  test('B10: conflict markers are a fault with their line number', () => {
    expect(extendLog(start, [...texts.slice(0, 3), '<<<<<<< HEAD']).fault).toMatchObject({ code: 'NOT_JSON', seq: 4 });
  });

  test('B8: a rewritten log does not extend what is held', () => {
    const rewritten = logOf(lessons(5).toReversed()).map((line) => line.text);
    const extension = extendLog({ ...start, from: { seq: 2, link: lines[1]?.link ?? '' } }, rewritten.slice(2));
    expect(extension).toMatchObject({ lines: [], tip: { seq: 2 }, fault: { code: 'PREV', seq: 3 } });
  });

  test('says why a line does not follow', () => {
    const faultAt = (given: readonly string[], from = start): unknown => extendLog(from, given).fault?.code;
    expect(faultAt(texts.slice(1))).toBe('SEQ');
    expect(faultAt([texts[0] ?? '', texts[0] ?? ''])).toBe('SEQ');
    expect(faultAt(texts, { ...start, host: 'beta' })).toBe('LOG_NAME');
    expect(faultAt(texts, { ...start, mesh: 'cd'.repeat(32) })).toBe('SIGNATURE');
    expect(faultAt(texts, { ...start, from: { seq: 0, link: 'cd'.repeat(32) } })).toBe('PREV');
    expect(faultAt(texts, { ...start, keys: [] })).toBe('KEY_SPAN');
    expect(faultAt(texts, { ...start, keys: [{ key: publicKeyOf(otherKey), from: 1, upto: null }] })).toBe('SIGNATURE');
  });
});

describe('the usable prefix', () => {
  test('ends at the last line whose own signature verifies, for every set of good signatures of seven lines', () => {
    for (let set = 0; set < 128; set += 1) {
      const good = [1, 2, 3, 4, 5, 6, 7].filter((seq) => (set & (1 << (seq - 1))) !== 0);
      const extension = extendLog(start, withGoodSignatures(7, good));
      const expected = good.at(-1) ?? 0;
      expect([good, extension.tip.seq]).toEqual([good, expected]);
      // The fault names the first line that is not usable.
      expect(extension.fault?.seq).toBe(expected === 7 ? undefined : expected + 1);
    }
  });

  test('verifyEvery ends at the first line whose own signature does not verify', () => {
    const given = withGoodSignatures(7, [1, 2, 4, 7]);
    expect(extendLog(start, given).tip.seq).toBe(7);
    const deep = extendLog({ ...start, verifyEvery: true }, given);
    expect([deep.tip.seq, deep.fault]).toMatchObject([2, { code: 'SIGNATURE', seq: 3 }]);
    expect(extendLog({ ...start, verifyEvery: true }, texts)).toMatchObject({ tip: { seq: 12 } });
  });

  test('tellVouched names the lines that only a later one vouches for, and changes nothing else', () => {
    const given = withGoodSignatures(7, [1, 2, 4, 6]);
    const told = extendLog({ ...start, tellVouched: true }, given);
    expect(told).toEqual({ ...extendLog(start, given), vouched: [3, 5] });
    expect(extendLog({ ...start, tellVouched: true }, texts)).toEqual(extendLog(start, texts));
  });

  test('keys count at the seqs where the charter has them in force', () => {
    const rekeyed = logOf(lessons(6), (seq) => (seq > 3 ? otherKey : undefined)).map((line) => line.text);
    const spans = (upto: number): LogStart => ({
      ...start,
      keys: [
        { key: hostRaw, from: 1, upto },
        { key: publicKeyOf(otherKey), from: upto + 1, upto: null },
      ],
    });
    expect(extendLog(spans(3), rekeyed).tip.seq).toBe(6);
    expect(extendLog({ ...spans(3), verifyEvery: true }, rekeyed).tip.seq).toBe(6);
    expect(extendLog({ ...spans(4), verifyEvery: true }, rekeyed).tip.seq).toBe(3);
    expect(extendLog(start, rekeyed).tip.seq).toBe(3);
  });

  test('thousands of bad signatures behind a good line: the exact answer, in bounded steps', () => {
    const bodies = lessons(3_000);
    const hostile = logOf(bodies, (seq) => (seq === 10 ? undefined : otherKey)).map((line) => line.text);
    const steps = extendLogInSteps(start, hostile);
    let count = 0;
    for (;;) {
      const step = steps.next();
      if (step.done === true) {
        expect(step.value.tip.seq).toBe(10);
        expect(step.value.fault).toMatchObject({ code: 'SIGNATURE', seq: 11 });
        break;
      }
      count += 1;
    }
    // One yield for each 512 lines and for each 32 signatures: no step is longer than that.
    expect(count).toBe(Math.floor(3_000 / 512) + Math.floor(2_990 / 32));
  });
});

describe('holes', () => {
  const holed = texts.map((text, index) => {
    if (index !== 4) return text;
    const body = text.slice('{"body":'.length, text.indexOf(',"log":"alpha"'));
    return text.replace(body, `"${lines[4]?.id}"`);
  });

  test('end the usable prefix when no purge names them', () => {
    const extension = extendLog(start, holed);
    expect([extension.tip.seq, extension.fault]).toMatchObject([4, { code: 'HOLE', seq: 5 }]);
  });

  test('are passed when a purge names exactly their id, and no link changes', () => {
    expect(extendLog({ ...start, purged: new Set([lines[4]?.id ?? '']) }, holed).tip).toEqual({
      host: 'alpha',
      seq: 12,
      link: lines[11]?.link,
    });
    expect(extendLog({ ...start, purged: new Set([lines[3]?.id ?? '']) }, holed).tip.seq).toBe(4);
  });
});

describe('purged ids', () => {
  const gone = lines[4]?.id ?? '';
  const purged = new Set([gone]);

  test('a body that a purge names becomes a hole, whoever sends it, and everything after it stays usable', () => {
    const extension = extendLog({ ...start, purged }, texts);
    expect([extension.tip.seq, extension.covered, extension.fault]).toEqual([12, 1, undefined]);
    expect(extension.lines[4]).toMatchObject({ id: gone, body: null, fault: 'HOLE', link: lines[4]?.link });
    const again = extendLog(
      { ...start, purged },
      extension.lines.map(({ text }) => text),
    );
    expect(again).toEqual({ lines: extension.lines, tip: extension.tip });
  });

  test('R0: a hole that no purge names ends the log there, whatever else is purged', () => {
    const holed = extendLog({ ...start, purged }, texts).lines.map(({ text }) => text);
    expect(extendLog({ ...start, purged: new Set([lines[7]?.id ?? '']) }, holed)).toMatchObject({
      tip: { seq: 4 },
      fault: { code: 'HOLE', seq: 5 },
    });
  });
});

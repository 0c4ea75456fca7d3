import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { assembleLog } from '../../../../src/daemon/repair/assemble.ts';
import { hostRaw, lessons, logOf, mesh } from '../../../lib/events.ts';

const lines = logOf(lessons(12));
const texts = lines.map(({ text }) => text);
const keys = [{ key: hostRaw, from: 1, upto: null }];
const wanted = { host: 'alpha', mesh, keys, purged: new Set<string>() };
const none = { held: new Set<string>() };

describe('assembling a log', () => {
  test('any split of its lines over any sources, in any order, with rubbish between, gives all of them', () => {
    const sources = fc.array(fc.subarray([...texts, 'rubbish', '{"a":', ''], { minLength: 0 }), { maxLength: 4 });
    fc.assert(
      fc.property(sources, (lists) => {
        const has = new Set(lists.flat());
        const until = texts.findIndex((text) => !has.has(text));
        const shuffled = lists.map((list) => list.toReversed());
        expect(assembleLog(wanted, none, shuffled).lines.map(({ text }) => text)).toEqual(
          until < 0 ? texts : texts.slice(0, until),
        );
      }),
      { seed: 7, numRuns: 60 },
    );
  });

  test('a line that the host did not sign ends it, and does not hide the good one', () => {
    const third = lines[2];
    const forged = texts[2]?.replace(/"sig":"[^"]{8}/, '"sig":"AAAAAAAA') ?? '';
    expect(forged).not.toBe(third?.text);
    expect(assembleLog(wanted, none, [texts.slice(0, 2), [forged]]).lines).toHaveLength(2);
    // Its link is the same: it comes first, and the good one of another source counts all the same.
    const all = assembleLog(wanted, none, [texts.slice(0, 2), [forged], texts.slice(0, 3)]);
    expect(all.lines.map(({ text }) => text)).toEqual(texts.slice(0, 3));
    const held = { held: new Set([third?.link ?? '']) };
    expect(assembleLog(wanted, held, [[forged], texts.slice(0, 3)]).lines).toHaveLength(3);
  });

  test('of two lines of one number the one that the branch has is taken; where it has none, neither', () => {
    const other = logOf([...lessons(11), ...lessons(13).slice(12)]).map(({ text }) => text);
    const [ours, theirs] = [texts[11] ?? '', other[11] ?? ''];
    expect(theirs).not.toBe(ours);
    const own = { held: new Set([lines[11]?.link ?? '']) };
    expect(assembleLog(wanted, own, [texts, other]).lines.at(-1)?.text).toBe(ours);
    const seen = { held: new Set<string>(), seen: lines[11]?.link };
    expect(assembleLog(wanted, seen, [other, texts]).lines.at(-1)?.text).toBe(ours);
    const forked = assembleLog(wanted, none, [texts, other]);
    expect([forked.lines.length, forked.forkAt]).toEqual([11, 12]);
  });

  test('a purged body becomes a hole, whichever source still has it', () => {
    const gone = lines[4]?.id ?? '';
    const { lines: kept } = assembleLog({ ...wanted, purged: new Set([gone]) }, none, [texts]);
    expect(kept).toHaveLength(12);
    expect(kept[4]?.body).toBeNull();
    expect(kept[4]?.text).toContain(`"body":"${gone}"`);
  });
});

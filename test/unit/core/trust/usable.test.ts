import { describe, expect, test } from 'vitest';
import type { CharterHost } from '../../../../src/core/trust/charter.ts';
import { holdingKeys, usableUpto } from '../../../../src/core/trust/usable.ts';

const links = ['a1', 'a2', 'a3', 'a4'];
const linkAt = (seq: number): string | undefined => links[seq - 1];

function host(fields: Partial<Pick<CharterHost, 'pins' | 'end' | 'spans'>>): CharterHost {
  return { pins: [], end: null, spans: [], ...fields } as unknown as CharterHost;
}

const pin = (seq: number, link: string): CharterHost['pins'][number] => ({ seq, link, op: '' });

describe('how much of a log may be used', () => {
  test('all of it where nothing pins or ends it', () => {
    expect(usableUpto(host({}), linkAt, 4)).toEqual({ upto: 4 });
  });

  test('up to its end, which may lie ahead', () => {
    expect(usableUpto(host({ end: 2 }), linkAt, 4)).toEqual({ upto: 2 });
    expect(usableUpto(host({ end: 9 }), linkAt, 4)).toEqual({ upto: 4 });
    expect(usableUpto(host({ end: 0 }), linkAt, 4)).toEqual({ upto: 0 });
  });

  test('up to the last pin that it matches, when it is another branch at a later one', () => {
    expect(usableUpto(host({ pins: [pin(1, 'a1'), pin(3, 'b3')] }), linkAt, 4)).toEqual({
      upto: 1,
      fault: 'WRONG_BRANCH',
    });
    expect(usableUpto(host({ pins: [pin(2, 'b2')] }), linkAt, 4)).toEqual({ upto: 0, fault: 'WRONG_BRANCH' });
  });

  test('a pin ahead of what is held says nothing yet, and one at 0 pins nothing', () => {
    expect(usableUpto(host({ pins: [pin(0, 'mesh'), pin(5, 'b5')] }), linkAt, 4)).toEqual({ upto: 4 });
  });
});

describe('the keys for holding a log', () => {
  const key = new Uint8Array(32);
  const span = (from: number, upto: number | null): CharterHost['spans'][number] => ({ key, from, upto, op: '' });

  test('the last one goes on behind the end that a revocation set', () => {
    expect(holdingKeys(host({ end: 5, spans: [span(1, 3), span(4, 5)] }))).toEqual([span(1, 3), span(4, null)]);
  });

  test('nothing changes for a log that is open, or ends within a key that goes on', () => {
    expect(holdingKeys(host({ spans: [span(1, 3), span(4, null)] }))).toEqual([span(1, 3), span(4, null)]);
    expect(holdingKeys(host({ end: 2, spans: [span(1, null)] }))).toEqual([span(1, null)]);
    expect(holdingKeys(host({ end: 0, spans: [] }))).toEqual([]);
  });
});

/** Down, behind and empty are three different answers; so is a clock that is wrong. Time is a number here. */
import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { createPeerBook } from '../../../../src/daemon/peers/peer-book.ts';
import { openPeerKeeper } from '../../../../src/daemon/peers/peer-keeper.ts';
import { clockWarnings, futureClocks, newestOf, quietOf } from '../../../../src/daemon/queries/health.ts';
import { statusLine, type StatusLineParts } from '../../../../src/daemon/status-line.ts';
import { parseConfig } from '../../../../src/daemon/config/config.ts';
import type { PeerOutcome } from '../../../../src/mesh/node.ts';
import { homePaths } from '../../../../src/store/home/home.ts';
import { readPeerMemory } from '../../../../src/store/notes/peer-memory.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';

const now = Date.parse('2026-07-27T15:00:00.000Z');
const ago = (days: number): string => new Date(now - days * 86_400_000).toISOString();
const outcome = (peer: string, lines: Record<string, number>, state: PeerOutcome['state'] = 'up'): PeerOutcome => ({
  peer,
  state,
  newEvents: Object.values(lines).reduce((sum, count) => sum + count, 0),
  lines,
  trustAdded: [],
  alarms: [],
});

describe('C7: health: a peer that answers and brings nothing', () => {
  test('last contact and last new event are two things; after 3 days without news it is quiet', () => {
    const book = createPeerBook();
    book.note(outcome('beta', { beta: 2 }), ago(4));
    book.note(outcome('beta', {}), ago(0));
    const health = book.of('beta');
    expect(health).toMatchObject({ state: 'up', lastContact: ago(0), lastNewEvent: ago(4) });
    expect(health && quietOf({ config: undefined }, 'beta', health, now)).toEqual({ quietDays: 4 });
    expect(health && quietOf({ config: undefined }, 'beta', health, now - 86_400_001)).toEqual({});
  });

  test('one that never brought anything counts from its first answer', () => {
    const book = createPeerBook();
    book.note(outcome('beta', {}), ago(3));
    const health = book.of('beta');
    expect(health?.lastNewEvent).toBeNull();
    expect(health && quietOf({ config: undefined }, 'beta', health, now)).toEqual({ quietDays: 3 });
  });

  test('thresholds are per peer, and 0 is never', () => {
    const text = '[health]\nquiet_days = 1\n[quiet_days]\nlaptop = 30\nnas = 0\n';
    const config = parseConfig(text, { file: 'config.toml', user: '/home/ann' });
    const health = { lastNewEvent: ago(10), since: ago(90) };
    const quiet = ['beta', 'laptop', 'nas'].map((host) => quietOf({ config }, host, health, now).quietDays);
    expect(quiet).toEqual([10, undefined, undefined]);
  });

  test('a line of its own log is news of it, whoever passed it on', () => {
    const book = createPeerBook();
    book.note(outcome('gamma', {}), ago(9));
    book.note(outcome('beta', { gamma: 1 }), ago(1));
    expect(book.of('gamma')?.lastNewEvent).toBe(ago(1));
  });

  test('a restart does not forget it, a damaged file is none, and what it held of our log stays known', async () => {
    const home = homePaths(temporaryFolder());
    const first = openPeerKeeper(home, () => true, undefined);
    first.peerBook.note(outcome('beta', { beta: 1 }), ago(5));
    first.peerBook.note(outcome('beta', {}), ago(0));
    first.peerBook.holds('beta', 7);
    await first.close();
    const { peerBook } = openPeerKeeper(home, () => true, undefined);
    expect(peerBook.of('beta')).toMatchObject({
      state: 'unknown',
      since: ago(5),
      lastContact: ago(0),
      lastNewEvent: ago(5),
      holds: 7,
    });
    for (const bad of ['', '{', 'null', '{"peers":{"beta":{"since":"x"}}}', '{"peers":{"__proto__":1}}']) {
      writeFileSync(home.peerMemory, bad);
      expect(readPeerMemory(home)).toEqual(new Map());
    }
  });
});

describe('health: the status line', () => {
  const good: StatusLineParts = {
    daemon: true,
    hosts: 3,
    up: 3,
    parked: 1,
    alarms: 0,
    behind: 0,
    quiet: 0,
    replicated: { peers: 2, of: 2 },
    newest: new Date(now - 120_000).toISOString(),
    index: undefined,
    now,
  };
  const cases: [string, Partial<StatusLineParts>][] = [
    ['memd: 3/3 hosts, newest 2 min ago, 1 parked', {}],
    ['memd: 2/3 hosts, newest 2 min ago, 1 parked', { up: 2 }],
    ['memd: 3/3 hosts, newest 2 min ago, 1 parked, 12 behind', { behind: 12 }],
    ['memd: 3/3 hosts, newest 2 min ago, 1 parked, 1 quiet', { quiet: 1 }],
    ['memd: 3/3 hosts, newest 2 min ago, 1 parked, 2 alarms', { alarms: 2 }],
    [
      'memd: 1/3 hosts, newest 2 min ago, 1 parked, replicated to 0 of 2 peers',
      { up: 1, replicated: { peers: 0, of: 2 } },
    ],
    [
      'memd: 1/3 hosts, newest 2 min ago, 1 parked, replicated to 0 of 2 peers, unsynced for 4 h',
      { up: 1, replicated: { peers: 0, of: 2, since: new Date(now - 4 * 3_600_000).toISOString() } },
    ],
    [
      'memd: 1/3 hosts, newest 2 min ago, 1 parked, replicated to 0 of 2 peers',
      { up: 1, replicated: { peers: 0, of: 2, since: new Date(now - 60_000).toISOString() } },
    ],
    ['memd: 1/1 hosts, no events yet, 0 parked', { hosts: 1, up: 1, parked: 0, replicated: null, newest: undefined }],
    ['memd: NOT RUNNING, index is 3 h old, 1 parked', { daemon: false, index: now - 3 * 3_600_000 }],
    ['memd: NOT RUNNING, no index yet, 0 parked', { daemon: false, parked: 0 }],
  ];
  test.each(cases)('%s', (line, parts) => {
    expect(statusLine({ ...good, ...parts })).toBe(line);
  });
});

describe('health: clocks', () => {
  test('a claim of 2082 or of in three days is flagged, and does not pass for the newest', () => {
    const newest = new Map([
      ['alpha', ago(1)],
      ['beta', '2082-01-01T00:00:00.000Z'],
      ['gamma', ago(-3)],
    ]);
    expect([...futureClocks(newest, now).keys()]).toEqual(['beta', 'gamma']);
    expect(newestOf(newest, now)).toBe(ago(1));
    expect(clockWarnings(futureClocks(newest, now))[0]).toBe(
      "the newest line of beta claims 2082-01-01T00:00:00.000Z, in the future: its clock or this host's is wrong; times decide nothing",
    );
  });

  test('a few minutes are nobody’s fault, and a mesh of the future has events all the same', () => {
    expect(futureClocks(new Map([['beta', ago(-0.005)]]), now).size).toBe(0);
    expect(newestOf(new Map([['beta', ago(-3)]]), now)).toBe(new Date(now).toISOString());
    expect(newestOf(new Map(), now)).toBeUndefined();
  });

  test('a log whose newest lines are all purged has a time that nobody knows: that is not a log without events', () => {
    const purged = new Map([['alpha', null]]);
    expect(newestOf(purged, now)).toBeNull();
    expect(newestOf(new Map([...purged, ['beta', ago(1)]]), now)).toBe(ago(1));
    expect(futureClocks(purged, now).size).toBe(0);
  });
});

import { describe, expect, test } from 'vitest';
import { debtAt, restsUntil } from '../../../../src/core/sync/patience.ts';
import type { ForkedLines } from '../../../../src/core/sync/fork-proof.ts';
import { nextTime } from '../../../../src/core/sync/step.ts';
import type { LogFetched } from '../../../../src/core/sync/vocabulary.ts';
import { hashOf, headsOf, hold, short, syncBench, tipOf, type SyncBench } from '../../../lib/sync-world.ts';

const refused: LogFetched = { lines: 0, failure: { code: 'PACK_REFUSED', detail: 'a bomb' } };
let commits = 0;

/** beta says unasked that it holds another commit. */
function offer(bench: SyncBench): readonly string[] {
  commits += 1;
  const oid = commits.toString(16).padStart(40, '0');
  return short(bench.tell({ kind: 'nudge', peer: 'beta', heads: headsOf('beta', { beta: { ...tipOf('12'), oid } }) }));
}

/** And what comes is refused after so long. */
function refuse(bench: SyncBench, ms: number, fetched = refused): readonly string[] {
  bench.at += ms;
  return short(bench.answer('beta', { kind: 'log', log: 'beta', fetched }));
}

describe('a peer that costs in vain', () => {
  test('is heard at once as long as it costs no more than a mishap', () => {
    const bench = syncBench(['beta']);
    for (let round = 0; round < 4; round += 1) {
      expect(offer(bench)).toContain('fetch-log beta beta 2');
      refuse(bench, 200);
    }
    expect(nextTime(bench.state)).toBeUndefined();
  });

  test('then rests: what it says meanwhile is heard once, when it has rested, with the newest of it', () => {
    const bench = syncBench(['beta']);
    offer(bench);
    refuse(bench, 3_000);
    for (let round = 0; round < 5; round += 1) expect(offer(bench)).toEqual([]);
    expect(short(bench.tell({ kind: 'schedule', slept: false }))).toEqual([]);
    expect(short(bench.tell({ kind: 'reconnect', peer: 'beta' }))).toEqual([]);
    expect(short(bench.pass(99_999))).toEqual(['caught-up']);
    expect(nextTime(bench.state)).toBe(bench.at + 1);
    expect(short(bench.pass(1))).toEqual(['heard beta', 'fetch-log beta beta 2']);
  });

  test('takes a fiftieth of the time in the long run and a second at once, however it spreads what it offers', () => {
    const bench = syncBench(['beta']);
    let cost = 0;
    const lasting = 600_000;
    while (bench.at < lasting) {
      const started = offer(bench).length > 0 || bench.pass(2).length > 0;
      if (!started) continue;
      cost += 70;
      refuse(bench, 70);
    }
    expect(cost).toBeGreaterThan(lasting * 0.018);
    expect(cost).toBeLessThan(lasting * 0.02 + 1_100);
  });

  test('never rests longer than five minutes, and is asked at once by whoever asks', () => {
    const bench = syncBench(['beta']);
    offer(bench);
    refuse(bench, 350_000);
    expect(offer(bench)).toEqual([]);
    expect(nextTime(bench.state)).toBe(bench.at + 300_000);
    expect(short(bench.ask(['beta']))).toEqual(['ask-heads beta']);
  });

  test('delays nobody else', () => {
    const bench = syncBench(['beta', 'gamma']);
    offer(bench);
    refuse(bench, 60_000);
    const heads = headsOf('gamma', { gamma: tipOf('3') });
    bench.enrolled.add('gamma');
    expect(short(bench.tell({ kind: 'nudge', peer: 'gamma', heads }))).toContain('fetch-log gamma gamma 1');
  });

  test('is doubted while it is in debt: what it may send does not grow with what it announces', () => {
    const bench = syncBench(['beta']);
    const doubted = (): unknown => bench.effects.findLast(({ kind }) => kind === 'fetch-log');
    offer(bench);
    expect(doubted()).toMatchObject({ doubted: false });
    refuse(bench, 500);
    offer(bench);
    expect(doubted()).toMatchObject({ doubted: true });
    refuse(bench, 0);
    bench.at += 30_000;
    offer(bench);
    expect(doubted()).toMatchObject({ doubted: false });
  });

  test('a trust branch without anything new, time after time, is in vain too', () => {
    const bench = syncBench(['beta']);
    const answer = { kind: 'trust', answer: { ok: true, value: { added: [], unsupported: [], bad: [] } } } as const;
    let asked = 0;
    for (let round = 0; round < 100; round += 1) {
      const heads = headsOf('beta', {}, hashOf('8'));
      const trust = { ...heads.trust, oid: round.toString(16).padStart(40, '0') };
      const effects = short(bench.tell({ kind: 'nudge', peer: 'beta', heads: { ...heads, trust } }));
      if (effects.length === 0) continue;
      asked += 1;
      bench.at += 50;
      bench.answer('beta', answer);
    }
    expect(asked).toBeLessThan(30);
  });

  test('good lines cost nothing, and silence little', () => {
    const bench = syncBench(['beta']);
    offer(bench);
    refuse(bench, 60_000, { lines: 2 });
    hold(bench, 'beta', '12');
    expect(bench.state.peers.get('beta')?.debt.ms).toBe(0);
    bench.ask(['beta']);
    bench.heads('beta', { beta: tipOf('123') });
    refuse(bench, 30_000, { lines: 0, failure: { code: 'TIMEOUT', detail: 'silent' } });
    expect(bench.state.peers.get('beta')?.debt.ms).toBe(500);
  });

  test('a whole log that cannot take the place of a damaged copy is not fetched again in every cycle', () => {
    const bench = syncBench(['beta']);
    offer(bench);
    refuse(bench, 3_000, { lines: 0, vain: true });
    expect(bench.state.peers.get('beta')?.debt.ms).toBe(3_000);
  });
});

describe('lines that take long to fold', () => {
  const slow: LogFetched = { lines: 1, foldMs: 1_700 };

  test('are charged to the host that wrote them, whoever brings them: its log rests, everything else goes on', () => {
    const bench = syncBench(['beta', 'gamma']);
    const relay = (links: string): readonly string[] => {
      const heads = headsOf('gamma', { beta: tipOf(links), gamma: tipOf('9') });
      return short(bench.tell({ kind: 'nudge', peer: 'gamma', heads }));
    };
    hold(bench, 'gamma', '9');
    expect(relay('1')).toContain('fetch-log gamma beta 1');
    hold(bench, 'beta', '1');
    short(bench.answer('gamma', { kind: 'log', log: 'beta', fetched: slow }));
    expect(bench.state.peers.get('gamma')?.debt.ms).toBe(0);
    expect(bench.state.peers.get('beta')?.debt.ms).toBe(1_448);
    expect(relay('12')).toEqual(['heard gamma', 'outcome gamma up']);
    bench.at += 22_401;
    expect(relay('123')).toContain('fetch-log gamma beta 3');
  });

  test('are taken at once when somebody asks, and many ordinary ones are never charged', () => {
    const bench = syncBench(['beta']);
    bench.ask(['beta']);
    bench.heads('beta', { beta: tipOf('1') });
    bench.answer('beta', { kind: 'log', log: 'beta', fetched: slow });
    hold(bench, 'beta', '1');
    bench.ask(['beta']);
    expect(short(bench.heads('beta', { beta: tipOf('12') }))).toContain('fetch-log beta beta 2');
    bench.answer('beta', { kind: 'log', log: 'beta', fetched: { lines: 100_000, foldMs: 20_000 } });
    expect(bench.state.peers.get('beta')?.debt.ms).toBe(1_448);
  });
});

describe('the other side of a fork that a relay holds', () => {
  const { seq, link, ...line } = { ...tipOf('b'), v: 1 };
  const fork = [
    { ...line, seq, link },
    { ...line, seq, link: hashOf('c') },
  ] as unknown as ForkedLines;
  const forked: LogFetched = {
    lines: 0,
    fault: { code: 'NOT_EXTENSION', seq: 1, detail: 'forked', forked: true, fork },
  };
  /** gamma relays another line of the forked log of beta, and one of its own. */
  const relay = (bench: SyncBench, own: string): readonly string[] => {
    commits += 1;
    const oid = commits.toString(16).padStart(40, '0');
    const heads = headsOf('gamma', { beta: { ...tipOf('c'), oid }, gamma: tipOf(own) });
    return short(bench.tell({ kind: 'nudge', peer: 'gamma', heads }));
  };

  test('is not charged to the relay: its own lines are heard at once, however often the forked log grows there', () => {
    const bench = syncBench(['beta', 'gamma']);
    hold(bench, 'beta', 'b');
    let asked = 0;
    for (let round = 1; round <= 100; round += 1) {
      const own = Array.from({ length: round }, (_, at) => at % 10).join('');
      let effects = relay(bench, own);
      if (effects.includes('fetch-log gamma beta 1')) {
        asked += 1;
        bench.at += 100;
        effects = short(bench.answer('gamma', { kind: 'log', log: 'beta', fetched: forked }));
      }
      expect(effects).toContain(`fetch-log gamma gamma ${round}`);
      hold(bench, 'gamma', own);
      bench.answer('gamma', { kind: 'log', log: 'gamma', fetched: { lines: 1 } });
    }
    expect(asked).toBeLessThan(15);
    expect(bench.state.peers.get('gamma')?.debt.ms).toBe(0);
  });

  test('does not silence the host that forked: what others bring of it is taken', () => {
    const bench = syncBench(['beta', 'gamma']);
    hold(bench, 'beta', 'b');
    for (let round = 0; round < 30; round += 1) {
      if (!relay(bench, '').includes('fetch-log gamma beta 1')) continue;
      bench.at += 1_000;
      bench.answer('gamma', { kind: 'log', log: 'beta', fetched: forked });
    }
    const heads = headsOf('beta', { beta: tipOf('bd') });
    expect(short(bench.tell({ kind: 'nudge', peer: 'beta', heads }))).toContain('fetch-log beta beta 2');
  });
});

describe('good lines that come one by one without an end', () => {
  /** beta writes a line ten times a second, and each takes 60 ms to fetch. @returns the milliseconds that fetching took. */
  function write(bench: SyncBench, { from, lastingMs }: { from: number; lastingMs: number }): number {
    let [lines, cost, told] = [from, 0, bench.at];
    for (const end = bench.at + lastingMs; bench.at < end;) {
      if (bench.at >= told) {
        lines += 1;
        told += 100;
        const heads = headsOf('beta', { beta: tipOf(countTo(lines)) });
        bench.tell({ kind: 'nudge', peer: 'beta', heads });
      } else bench.pass(1);
      for (let asked = outstanding(bench); asked !== undefined; asked = outstanding(bench)) {
        if (asked === 'ask-heads') bench.heads('beta', { beta: tipOf(countTo(lines)) });
        else {
          bench.at += 60;
          cost += 60;
          hold(bench, 'beta', countTo(lines));
          bench.answer('beta', { kind: 'log', log: 'beta', fetched: { lines: 1 } });
        }
      }
    }
    return cost;
  }
  const countTo = (lines: number): string => `${'0'.repeat(lines - 1)}${lines % 10}`;
  const outstanding = (bench: SyncBench): string | undefined =>
    bench.state.peers.get('beta')?.cycle?.outstanding === true
      ? bench.effects.findLast(({ kind }) => kind === 'ask-heads' || kind === 'fetch-log')?.kind
      : undefined;

  test('are taken at once for half a minute, then a tenth of the time goes into them, and none is left behind', () => {
    const bench = syncBench(['beta']);
    const first = write(bench, { from: 0, lastingMs: 20_000 });
    expect(first).toBeGreaterThan(10_000);
    write(bench, { from: 200, lastingMs: 40_000 });
    const then = write(bench, { from: 600, lastingMs: 60_000 });
    expect(then).toBeGreaterThan(4_000);
    expect(then).toBeLessThan(7_000);
    // Nobody says so again, and they come all the same.
    bench.tell({ kind: 'nudge', peer: 'beta', heads: headsOf('beta', { beta: tipOf(countTo(2_005)) }) });
    expect(nextTime(bench.state)).toBeLessThanOrEqual(bench.at + 5_000);
    expect(short(bench.pass(5_000))).toContain('ask-heads beta');
    expect(short(bench.heads('beta', { beta: tipOf(countTo(2_005)) }))).toContain('fetch-log beta beta 2005');
  });

  test('hold up nothing else, and are taken at once by whoever asks', () => {
    const bench = syncBench(['beta', 'gamma']);
    write(bench, { from: 0, lastingMs: 60_000 });
    const heads = headsOf('beta', { beta: tipOf(countTo(2_005)), gamma: tipOf('4') });
    expect(short(bench.tell({ kind: 'nudge', peer: 'beta', heads }))).toContain('fetch-log beta gamma 1');
    bench.answer('beta', { kind: 'log', log: 'gamma', fetched: { lines: 1 } });
    bench.ask(['beta']);
    expect(short(bench.heads('beta', { beta: tipOf(countTo(2_005)) }))).toContain('fetch-log beta beta 2005');
  });
});

test('a debt is forgiven with time and never below nothing', () => {
  expect(debtAt({ ms: 100, at: 1_000 }, 2_000)).toBe(80);
  expect(debtAt({ ms: 100, at: 1_000 }, 9_000_000)).toBe(0);
  expect(debtAt({ ms: 100, at: 1_000 }, 500)).toBe(100);
  expect(restsUntil({ ms: 1_000, at: 7 })).toBe(0);
});

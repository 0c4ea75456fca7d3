import { describe, expect, test } from 'vitest';
import { hashOf, headsOf, hold, short, syncBench, tipOf } from '../../../lib/sync-world.ts';

describe('the first append', () => {
  test('waits until every peer has answered or is known to be down, and no append after it does', () => {
    const bench = syncBench(['beta', 'gamma']);
    expect(short(bench.tell({ kind: 'append', token: 'one' }))).toEqual(['ask-heads beta', 'ask-heads gamma']);
    expect(bench.tell({ kind: 'append', token: 'two' })).toEqual([]);
    expect(short(bench.heads('beta'))).toEqual(['heard beta', 'outcome beta up']);
    expect(short(bench.fault('gamma', 'UNREACHABLE'))).toEqual([
      'outcome gamma down UNREACHABLE',
      'may-append one',
      'may-append two',
    ]);
    expect(short(bench.tell({ kind: 'append', token: 'three' }))).toEqual(['may-append three']);
  });

  test('waits longer for the proof of a peer that says it holds more, and not for ever', () => {
    for (const verdict of ['proven', 'wrong', undefined] as const) {
      const bench = syncBench(['beta']);
      hold(bench, 'alpha', '1');
      bench.tell({ kind: 'append', token: 'one' });
      expect(short(bench.heads('beta', { alpha: tipOf('12') }))).toEqual([
        'own-claim beta looking',
        'heard beta',
        'judge-own beta',
      ]);
      expect(short(bench.pass(14_000))).toEqual([]);
      const line = { seq: 2, link: hashOf('2') };
      if (verdict === undefined) expect(short(bench.pass(1_000))).toContain('may-append one');
      else if (verdict === 'proven')
        expect(short(bench.answer('beta', { kind: 'own', verdict: { kind: 'proven', line, ahead: true } }))).toEqual([
          'own-claim beta 2',
          'outcome beta up',
          'may-append one',
        ]);
      else
        expect(short(bench.answer('beta', { kind: 'own', verdict: { kind: 'wrong', detail: 'no' } }))).toEqual([
          'own-claim beta unproven',
          'outcome beta refused HEADS_WRONG',
          'may-append one',
        ]);
    }
  });

  test('a peer that is silent holds it up for that long and no longer; a mesh of one for no time at all', () => {
    const bench = syncBench(['beta']);
    bench.tell({ kind: 'append', token: 'one' });
    expect(short(bench.pass(1_999))).toEqual([]);
    expect(short(bench.pass(1))).toEqual(['may-append one']);
    expect(short(syncBench([]).tell({ kind: 'append', token: 'one' }))).toEqual(['may-append one']);
  });

  test('a host that may not append alone waits until somebody was reached, and asks again meanwhile', () => {
    const bench = syncBench(['beta'], { appendAlone: false });
    bench.tell({ kind: 'append', token: 'one' });
    expect(short(bench.fault('beta', 'UNREACHABLE'))).toEqual(['outcome beta down UNREACHABLE']);
    expect(short(bench.pass(2_000))).toEqual(['ask-heads beta']);
    expect(short(bench.heads('beta'))).toEqual(['heard beta', 'outcome beta up', 'may-append one']);
  });

  test('whoever says so appends although nobody was reached, once everybody was asked; others go on waiting', () => {
    const bench = syncBench(['beta'], { appendAlone: false });
    bench.tell({ kind: 'append', token: 'waits' });
    bench.tell({ kind: 'append', token: 'alone', alone: true });
    expect(short(bench.fault('beta', 'UNREACHABLE'))).toEqual(['outcome beta down UNREACHABLE', 'may-append alone']);
    bench.pass(2_000);
    expect(short(bench.heads('beta'))).toEqual(['heard beta', 'outcome beta up', 'may-append waits']);
  });

  test('a schedule that comes while peers are only asked has a whole cycle follow', () => {
    const bench = syncBench(['beta']);
    bench.tell({ kind: 'append', token: 'one' });
    bench.tell({ kind: 'schedule', slept: false });
    expect(short(bench.heads('beta', { beta: tipOf('1') }))).toEqual([
      'heard beta',
      'outcome beta up',
      'ask-heads beta',
      'may-append one',
      'caught-up',
    ]);
  });
});

describe('whoever waits for peers', () => {
  const wait = { token: 'w', line: { seq: 2, link: hashOf('2') }, peers: 2, deadlineMs: 3_000 };

  test('is released once so many advertise our line; peers are asked again meanwhile', () => {
    const bench = syncBench(['beta', 'gamma']);
    hold(bench, 'alpha', '12');
    expect(short(bench.tell({ kind: 'replicate', wait }))).toEqual(['ask-heads beta', 'ask-heads gamma']);
    bench.heads('beta', { alpha: tipOf('1') });
    expect(short(bench.heads('gamma', { alpha: tipOf('12') }))).toEqual(['heard gamma', 'outcome gamma up']);
    expect(short(bench.pass(500))).toEqual(['ask-heads beta']);
    expect(short(bench.heads('beta', { alpha: tipOf('12') }))).toContain('replicated beta,gamma true');
  });

  test('is told who holds it when time is over; another line of that number counts for nothing', () => {
    const bench = syncBench(['beta', 'gamma']);
    hold(bench, 'alpha', '12');
    bench.tell({ kind: 'replicate', wait });
    bench.heads('beta', { alpha: tipOf('12') });
    bench.heads('gamma', { alpha: tipOf('13') });
    expect(short(bench.pass(3_000))).toContain('replicated beta false');
  });

  test('needs no question where a peer has said so already', () => {
    const bench = syncBench(['beta']);
    hold(bench, 'alpha', '12');
    bench.tell({ kind: 'nudge', peer: 'beta', heads: headsOf('beta', { alpha: tipOf('12') }) });
    expect(short(bench.tell({ kind: 'replicate', wait: { ...wait, peers: 1 } }))).toEqual(['replicated beta true']);
  });
});

import { describe, expect, test } from 'vitest';
import { nextTime, isCaughtUp, step } from '../../../../src/core/sync/step.ts';
import type { ForkedLines } from '../../../../src/core/sync/fork-proof.ts';
import { openSync } from '../../../../src/core/sync/state.ts';
import type { Effect, World } from '../../../../src/core/sync/vocabulary.ts';
import { hashOf, headsOf, hold, short, syncBench, tipOf } from '../../../lib/sync-world.ts';

const trustAnswer = { kind: 'trust', answer: { ok: true, value: { added: [], unsupported: [], bad: [] } } } as const;
const fetched = (log: string, lines: number): { kind: 'log'; log: string; fetched: { lines: number } } => ({
  kind: 'log',
  log,
  fetched: { lines },
});

describe('a cycle', () => {
  test('asks for the trust set before any log, and looks at logs of the charter as it is then', () => {
    const bench = syncBench(['beta']);
    expect(short(bench.ask(['beta']))).toEqual(['ask-heads beta']);
    const said = { beta: tipOf('12'), gamma: tipOf('3') };
    expect(short(bench.heads('beta', said, hashOf('8')))).toEqual(['heard beta', 'fetch-trust beta']);
    bench.trust = { hash: hashOf('8'), kept: hashOf('8') };
    bench.enrolled.add('gamma');
    expect(short(bench.answer('beta', trustAnswer))).toEqual(['fetch-log beta beta 2']);
    hold(bench, 'beta', '12');
    expect(short(bench.answer('beta', fetched('beta', 2)))).toEqual(['fetch-log beta gamma 1']);
    hold(bench, 'gamma', '3');
    const [outcome] = bench.answer('beta', fetched('gamma', 1));
    expect(outcome).toMatchObject({
      kind: 'outcome',
      outcome: { state: 'up', newEvents: 3, lines: { beta: 2, gamma: 1 } },
    });
  });

  test('with nothing new asks for the heads and ends', () => {
    const bench = syncBench(['beta']);
    hold(bench, 'beta', '12');
    bench.ask(['beta']);
    expect(short(bench.heads('beta', { beta: tipOf('12') }))).toEqual(['heard beta', 'outcome beta up']);
    expect(nextTime(bench.state)).toBeUndefined();
  });

  test('never fetches a log that nobody of the charter owns, nor its own', () => {
    const bench = syncBench(['beta']);
    bench.ask(['beta']);
    expect(short(bench.heads('beta', { mallory: tipOf('12') }))).toEqual(['heard beta', 'outcome beta up']);
  });

  test('a relay that holds less is behind; the owner that does is rolled back', () => {
    const bench = syncBench(['beta', 'gamma']);
    hold(bench, 'beta', '123');
    bench.ask(['beta', 'gamma']);
    expect(bench.heads('gamma', { beta: tipOf('12') })[1]).toMatchObject({ outcome: { state: 'up', alarms: [] } });
    expect(bench.heads('beta', { beta: tipOf('12') })[1]).toMatchObject({
      outcome: { state: 'refused', alarms: [{ code: 'ROLLED_BACK', seq: 2 }] },
    });
  });

  test('a damaged copy is taken anew from whoever has at least what is good of it, however long it was', () => {
    const bench = syncBench(['beta']);
    const offer = (links: string): readonly string[] => {
      bench.ask(['beta']);
      return short(bench.heads('beta', { beta: tipOf(links) }));
    };
    hold(bench, 'beta', '1234');
    bench.damaged.set('beta', 2);
    expect(offer('1')).toEqual(['heard beta', 'outcome beta up']);
    expect(offer('125')).toContain('fetch-log beta beta 3');
  });

  test('two lines of one seq that the host signed are proved once, and the peer stays refused', () => {
    const bench = syncBench(['beta']);
    const cycle = (): readonly string[] => {
      bench.ask(['beta']);
      return short(bench.heads('beta', { beta: tipOf('13') }));
    };
    hold(bench, 'beta', '12');
    cycle();
    const fork = [{}, {}] as unknown as ForkedLines;
    const fault = { code: 'NOT_EXTENSION', seq: 2, forked: true, fork, detail: 'line 2' } as const;
    const effects = bench.answer('beta', { kind: 'log', log: 'beta', fetched: { lines: 0, fault } });
    expect(short(effects)).toEqual(['prove-fork beta', 'outcome beta refused NOT_EXTENSION']);
    expect(effects[1]).toMatchObject({ outcome: { alarms: [{ code: 'NOT_EXTENSION', seq: 2, forked: true }] } });
    expect(JSON.stringify(effects[1])).not.toContain('"fork":');
    expect(cycle()).toEqual(['heard beta', 'outcome beta refused NOT_EXTENSION']);
  });

  test('what was refused is remembered by offer for ten minutes, and reported meanwhile', () => {
    const bench = syncBench(['beta']);
    const cycle = (): readonly string[] => {
      bench.ask(['beta']);
      return short(bench.heads('beta', { beta: tipOf('12') }));
    };
    expect(cycle()).toContain('fetch-log beta beta 2');
    bench.answer('beta', {
      kind: 'log',
      log: 'beta',
      fetched: { lines: 0, fault: { code: 'LOG_CUT', detail: 'bad' } },
    });
    expect(cycle()).toEqual(['heard beta', 'outcome beta refused LOG_CUT']);
    bench.at += 600_001;
    expect(cycle()).toContain('fetch-log beta beta 2');
  });

  test('what was refused under one trust set is asked for again under the next: a purge may name its hole by then', () => {
    const bench = syncBench(['beta']);
    bench.ask(['beta']);
    bench.heads('beta', { beta: tipOf('12') });
    const fault = { code: 'LOG_CUT', detail: 'a hole that no purge names' } as const;
    // The set grew while the log was on its way: it was judged by one or by the other.
    bench.trust = { hash: hashOf('8'), kept: hashOf('8') };
    bench.answer('beta', { kind: 'log', log: 'beta', fetched: { lines: 0, fault } });
    bench.ask(['beta']);
    expect(short(bench.heads('beta', { beta: tipOf('12') }, hashOf('8')))).toContain('fetch-log beta beta 2');
  });

  test('a bad op is told as long as the branch holds it, also when all that counts was taken from it', () => {
    const bench = syncBench(['beta']);
    const cycle = (trust: string): readonly Effect[] => {
      bench.ask(['beta']);
      return bench.heads('beta', {}, trust);
    };
    cycle(hashOf('8'));
    bench.trust = { hash: hashOf('8'), kept: hashOf('8') };
    const value = { added: [], unsupported: [], bad: [{ id: hashOf('b'), detail: 'a weak key' }] };
    const alarms = [{ code: 'TRUST_OP', op: hashOf('b') }];
    const [first] = bench.answer('beta', { kind: 'trust', answer: { ok: true, value } });
    expect(first).toMatchObject({ outcome: { state: 'refused', alarms } });
    expect(cycle(hashOf('8')).at(-1)).toMatchObject({ outcome: { state: 'refused', alarms } });
    bench.at += 600_001;
    expect(cycle(hashOf('8')).at(-1)).toMatchObject({ outcome: { state: 'refused', alarms } });
    bench.trust = { hash: hashOf('9'), kept: hashOf('9') };
    expect(cycle(hashOf('9')).at(-1)).toMatchObject({ outcome: { state: 'up', alarms: [] } });
  });

  test('a host of another mesh, or that has another name, is refused before anything of it is looked at', () => {
    const bench = syncBench(['beta']);
    bench.ask(['beta']);
    const foreign = { ...headsOf('beta', { beta: tipOf('1') }), mesh: hashOf('f') };
    expect(short(bench.answer('beta', { kind: 'heads', answer: { ok: true, value: foreign } }))).toEqual([
      'outcome beta refused FOREIGN_MESH',
    ]);
    bench.ask(['beta']);
    const other = headsOf('gamma', { beta: tipOf('1') });
    expect(short(bench.answer('beta', { kind: 'heads', answer: { ok: true, value: other } }))).toEqual([
      'outcome beta refused PROTOCOL',
    ]);
  });

  test('of two peers that offer the same lines one is asked; the other waits a second at most, the owner never', () => {
    const bench = syncBench(['beta', 'gamma', 'delta']);
    const offer = { delta: tipOf('12') };
    bench.ask(['beta', 'gamma', 'delta']);
    expect(short(bench.heads('beta', offer))).toContain('fetch-log beta delta 2');
    expect(short(bench.heads('gamma', offer))).toEqual(['heard gamma']);
    expect(short(bench.heads('delta', offer))).toContain('fetch-log delta delta 2');
    expect(short(bench.pass(1_000))).toEqual(['fetch-log gamma delta 2']);
  });

  test('whoever waited finds the lines here when the fetch is done', () => {
    const bench = syncBench(['beta', 'gamma', 'delta']);
    bench.ask(['beta', 'gamma']);
    bench.heads('beta', { delta: tipOf('12') });
    bench.heads('gamma', { delta: tipOf('12') });
    hold(bench, 'delta', '12');
    expect(short(bench.answer('beta', fetched('delta', 2)))).toEqual(['outcome beta up', 'outcome gamma up']);
  });
});

describe('one slow or hostile peer', () => {
  test('delays nobody, is given up at its deadline, and is not asked again before its answer has come', () => {
    const bench = syncBench(['beta', 'gamma']);
    bench.ask(['beta', 'gamma'], { deadlineMs: 5_000 });
    bench.heads('gamma');
    expect(bench.state.peers.get('gamma')?.state).toBe('up');
    expect(short(bench.pass(5_500))).toEqual(['give-up beta', 'outcome beta down TIMEOUT']);
    expect(short(bench.ask(['beta']))).toEqual(['outcome beta down TIMEOUT']);
    expect(short(bench.ask(['beta'], { busy: 'wait' }))).toEqual([]);
    const late = bench.effects.find((effect) => effect.kind === 'ask-heads' && effect.peer === 'beta');
    expect(late).toMatchObject({ cycle: 1 });
    const answer = { kind: 'heads', peer: 'beta', cycle: 1, answer: { ok: true, value: headsOf('beta') } } as const;
    expect(short(bench.tell(answer))).toEqual(['ask-heads beta']);
    // A second answer to a question of long ago changes nothing.
    expect(bench.tell(answer)).toEqual([]);
  });

  test('a flood of what it holds is one more cycle, with what it said last', () => {
    const bench = syncBench(['beta']);
    bench.tell({ kind: 'nudge', peer: 'beta', heads: headsOf('beta', { beta: tipOf('1') }) });
    for (const links of ['12', '123', '1234'])
      expect(bench.tell({ kind: 'nudge', peer: 'beta', heads: headsOf('beta', { beta: tipOf(links) }) })).toEqual([]);
    hold(bench, 'beta', '1');
    expect(short(bench.answer('beta', fetched('beta', 1)))).toEqual([
      'outcome beta up',
      'heard beta',
      'fetch-log beta beta 4',
    ]);
  });

  test('the same said again and again, after all of it was fetched, has no effect at all', () => {
    const bench = syncBench(['beta']);
    const heads = headsOf('beta', { beta: tipOf('1') });
    bench.tell({ kind: 'nudge', peer: 'beta', heads });
    hold(bench, 'beta', '1');
    bench.answer('beta', fetched('beta', 1));
    const { state } = bench;
    for (let round = 0; round < 3; round += 1) expect(bench.tell({ kind: 'nudge', peer: 'beta', heads })).toEqual([]);
    expect(bench.state.lastCycle).toBe(state.lastCycle);
    expect(bench.tell({ kind: 'nudge', peer: 'mallory', heads: headsOf('mallory') })).toEqual([]);
  });
});

describe('watching', () => {
  test('begins when a peer was reached, once, and again after it ended; a peer that would not is left in peace', () => {
    const bench = syncBench(['beta'], { watches: true });
    const cycle = (): readonly string[] => {
      bench.ask(['beta']);
      return short(bench.heads('beta'));
    };
    bench.ask(['beta']);
    expect(short(bench.fault('beta', 'UNREACHABLE'))).toEqual(['outcome beta down UNREACHABLE']);
    expect(cycle()).toEqual(['heard beta', 'outcome beta up', 'watch beta']);
    expect(cycle()).toEqual(['heard beta', 'outcome beta up']);
    bench.tell({ kind: 'unwatched', peer: 'beta', refused: false });
    expect(cycle()).toContain('watch beta');
    bench.tell({ kind: 'unwatched', peer: 'beta', refused: true });
    expect(cycle()).not.toContain('watch beta');
    bench.at += 600_000;
    expect(cycle()).toContain('watch beta');
  });
});

describe('beside any question', () => {
  test('what was seen of a peer is told with its next cycles, until it is over or forgotten; the peer stays up', () => {
    const bench = syncBench(['beta']);
    const alarm = { code: 'WATCH_FLOOD', peer: 'beta', detail: 'x' } as const;
    const cycle = (): unknown => {
      bench.ask(['beta']);
      const outcome = bench.heads('beta').find(({ kind }) => kind === 'outcome');
      return outcome?.kind === 'outcome' ? [outcome.outcome.state, outcome.outcome.alarms] : undefined;
    };
    bench.tell({ kind: 'remark', peer: 'beta', code: 'WATCH_FLOOD', alarm });
    expect([cycle(), cycle()]).toEqual([
      ['up', [alarm]],
      ['up', [alarm]],
    ]);
    bench.at += 600_000;
    expect(cycle()).toEqual(['up', []]);
    bench.tell({ kind: 'remark', peer: 'beta', code: 'WATCH_FLOOD', alarm });
    bench.tell({ kind: 'remark', peer: 'beta', code: 'WATCH_FLOOD', alarm: undefined });
    expect(cycle()).toEqual(['up', []]);
    bench.tell({ kind: 'remark', peer: 'nobody', code: 'WATCH_FLOOD', alarm });
    expect(bench.state.peers.has('nobody')).toBe(false);
  });

  test('a connection that broke is made again at once, whatever the back-off; a peer at work is left alone', () => {
    const bench = syncBench(['beta']);
    bench.ask(['beta']);
    expect(short(bench.tell({ kind: 'reconnect', peer: 'beta' }))).toEqual([]);
    bench.fault('beta', 'UNREACHABLE');
    expect(short(bench.tell({ kind: 'reconnect', peer: 'beta' }))).toEqual(['ask-heads beta']);
    bench.fault('beta', 'UNREACHABLE');
    expect(short(bench.tell({ kind: 'reconnect', peer: 'nobody' }))).toEqual([]);
  });
});

describe('the schedule', () => {
  test('leaves a peer that cannot be reached alone, twice as long each time, five minutes at most; others as ever', () => {
    const bench = syncBench(['beta', 'gamma']);
    const waits: number[] = [];
    let failedAt = 0;
    for (let run = 0; run < 2_000; run += 1) {
      bench.at += 1_000;
      const asked = short(bench.tell({ kind: 'schedule', slept: false }));
      expect(asked).toContain('ask-heads gamma');
      bench.heads('gamma');
      if (!asked.includes('ask-heads beta')) continue;
      waits.push(bench.at - failedAt);
      failedAt = bench.at;
      bench.fault('beta', 'UNREACHABLE');
    }
    expect(waits.length).toBeLessThan(20);
    expect(Math.max(...waits)).toBeLessThanOrEqual(376_000);
    expect(Math.max(...waits)).toBeGreaterThan(225_000);
  });

  test('a peer that dials us, or says something, or is asked for, is not left alone any longer', () => {
    const bench = syncBench(['beta']);
    for (let round = 0; round < 8; round += 1) {
      bench.ask(['beta']);
      bench.fault('beta', 'UNREACHABLE');
    }
    expect(bench.tell({ kind: 'schedule', slept: false })).toEqual([]);
    expect(short(bench.tell({ kind: 'met', peer: 'beta' }))).toEqual(['ask-heads beta']);
  });

  test('after a sleep everybody is asked once on new connections, and nothing is told before', () => {
    const bench = syncBench(['beta', 'gamma']);
    expect(isCaughtUp(bench.state)).toBe(false);
    bench.tell({ kind: 'schedule', slept: false });
    bench.heads('beta');
    expect(short(bench.fault('gamma', 'UNREACHABLE'))).toContain('caught-up');
    bench.at += 3_600_000;
    expect(short(bench.tell({ kind: 'schedule', slept: true }))).toEqual([
      'hang-up beta',
      'ask-heads beta',
      'hang-up gamma',
      'ask-heads gamma',
    ]);
    expect(isCaughtUp(bench.state)).toBe(false);
    expect(short(bench.heads('beta'))).toEqual(['heard beta', 'outcome beta up']);
    expect(short(bench.pass(30_000))).toContain('caught-up');
  });
});

test('closing gives up what runs; what is answered then ends its cycle, and nothing is started', () => {
  const bench = syncBench(['beta', 'gamma']);
  bench.ask(['beta']);
  expect(short(bench.tell({ kind: 'close' }))).toEqual(['give-up beta']);
  expect(short(bench.heads('beta', { beta: tipOf('1') }))).toEqual(['heard beta', 'outcome beta down CLOSED']);
  expect(short(bench.ask(['gamma']))).toEqual(['outcome gamma down CLOSED']);
  expect(bench.tell({ kind: 'schedule', slept: false })).toEqual([]);
});

test('step: the same state and input give the same step, and the state that went in is left as it was', () => {
  const state = openSync({ seed: 5, ownAskMs: 1, ownProofMs: 1, appendAlone: true, watches: false });
  const before = JSON.stringify([...state.peers]);
  const world: World = {
    meshId: 'a'.repeat(64),
    host: 'alpha',
    peers: () => ['beta'],
    whyNoPeer: () => undefined,
    isEnrolled: () => true,
    tip: () => undefined,
    linkAt: () => undefined,
    isDamaged: () => false,
    heldUpto: () => 0,
    trust: () => ({ hash: '', kept: '' }),
  };
  const once = (): unknown => step(state, { at: 3, world, event: { kind: 'schedule', slept: false } });
  expect(once()).toEqual(once());
  expect(JSON.stringify([...state.peers])).toBe(before);
});

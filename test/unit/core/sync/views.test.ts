import { describe, expect, test } from 'vitest';
import { viewFetchMs } from '../../../../src/core/limits.ts';
import type { Heads, ViewTip } from '../../../../src/core/sync/peer.ts';
import { openSync, type SyncState } from '../../../../src/core/sync/state.ts';
import { step } from '../../../../src/core/sync/step.ts';
import type { Effect, SyncEvent, World } from '../../../../src/core/sync/vocabulary.ts';
import { hashOf, headsOf, syncMesh, tipOf } from '../../../lib/sync-world.ts';

type Views = Readonly<Record<string, ViewTip>>;

const tip = (n: number, digit = 'a'): ViewTip => ({ oid: digit.repeat(40), n, hash: hashOf(digit) });

interface Bench {
  readonly held: Map<string, ViewTip>;
  readonly damaged: Set<string>;
  /** Hosts that were rekeyed since the line that is held. */
  readonly outdated: Set<string>;
  /** Hosts of whom something is to be heard. */
  readonly awaited: Set<string>;
  at: number;
  tell(event: SyncEvent): readonly Effect[];
  /** A cycle with a peer up to its answer, which holds these journals, and no log that is not here. */
  cycle(peer: string, views: Views, more?: { views?: boolean; heads?: Heads['heads'] }): readonly Effect[];
}

function open(peers: readonly string[] = ['beta', 'gamma']): Bench {
  const options = { seed: 1, ownAskMs: 2_000, ownProofMs: 15_000, appendAlone: true, watches: false };
  let state: SyncState = openSync(options);
  let token = 0;
  const bench: Bench = {
    held: new Map(),
    damaged: new Set(),
    outdated: new Set(),
    awaited: new Set(),
    at: 0,
    tell(event) {
      const done = step(state, { at: bench.at, world, event });
      ({ state } = done);
      return done.effects;
    },
    cycle(peer, views, { views: wanted = false, heads = {} } = {}) {
      token += 1;
      const request = {
        token: `t${token}`,
        only: [peer],
        deadlineMs: 60_000,
        headsOnly: false,
        busy: 'refuse',
      } as const;
      bench.tell({ kind: 'cycle', request: { ...request, views: wanted } });
      const answer = { ok: true, value: { ...headsOf(peer, heads), views } } as const;
      return bench.tell({ kind: 'heads', peer, cycle: state.lastCycle, answer });
    },
  };
  const world: World = {
    meshId: syncMesh,
    host: 'alpha',
    peers: () => peers,
    whyNoPeer: () => undefined,
    isEnrolled: (host) => host === 'alpha' || peers.includes(host),
    tip: () => undefined,
    linkAt: () => undefined,
    isDamaged: () => false,
    heldUpto: () => 0,
    trust: () => ({ hash: hashOf('7'), kept: hashOf('7') }),
    views: {
      tip: (host) => bench.held.get(host),
      isDamaged: (host) => bench.damaged.has(host),
      isOutdated: (host) => bench.outdated.has(host),
      isAwaited: (host) => bench.awaited.has(host),
    },
  };
  return bench;
}

function wanted(effects: readonly Effect[]): readonly string[] {
  return effects.flatMap((effect) => (effect.kind === 'fetch-views' ? [...effect.offered.keys()] : []));
}

function lastCycle(effects: readonly Effect[]): number {
  return effects.flatMap((effect) => (effect.kind === 'fetch-views' ? effect.cycle : [])).at(-1) ?? 0;
}

const good = { faults: new Map() };

describe('view journals in a cycle', () => {
  test('come last, once, and end the cycle', () => {
    const bench = open();
    const asked = bench.cycle('beta', { beta: tip(3) });
    expect(wanted(asked)).toEqual(['beta']);
    const done = bench.tell({ kind: 'views', peer: 'beta', cycle: lastCycle(asked), fetched: good });
    expect(done).toMatchObject([{ kind: 'outcome', outcome: { state: 'up', alarms: [] } }]);
  });

  test('are asked for with the next lines, or after ten minutes, or when somebody wants them; else not', () => {
    const bench = open();
    const first = bench.cycle('beta', { beta: tip(3) });
    bench.tell({ kind: 'views', peer: 'beta', cycle: lastCycle(first), fetched: good });
    bench.held.set('beta', tip(3));
    expect(wanted(bench.cycle('beta', { beta: tip(4, 'b') }))).toEqual([]);
    const lines = bench.cycle('beta', { beta: tip(4, 'b') }, { heads: { beta: tipOf('12') } });
    expect(lines.map(({ kind }) => kind)).toEqual(['heard', 'fetch-log']);
    const [fetch] = lines.filter((effect) => effect.kind === 'fetch-log');
    const after = bench.tell({
      kind: 'log',
      peer: 'beta',
      cycle: fetch?.cycle ?? 0,
      log: 'beta',
      fetched: { lines: 2 },
    });
    expect(wanted(after)).toEqual(['beta']);
    bench.tell({ kind: 'views', peer: 'beta', cycle: lastCycle(after), fetched: good });
    const asked = bench.cycle('beta', { beta: tip(4, 'b') }, { views: true });
    expect(wanted(asked)).toEqual(['beta']);
    bench.tell({ kind: 'views', peer: 'beta', cycle: lastCycle(asked), fetched: good });
    bench.at += viewFetchMs;
    expect(wanted(bench.cycle('beta', { beta: tip(4, 'b') }))).toEqual(['beta']);
  });

  test('of a host whose next line is awaited are asked for in every cycle, from a relay too; those of others are not', () => {
    const bench = open();
    const first = bench.cycle('beta', {});
    bench.tell({ kind: 'views', peer: 'beta', cycle: lastCycle(first), fetched: good });
    bench.held.set('beta', tip(3)).set('gamma', tip(3));
    const offered = { beta: tip(4, 'b'), gamma: tip(4, 'b') };
    expect(wanted(bench.cycle('beta', offered))).toEqual([]);
    bench.awaited.add('gamma');
    const asked = bench.cycle('beta', offered);
    expect(wanted(asked)).toEqual(['gamma']);
    bench.tell({ kind: 'views', peer: 'beta', cycle: lastCycle(asked), fetched: good });
    bench.held.set('gamma', tip(4, 'b'));
    expect(wanted(bench.cycle('beta', offered))).toEqual([]);
  });

  test('of a host that is reached itself are left to it, of others taken from a relay; strangers have none', () => {
    const bench = open();
    const offered = { beta: tip(1), gamma: tip(2), mallory: tip(9) };
    expect(wanted(bench.cycle('beta', offered))).toEqual(['beta', 'gamma']);
    const other = open();
    other.cycle('gamma', {});
    expect(wanted(other.cycle('beta', offered))).toEqual(['beta']);
  });

  test('that hold no more than ours are left, but for other notes of the host itself, and damage of ours', () => {
    const bench = open();
    bench.held.set('beta', tip(3)).set('gamma', tip(3));
    expect(wanted(bench.cycle('beta', { beta: tip(2, 'b'), gamma: { ...tip(3), oid: 'c'.repeat(40) } }))).toEqual([]);
    expect(wanted(bench.cycle('beta', { beta: { ...tip(3), oid: 'c'.repeat(40) } }, { views: true }))).toEqual([
      'beta',
    ]);
    const mended = open();
    mended.held.set('beta', tip(3));
    mended.damaged.add('beta');
    expect(wanted(mended.cycle('beta', { beta: tip(3) }))).toEqual(['beta']);
  });

  test('of a host that was rekeyed since are asked for however short, until a line of the new key is here', () => {
    const bench = open();
    bench.held.set('gamma', tip(3));
    const shorter = { gamma: tip(2, 'b') };
    expect(wanted(bench.cycle('beta', shorter, { views: true }))).toEqual([]);
    bench.outdated.add('gamma');
    const asked = bench.cycle('beta', shorter, { views: true });
    expect(wanted(asked)).toEqual(['gamma']);
    bench.tell({ kind: 'views', peer: 'beta', cycle: lastCycle(asked), fetched: good });
    expect(wanted(bench.cycle('beta', { gamma: tip(3, 'b') }, { views: true }))).toEqual(['gamma']);
    const same = open();
    same.held.set('gamma', tip(3));
    same.outdated.add('gamma');
    expect(wanted(same.cycle('beta', { gamma: { ...tip(3), oid: 'c'.repeat(40) } }, { views: true }))).toEqual([]);
  });

  test('of this host itself are taken when a peer holds more of them, or another line', () => {
    for (const [ours, theirs, takes] of [
      [undefined, tip(2), true],
      [tip(2), tip(3, 'b'), true],
      [tip(3), tip(3, 'b'), true],
      [tip(3), { ...tip(3), oid: 'c'.repeat(40) }, false],
      [tip(4), tip(3, 'b'), false],
    ] as const) {
      const bench = open();
      if (ours !== undefined) bench.held.set('alpha', ours);
      expect(wanted(bench.cycle('beta', { alpha: theirs }))).toEqual(takes ? ['alpha'] : []);
    }
  });

  test('that are bad are an alarm that refuses nobody, told again without fetching again', () => {
    const bench = open();
    const asked = bench.cycle('beta', { beta: tip(3) });
    const faults = new Map([['beta', { code: 'VIEW_CUT', detail: 'line 3 is not signed by beta' }]] as const);
    const alarms = [{ code: 'VIEW_CUT', peer: 'beta', log: 'beta' }];
    const told = bench.tell({ kind: 'views', peer: 'beta', cycle: lastCycle(asked), fetched: { faults } });
    expect(told).toMatchObject([{ kind: 'outcome', outcome: { state: 'up', alarms } }]);
    expect(told[0]).not.toMatchObject({ outcome: { reason: expect.anything() as unknown } });
    const again = bench.cycle('beta', { beta: tip(3) }, { views: true });
    expect(again.at(-1)).toMatchObject({ kind: 'outcome', outcome: { state: 'up', alarms } });
    // Another offer is another chance.
    expect(wanted(bench.cycle('beta', { beta: tip(4, 'b') }, { views: true }))).toEqual(['beta']);
  });

  test('of an answer that comes after its cycle was given up change nothing', () => {
    const bench = open();
    const asked = bench.cycle('beta', { beta: tip(3) });
    bench.at += 70_000;
    expect(bench.tell({ kind: 'time' })).toMatchObject([{ kind: 'give-up' }, { kind: 'outcome' }]);
    expect(bench.tell({ kind: 'views', peer: 'beta', cycle: lastCycle(asked), fetched: good })).toEqual([]);
  });
});

import { describe, expect, test } from 'vitest';
import { createFold, eventView, foldLines, readState, setCharter } from '../../../../src/core/fold/fold.ts';
import { skeletonOf } from '../../../../src/core/fold/skeleton.ts';
import type { Body } from '../../../../src/core/event.ts';
import type { PurgeSkeleton } from '../../../../src/core/trust/op-types.ts';
import {
  beliefsOf,
  fakeCharter,
  fakePorts,
  newWorld,
  readBeliefs,
  trust,
  usualCharter,
  type Beliefs,
  type World,
} from '../../../lib/fold-builders.ts';

type Level = 'unsigned' | 'delegated' | 'signed';

/** The world after a signer purged an event of it. */
function purged(world: World, id: string, level: Level): Beliefs {
  return beliefsOf(world, charterPurging(world, id, level));
}

function charterPurging(world: World, id: string, level: Level) {
  const body = world.lines.find((line) => line.id === id)?.body as Body;
  return fakeCharter({ ...usualCharter, purges: [{ target: skeletonOf(body, level) }] });
}

describe('T5: purged events', () => {
  test('a purged claim is told as purged, nowhere served, and its words are in nothing that the fold says', () => {
    const world = newWorld();
    const id = world.say('alpha', 'assert', 'note/one', { value: 'hunter2' });
    const { record, view, fold } = purged(world, id, 'unsigned');
    expect(view(id)).toMatchObject({ status: 'purged', body: null, subject: 'note/one', purge: { reason: 'secret' } });
    expect(record('note/one')).toMatchObject({ status: 'none', flags: ['purged'], counts: { purged: 1, live: 0 } });
    expect(
      JSON.stringify([
        ...readState(fold).records,
        [...fold.tree.buckets.values()].map((bucket) => [...bucket]),
        view(id),
      ]),
    ).not.toContain('hunter2');
  });

  test('folds the same whether the line still has the body or a hole, with an approval or without', () => {
    for (const sign of [undefined, 'craig', 'mallory']) {
      const world = newWorld();
      const old = world.say('beta', 'assert', 'note/one', { value: 'v1' });
      const id = world.say('alpha', 'assert', 'note/one', { value: 'v2', supersedes: [old] }, sign ? { sign } : {});
      const charter = charterPurging(world, id, sign === 'craig' ? 'signed' : 'unsigned');
      const holes = world.lines.map((line) => (line.id === id ? { ...line, body: null, fault: 'HOLE' } : line));
      const [whole, hole] = [world.lines, holes].map((lines) => beliefsOf({ lines } as never, charter));
      expect(readState(hole!.fold).root).toBe(readState(whole!.fold).root);
      expect(hole!.view(id)).toEqual(whole!.view(id));
    }
  });

  test('what a signed event withdrew stays withdrawn when the event is purged, and its word cannot be said again', () => {
    const world = newWorld();
    const wrong = world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    const retract = world.say('beta', 'retract', 'note/one', { supersedes: [wrong] }, { sign: 'craig' });
    const again = world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    const { view } = purged(world, retract, 'signed');
    expect(view(wrong).status).toBe('retracted');
    expect(view(again)).toMatchObject({ status: 'parked', reason: 'WITHDRAWN_KEY' });
  });

  test('also where no line carries the purged event any more', () => {
    const world = newWorld();
    const wrong = world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    const retract = world.say('beta', 'retract', 'note/one', { supersedes: [wrong] }, { sign: 'craig' });
    const charter = charterPurging(world, retract, 'signed');
    const lines = world.lines.filter(({ id }) => id !== retract);
    expect(beliefsOf({ lines }, charter).view(wrong).status).toBe('retracted');
    const empty = createFold(charter, trust, fakePorts);
    expect(eventView(empty, retract)).toMatchObject({ status: 'purged', lines: [], level: 'signed' });
  });

  test('of two purges that say the same, the one that the charter names now is told, as by a fold from nothing', () => {
    const world = newWorld();
    const id = world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    const later = charterPurging(world, id, 'unsigned');
    const purge = later.purges.get(id);
    const lower = {
      ...later,
      purges: new Map([[id, { ...purge, op: '0'.repeat(64), reason: 'legal' }]]),
    } as typeof later;
    const { fold, view } = beliefsOf(world, later);
    expect([...setCharter(fold, lower, trust).subjects]).toEqual(['note/one']);
    expect(view(id)).toEqual(beliefsOf(world, lower).view(id));
    expect(view(id).purge).toMatchObject({ op: '0'.repeat(64), reason: 'legal' });
  });

  test('an unsigned skeleton says nothing for a host in whose log the event does not stand', () => {
    const world = newWorld();
    const claim = world.say('beta', 'assert', 'note/one', { value: 'v1' });
    const forged = world.say('beta', 'retract', 'note/one', { supersedes: [claim] }, { log: 'gamma' });
    const { view } = purged(world, forged, 'unsigned');
    expect(view(forged).status).toBe('purged');
    expect(view(claim).status).toBe('served');
  });

  test('what is left of a signed event reaches every subject, as whoever purged it may', () => {
    const world = newWorld();
    const near = world.say('alpha', 'assert', 'note/one', { value: 'v' });
    const far = world.say('alpha', 'assert', 'note/two', { value: 'v' });
    const retract = world.say('beta', 'retract', 'note/one', { supersedes: [near, far].toSorted() }, { sign: 'craig' });
    const { view } = purged(world, retract, 'signed');
    expect([view(near).status, view(far).status]).toEqual(['retracted', 'retracted']);
  });

  test('the key of a purged claim still counts as withdrawn, by its digest alone', () => {
    const world = newWorld();
    const wrong = world.say('alpha', 'assert', 'note/one', { content: ' reach it\n directly ' });
    world.say('beta', 'retract', 'note/one', { supersedes: [wrong] }, { sign: 'craig' });
    const again = world.say('gamma', 'assert', 'note/one', { content: 'reach it directly' });
    expect(purged(world, wrong, 'unsigned').view(again)).toMatchObject({ status: 'parked', reason: 'WITHDRAWN_KEY' });
  });

  test('E8: what was purged is not served because somebody says it again, however late; another claim is', () => {
    const world = newWorld();
    const leak = world.say('alpha', 'assert', 'note/one', { value: 'hunter2' });
    const again = world.say('beta', 'assert', 'note/one', { value: 'hunter2' });
    const narrow = world.say('beta', 'assert', 'note/one', { value: 'hunter2', scope: 'web' });
    const { view, record } = purged(world, leak, 'unsigned');
    for (const id of [again, narrow]) expect(view(id)).toMatchObject({ status: 'parked', reason: 'WITHDRAWN_KEY' });
    expect(record('note/one')).toMatchObject({ status: 'parked', counts: { purged: 1 } });
    const edit = world.say('beta', 'assert', 'note/one', { value: 'changed', supersedes: [leak] });
    const after = purged(world, leak, 'unsigned');
    expect(after.record('note/one')).toMatchObject({ status: 'served', served: edit });
    expect(after.view(again)).toMatchObject({ status: 'parked' });
    const signed = world.say('beta', 'assert', 'note/two', { value: 'hunter2' }, { sign: 'craig' });
    expect(purged(world, leak, 'unsigned').view(signed).status, 'of another subject').toBe('served');
  });

  test('E8: a signer may say again what was purged', () => {
    const world = newWorld();
    const leak = world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    const again = world.say('beta', 'assert', 'note/one', { value: 'v1' }, { sign: 'craig' });
    expect(purged(world, leak, 'unsigned').record('note/one')).toMatchObject({ status: 'served', served: again });
  });

  test('a purged event that no log of its host proves takes no word away from others', () => {
    const world = newWorld();
    const leak = world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    const again = world.say('beta', 'assert', 'note/one', { value: 'v1' });
    const charter = charterPurging(world, leak, 'unsigned');
    const lines = world.lines.filter(({ id }) => id !== leak);
    expect(beliefsOf({ lines }, charter).view(again).status).toBe('served');
  });

  test('a purged revision does not stand: what it replaced is served again', () => {
    const world = newWorld();
    const old = world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    const revision = world.say('beta', 'assert', 'note/one', { value: 'v2', supersedes: [old] });
    expect(purged(world, revision, 'unsigned').record('note/one')).toMatchObject({ status: 'served', served: old });
  });

  test('a purged side is no side: the other one is served', () => {
    const world = newWorld();
    const kept = world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    const gone = world.say('beta', 'assert', 'note/one', { value: 'v2' });
    expect(purged(world, gone, 'unsigned').record('note/one')).toMatchObject({ status: 'served', served: kept });
  });

  test('no approval of a purged event is judged: it raises no alarm, and nobody can bring it back', () => {
    const world = newWorld();
    const id = world.say('alpha', 'assert', 'note/one', { value: 'v' });
    world.carry('gamma', id, { sign: 'craig', sshsig: 'bad' });
    world.carry('beta', id, { sign: 'craig' });
    const { view, alarms } = purged(world, id, 'unsigned');
    expect(view(id)).toMatchObject({ status: 'purged', level: 'unsigned', signers: [] });
    expect(alarms).toEqual([]);
  });

  test('a fold under a charter that purges something else is not asked to forget: it is made anew', () => {
    const world = newWorld();
    const id = world.say('alpha', 'assert', 'note/one', { value: 'v' });
    const { fold } = beliefsOf(world);
    expect(() => setCharter(fold, charterPurging(world, id, 'unsigned'), trust)).toThrow(/made anew/);
    expect(foldLines(fold, []).subjects.size).toBe(0);
  });
});

describe('R0.5: skeletons that close a circle', () => {
  /** The world after events were purged with these references in place of their own. */
  function misquoted(
    world: World,
    lies: Readonly<Record<string, Partial<Pick<PurgeSkeleton, 'supersedes' | 'basis' | 'level'>>>>,
  ) {
    const purges = Object.entries(lies).map(([id, lie]) => {
      const body = world.lines.find((line) => line.id === id)?.body as Body;
      return { target: { ...skeletonOf(body, 'unsigned'), ...lie } };
    });
    return fakeCharter({ ...usualCharter, purges });
  }

  test('a basis that leads back is passed over, on whichever way the events came', () => {
    const world = newWorld();
    const seen = world.say('alpha', 'assert', 'note/one', { value: 'a' }, {});
    const between = world.say('beta', 'assert', 'note/one', { value: 'a', basis: [seen] });
    const top = world.say('beta', 'assert', 'note/one', { value: 'a', basis: [between] });
    const page = world.say('alpha', 'assert', 'note/two', { value: 'x', lineage: 'untrusted' });
    const charter = misquoted(world, { [seen]: { basis: [page, top].toSorted() } });
    const { view, fold } = beliefsOf(world, charter);
    // What does not lead back still holds: the purged event rests on something untrusted, and so do all above it.
    expect([seen, between, top].map((id) => view(id).status)).toEqual(['purged', 'quarantined', 'quarantined']);
    const later = createFold(charter, trust, fakePorts);
    for (const line of world.lines.toSorted((a, b) => (a.log === b.log ? a.seq - b.seq : a.log < b.log ? 1 : -1)))
      foldLines(later, [line]);
    expect(readState(later).root).toBe(readState(fold).root);
  });

  test('one that names itself, and two that name each other, are purged like any other', () => {
    const world = newWorld();
    const self = world.say('alpha', 'assert', 'note/one', { value: 'a' });
    const [left, right] = ['b', 'c'].map((value) => world.say('beta', 'assert', 'note/two', { value })) as [
      string,
      string,
    ];
    const { view } = beliefsOf(
      world,
      misquoted(world, {
        [self]: { supersedes: [self], basis: [self] },
        [left]: { level: 'signed', supersedes: [right], basis: [right] },
        [right]: { level: 'signed', supersedes: [left], basis: [left] },
      }),
    );
    for (const id of [self, left, right]) expect(view(id)).toMatchObject({ status: 'purged', by: [] });
  });

  test('an edge withdraws what it names until the circle closes, and then no more', () => {
    const world = newWorld();
    const gone = world.say('alpha', 'retract', 'note/two', { supersedes: ['f'.repeat(64)] });
    const link = world.say('beta', 'assert', 'note/two', { value: 'm', basis: [gone] });
    const claim = world.say('beta', 'assert', 'note/one', { value: 'a', basis: [link] });
    const fold = createFold(misquoted(world, { [gone]: { level: 'signed', supersedes: [claim] } }), trust, fakePorts);
    const lines = world.lines.map((line) => (line.id === link ? { ...line, log: 'gamma', seq: 1 } : line));
    const renumbered = lines.map((line) => (line.id === claim ? { ...line, seq: 1 } : line));
    foldLines(
      fold,
      renumbered.filter(({ id }) => id !== link),
    );
    expect(readBeliefs(fold).view(claim)).toMatchObject({ status: 'retracted', by: [gone] });
    foldLines(
      fold,
      renumbered.filter(({ id }) => id === link),
    );
    expect(readBeliefs(fold).view(claim)).toMatchObject({ status: 'served', by: [] });
  });
});

describe('R6: pins', () => {
  test('only an approved pin has an effect, until a signer takes it back or it is purged', () => {
    const world = newWorld();
    world.say('alpha', 'assert', 'note/one', { value: 'v' });
    const own = world.say('alpha', 'pin', 'note/one');
    expect(beliefsOf(world).record('note/one').flags).toEqual([]);
    const pin = world.say('beta', 'pin', 'note/one', {}, { sign: 'craig' });
    expect(beliefsOf(world).record('note/one').flags).toEqual(['pinned']);
    expect(purged(world, pin, 'signed').record('note/one').flags).toEqual(['purged']);
    world.say('gamma', 'retract', 'note/one', { supersedes: [pin, own].toSorted() });
    expect(beliefsOf(world).record('note/one').flags).toEqual(['pinned']);
    world.say('gamma', 'retract', 'note/one', { supersedes: [pin] }, { sign: 'craig' });
    expect(beliefsOf(world).record('note/one').flags).toEqual([]);
  });

  test('a pin counts in its own scope', () => {
    const world = newWorld();
    world.say('alpha', 'assert', 'note/one', { value: 'v' });
    world.say('beta', 'pin', 'note/one', { scope: 'web' }, { sign: 'craig' });
    const { record } = beliefsOf(world);
    expect([record('note/one').flags, record('note/one', 'web').flags]).toEqual([[], ['pinned']]);
  });
});

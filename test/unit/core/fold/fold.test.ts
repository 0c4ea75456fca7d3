import { describe, expect, test } from 'vitest';
import {
  createFold,
  eventsOf,
  eventView,
  foldLines,
  idsWithPrefix,
  readState,
  setCharter,
  subjectsOf,
  type Fold,
} from '../../../../src/core/fold/fold.ts';
import { dumpFold } from '../../../lib/fold-checks.ts';
import {
  beliefsOf,
  fakeCharter,
  fakePorts,
  newWorld,
  readBeliefs,
  trust,
  usualCharter,
  type World,
} from '../../../lib/fold-builders.ts';

function emptyFold(): Fold {
  return createFold(fakeCharter(), trust, fakePorts);
}

/** The state after the whole world at once, and after one line at a time. */
function bothWays(world: World): readonly [Fold, Fold] {
  const [whole, single] = [emptyFold(), emptyFold()];
  foldLines(whole, world.lines);
  for (const line of world.lines) foldLines(single, [line]);
  return [whole, single];
}

describe('fold', () => {
  test('an empty fold has no records and a root', () => {
    const state = readState(emptyFold());
    expect(state.records.size).toBe(0);
    expect(state.root).toMatch(/^[0-9a-f]{64}$/);
  });

  test('lines taken before change nothing and touch nothing', () => {
    const world = newWorld();
    world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    const fold = emptyFold();
    foldLines(fold, world.lines);
    const before = dumpFold(fold);
    expect([...foldLines(fold, world.lines).subjects]).toEqual([]);
    expect(dumpFold(fold)).toBe(before);
  });

  test('a gap in a log is a programmer error', () => {
    const world = newWorld();
    world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    world.say('alpha', 'assert', 'note/one', { value: 'v2' });
    expect(() => foldLines(emptyFold(), world.lines.slice(1))).toThrow('lines of a log are folded in order');
  });

  test('names the subjects that it worked out anew, and no others', () => {
    const world = newWorld();
    for (const name of ['one', 'two', 'three']) world.say('alpha', 'assert', `note/${name}`, { value: 'v' });
    const fold = emptyFold();
    foldLines(fold, world.lines);
    world.say('beta', 'assert', 'note/two', { value: 'w' });
    expect([...foldLines(fold, world.lines).subjects]).toEqual(['note/two']);
  });

  test('an approval that comes later reaches the subjects of targets and of everything derived', () => {
    const world = newWorld();
    const fold = emptyFold();
    const page = world.say('alpha', 'assert', 'note/page', { value: 'p', lineage: 'untrusted' });
    const derived = world.say('beta', 'assert', 'note/derived', { value: 'v', basis: [page] });
    const target = world.say('beta', 'assert', 'note/target', { value: 'v' });
    const word = world.say('gamma', 'retract', 'note/word', { supersedes: [target] });
    foldLines(fold, world.lines);
    expect(readBeliefs(fold).view(derived).status).toBe('quarantined');
    expect(readBeliefs(fold).view(target).status).toBe('served');
    world.carry('alpha', page, { sign: 'craig' });
    world.carry('alpha', word, { sign: 'craig' });
    foldLines(fold, world.lines);
    expect(readBeliefs(fold).view(derived).status).toBe('served');
    expect(readBeliefs(fold).view(target).status).toBe('retracted');
  });

  test('lists events by subject and by prefix, in order', () => {
    const world = newWorld();
    const ids = ['v1', 'v2'].map((value) => world.say('alpha', 'assert', 'note/one', { value }));
    const hidden = world.say(
      'beta',
      'assert',
      'note/one',
      { value: 'v3', supersedes: ['0'.repeat(64)] },
      { fault: 'HOLE' },
    );
    const { fold } = beliefsOf(world);
    expect(eventsOf(fold, 'note/one')).toEqual(ids.toSorted());
    expect(eventsOf(fold, '')).toEqual([hidden]);
    expect(eventsOf(fold, 'note/none')).toEqual([]);
    expect(subjectsOf(fold)).toEqual(['note/one']);
    const [first = ''] = ids;
    expect(idsWithPrefix(fold, first.slice(0, 12), 5)).toEqual([first]);
    expect(idsWithPrefix(fold, '', 2)).toHaveLength(2);
  });

  test('an id that is only named is unknown until a line carries it', () => {
    const world = newWorld();
    const unseen = world.keep('alpha', 'assert', 'note/one', { value: 'v1' });
    world.say('alpha', 'retract', 'note/one', { supersedes: [unseen] });
    const { fold } = beliefsOf(world);
    expect(eventView(fold, unseen)).toBeUndefined();
    expect(idsWithPrefix(fold, unseen, 5)).toEqual([]);
  });
});

describe('fold: another charter', () => {
  test('gives what a fold from scratch under it gives, there and back', () => {
    const world = newWorld();
    const claim = world.say('alpha', 'assert', 'note/two', { value: 'v1' }, { sign: 'bob' });
    world.say('beta', 'assert', 'note/two', { value: 'v2', audience: 'staff' });
    const without = fakeCharter({ signers: { craig: ['*'] }, audiences: { operator: [] } });
    const fold = emptyFold();
    foldLines(fold, world.lines);
    const before = dumpFold(fold);
    setCharter(fold, without, trust);
    expect(readBeliefs(fold).view(claim)).toMatchObject({ status: 'held', reason: 'UNVERIFIABLE' });
    setCharter(fold, fakeCharter(), trust);
    expect(dumpFold(fold)).toBe(before);
  });

  test('works nothing out anew when only hosts, policy or descriptions differ, and the root moves all the same', () => {
    const world = newWorld();
    world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    const { fold } = beliefsOf(world);
    const root = readState(fold).root;
    const charter = fakeCharter();
    const policy = new Map([['index.bytes', { op: '', by: { signer: '', key: '' }, value: 1 }]]);
    expect(setCharter(fold, { ...charter, policy }, trust).subjects.size).toBe(0);
    expect(readState(fold).root).not.toBe(root);
    expect(setCharter(fold, charter, trust).subjects.size).toBe(0);
    expect(readState(fold).root).toBe(root);
  });

  test('asks for the verdicts of changed signers only', () => {
    const world = newWorld();
    world.say('alpha', 'assert', 'note/two', { value: 'v1' }, { sign: 'bob' });
    world.say('alpha', 'assert', 'note/one', { value: 'v1' }, { sign: 'craig' });
    world.carry('beta', world.say('beta', 'assert', 'note/one', { value: 'v1' }, { sign: 'craig' }), { sign: 'craig' });
    const asked: string[] = [];
    const fold = createFold(fakeCharter(), trust, {
      approve: (charter, auth, message, subject) => {
        asked.push(auth.signer);
        return fakePorts.approve(charter, auth, message, subject);
      },
    });
    foldLines(fold, world.lines);
    expect(asked).toEqual(['bob', 'craig', 'craig']);
    setCharter(fold, fakeCharter({ signers: { ...usualCharter.signers, bob: ['note/*'] } }), trust);
    expect(asked.slice(3)).toEqual(['bob']);
  });
});

describe('fold: long and wide', () => {
  const steps = 50_000;

  test('50 000 corrections in one chain, and a revision on top, without recursion', () => {
    const world = newWorld();
    let last = world.say('alpha', 'assert', 'note/one', { value: 'v' });
    for (let step = 1; step < steps; step += 1)
      last = world.say('alpha', 'assert', 'note/one', { value: `v${step}`, supersedes: [last] });
    const top = world.say('beta', 'assert', 'note/one', { value: 'top', supersedes: [last] });
    expect(beliefsOf(world).record('note/one')).toMatchObject({ status: 'served', served: top });
  });

  test('50 000 claims that each cite the one before, whose root moves', () => {
    const world = newWorld();
    const observed = world.say('alpha', 'observe', 'note/one', { home: 'file:a', digest: 'd1' });
    let last = observed;
    for (let step = 0; step < steps; step += 1)
      last = world.say('alpha', 'assert', 'note/one', { value: 'v', basis: [last] });
    const fold = emptyFold();
    foldLines(fold, world.lines);
    expect(eventView(fold, last)?.stale).toBe(false);
    world.say('alpha', 'observe', 'note/one', { home: 'file:a', digest: 'd2' });
    foldLines(fold, world.lines);
    expect(eventView(fold, last)?.stale).toBe(true);
  });

  test('50 000 heirs of a reviser, each retracted but the last', () => {
    // alpha v0 <- beta v1 <- beta v1' (R), beta v1'' (R), …
    const world = newWorld();
    const old = world.say('alpha', 'assert', 'note/one', { value: 'v0' });
    const reviser = world.say('beta', 'assert', 'note/one', { value: 'v1', supersedes: [old] });
    for (let step = 0; step < steps / 2; step += 1) {
      const heir = world.say('beta', 'assert', 'note/one', { value: 'v1', supersedes: [reviser] });
      world.say('beta', 'retract', 'note/one', { supersedes: [heir] });
    }
    expect(beliefsOf(world).record('note/one').served).toBe(old);
    const heir = world.say('beta', 'assert', 'note/one', { value: 'v1', supersedes: [reviser] });
    expect(beliefsOf(world).record('note/one').served).toBe(heir);
  });

  test('10 000 revisions that hosts hand to each other cost no walk each', () => {
    const world = newWorld();
    let last = world.say('alpha', 'assert', 'note/one', { value: 'v' });
    for (let step = 1; step < 10_000; step += 1) {
      last = world.say(step % 2 === 0 ? 'alpha' : 'beta', 'assert', 'note/one', {
        value: `v${step}`,
        supersedes: [last],
      });
    }
    expect(beliefsOf(world).record('note/one')).toMatchObject({
      status: 'served',
      served: last,
      counts: { corrections: 9_999 },
    });
  });

  test('rows of bits are handed on right where branches meet again', () => {
    //            <- beta v2 <-
    // v0 <- v1                  alpha v3 <- beta v4
    //            <- gamma v2 <-
    const world = newWorld();
    const zero = world.say('alpha', 'assert', 'note/one', { value: 'v0' });
    const one = world.say('beta', 'assert', 'note/one', { value: 'v1', supersedes: [zero] });
    const two = ['alpha', 'gamma'].map((host) =>
      world.say(host, 'assert', 'note/one', { value: 'v2', supersedes: [one] }),
    );
    const three = world.say('beta', 'assert', 'note/one', { value: 'v3', supersedes: two.toSorted() });
    const four = world.say('gamma', 'assert', 'note/one', { value: 'v4', supersedes: [three] });
    for (const fold of bothWays(world)) expect(readBeliefs(fold).record('note/one').served).toBe(four);
  });
});

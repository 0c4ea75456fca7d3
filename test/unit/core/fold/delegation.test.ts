import { describe, expect, test } from 'vitest';
import { foldLines, setCharter } from '../../../../src/core/fold/fold.ts';
import { beliefsOf, fakeCharter, newWorld, readBeliefs, usualCharter, trust } from '../../../lib/fold-builders.ts';

const under = (...delegations: readonly object[]): ReturnType<typeof fakeCharter> =>
  fakeCharter({ ...usualCharter, delegations: delegations as never });

describe('R1: delegated lines', () => {
  test('from the first to the last line of the stretch, and not beside it', () => {
    const world = newWorld();
    const ids = [1, 2, 3, 4].map((n) => world.say('beta', 'assert', `note/n${n}`, { value: 'v' }));
    const { view } = beliefsOf(world, under({ host: 'beta', from: 2, upto: 3 }));
    expect(ids.map((id) => view(id).level)).toEqual(['unsigned', 'delegated', 'delegated', 'unsigned']);
  });

  test('only the subjects and kinds that the delegation names', () => {
    const world = newWorld();
    const ids = [
      world.say('beta', 'assert', 'note/one', { value: 'v' }),
      world.say('beta', 'assert', 'policy/one', { value: 'v' }),
      world.say('beta', 'lesson', 'note/one', { value: 'v' }),
    ];
    const { view } = beliefsOf(world, under({ host: 'beta', upto: 9, subjects: ['note/*'], kinds: ['assert'] }));
    expect(ids.map((id) => view(id).level)).toEqual(['delegated', 'unsigned', 'unsigned']);
  });

  test('nothing in the log of another host, with whatever approval, and no body of another host', () => {
    const world = newWorld();
    const carried = world.say('beta', 'assert', 'note/one', { value: 'v' }, { log: 'gamma' });
    const foreign = world.say('gamma', 'assert', 'note/two', { value: 'v' }, { log: 'beta' });
    const junk = world.say('beta', 'assert', 'note/three', { value: 'v' }, { sign: 'mallory' });
    const { view } = beliefsOf(world, under({ host: 'beta', upto: 9 }));
    for (const id of [carried, foreign, junk]) expect(view(id)).toMatchObject({ status: 'held', level: 'unsigned' });
  });

  test('under the key that was delegated to: a rekey ends it, and the new key needs its own', () => {
    const world = newWorld();
    const ids = [1, 2].map((n) => world.say('beta', 'assert', `note/n${n}`, { value: 'v' }));
    const levels = (key: string): readonly string[] => {
      const input = { ...usualCharter, rekeyed: { beta: 1 }, delegations: [{ host: 'beta', upto: 9, key }] };
      const { view } = beliefsOf(world, fakeCharter(input as never));
      return ids.map((id) => view(id).level);
    };
    expect(levels('first')).toEqual(['delegated', 'unsigned']);
    expect(levels('second')).toEqual(['unsigned', 'delegated']);
  });

  test('outranks unsigned, and never equals signed', () => {
    const world = newWorld();
    world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    const delegated = world.say('beta', 'assert', 'note/one', { value: 'v2' });
    const charter = under({ host: 'beta', upto: 9 });
    expect(beliefsOf(world, charter).record('note/one')).toMatchObject({ status: 'contested', served: delegated });
    const signed = world.say('gamma', 'assert', 'note/one', { value: 'v3' }, { sign: 'craig' });
    const { record, view } = beliefsOf(world, charter);
    expect(record('note/one')).toMatchObject({ status: 'contested', served: signed });
    expect(view(delegated)).toMatchObject({ status: 'parked', reason: 'UNSIGNED_CONTRADICTS_SIGNED' });
  });

  test('cannot reach signed truth: the attempt parks and alarms like an unsigned one', () => {
    const world = newWorld();
    const signed = world.say('gamma', 'assert', 'note/one', { value: 'v1' }, { sign: 'craig' });
    const attempt = world.say('beta', 'assert', 'note/one', { value: 'v2', supersedes: [signed] });
    const { record, view, alarms } = beliefsOf(world, under({ host: 'beta', upto: 9 }));
    expect(record('note/one')).toMatchObject({ status: 'served', served: signed });
    expect(view(attempt)).toMatchObject({ level: 'delegated', status: 'parked', reason: 'UNSIGNED_OVER_SIGNED' });
    expect(alarms).toEqual(['UNSIGNED_OVER_SIGNED note/one beta']);
  });

  test('does not promote: what rests on untrusted text stays quarantined', () => {
    const world = newWorld();
    const page = world.say('alpha', 'assert', 'note/one', { value: 'v', lineage: 'untrusted' });
    const derived = world.say('beta', 'assert', 'note/two', { value: 'v', basis: [page] });
    expect(beliefsOf(world, under({ host: 'beta', upto: 9 })).view(derived)).toMatchObject({
      level: 'delegated',
      status: 'quarantined',
    });
  });

  test("does not pin, says not again what a signer withdrew, and cannot take back another host's word", () => {
    const world = newWorld();
    const wrong = world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    world.say('gamma', 'retract', 'note/one', { supersedes: [wrong] }, { sign: 'craig' });
    const again = world.say('beta', 'assert', 'note/one', { value: 'v1' });
    const other = world.say('alpha', 'assert', 'note/two', { value: 'v' });
    world.say('beta', 'retract', 'note/two', { supersedes: [other] });
    world.say('beta', 'pin', 'note/two');
    const { record, view } = beliefsOf(world, under({ host: 'beta', upto: 9 }));
    expect(view(again)).toMatchObject({ level: 'delegated', status: 'parked', reason: 'WITHDRAWN_KEY' });
    expect(record('note/two')).toMatchObject({ status: 'served', served: other, flags: [] });
  });

  test('revises an undisputed unsigned claim; an unsigned one does not revise it', () => {
    const world = newWorld();
    const old = world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    const delegated = world.say('beta', 'assert', 'note/one', { value: 'v2', supersedes: [old] });
    const charter = under({ host: 'beta', upto: 9 });
    expect(beliefsOf(world, charter).record('note/one')).toMatchObject({ status: 'served', served: delegated });
    world.say('alpha', 'assert', 'note/one', { value: 'v3', supersedes: [delegated] });
    expect(beliefsOf(world, charter).record('note/one')).toMatchObject({ status: 'contested', served: delegated });
  });

  test('a delegation that comes or ends later touches the lines of its stretch, and them alone', () => {
    const world = newWorld();
    const id = world.say('beta', 'assert', 'note/one', { value: 'v' });
    world.say('beta', 'assert', 'note/two', { value: 'v' });
    const { fold } = beliefsOf(world);
    expect([...setCharter(fold, under({ host: 'beta', upto: 1 }), trust).subjects]).toEqual(['note/one']);
    expect(readBeliefs(fold).view(id).level).toBe('delegated');
    expect([...setCharter(fold, fakeCharter(), trust).subjects]).toEqual(['note/one']);
    expect(readBeliefs(fold).view(id).level).toBe('unsigned');
    expect(foldLines(fold, world.lines).subjects.size).toBe(0);
  });
});

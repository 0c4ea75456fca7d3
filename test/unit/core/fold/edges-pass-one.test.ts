import { describe, expect, test } from 'vitest';
import { beliefsOf, newWorld } from '../../../lib/fold-builders.ts';

describe('R3 pass 1: edges by authority', () => {
  test('a signed event withdraws anything on any subject that its signer covers', () => {
    const world = newWorld();
    const claim = world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    const elsewhere = world.say('beta', 'assert', 'policy/one', { value: 'v1' }, { sign: 'craig' });
    const word = world.say(
      'gamma',
      'retract',
      'note/two',
      { supersedes: [claim, elsewhere].toSorted() },
      { sign: 'craig' },
    );
    const { view } = beliefsOf(world);
    expect([claim, elsewhere].map((id) => view(id))).toMatchObject([
      { status: 'retracted', by: [word] },
      { status: 'retracted', by: [word] },
    ]);
  });

  test('a signature covers both ends or the edge has no effect', () => {
    const world = newWorld();
    const claim = world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    world.say('alpha', 'retract', 'note/two', { supersedes: [claim] }, { sign: 'bob' });
    expect(beliefsOf(world).view(claim).status).toBe('served');
  });

  test('two signers who each cover one end do not make an edge', () => {
    const world = newWorld();
    const claim = world.say('alpha', 'assert', 'note/one', { value: 'v1' }, { sign: 'craig' });
    const word = world.keep('alpha', 'retract', 'note/two', { supersedes: [claim] });
    world.carry('alpha', word, { sign: 'bob' });
    const before = beliefsOf(world);
    expect(before.view(claim).status).toBe('served');
    world.carry('alpha', word, { sign: 'craig' });
    expect(beliefsOf(world).view(claim).status).toBe('retracted');
  });

  test('a host revises and retracts its own claims; a superseded superseder revives nothing', () => {
    // v1 <- v2 <- R
    const world = newWorld();
    const first = world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    const second = world.say('alpha', 'assert', 'note/one', { value: 'v2', supersedes: [first] });
    const retract = world.say('alpha', 'retract', 'note/one', { supersedes: [second] });
    const { record, view } = beliefsOf(world);
    expect(record('note/one')).toMatchObject({ status: 'none', served: null });
    expect(view(first)).toMatchObject({ status: 'superseded', by: [second] });
    expect(view(second)).toMatchObject({ status: 'retracted', by: [retract] });
  });

  test('an own edge to another subject has no effect', () => {
    const world = newWorld();
    const claim = world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    world.say('alpha', 'retract', 'note/two', { supersedes: [claim] });
    expect(beliefsOf(world).view(claim).status).toBe('served');
  });

  test('an unsigned supersession of signed truth parks, has no effect and alarms; even by the same host', () => {
    for (const host of ['alpha', 'beta']) {
      const world = newWorld();
      const truth = world.say('alpha', 'assert', 'note/one', { value: 'v1' }, { sign: 'craig' });
      const attempt = world.say(host, 'assert', 'note/one', { value: 'v2', supersedes: [truth] });
      const beliefs = beliefsOf(world);
      expect(beliefs.record('note/one')).toMatchObject({
        status: 'served',
        served: truth,
        parked: { first: [attempt] },
      });
      expect(beliefs.view(attempt)).toMatchObject({ status: 'parked', reason: 'UNSIGNED_OVER_SIGNED' });
      expect(beliefs.alarms).toEqual([`UNSIGNED_OVER_SIGNED note/one ${host}`]);
    }
  });

  test('an unsigned retraction of signed truth parks too', () => {
    const world = newWorld();
    const truth = world.say('alpha', 'assert', 'note/one', { value: 'v1' }, { sign: 'craig' });
    const attempt = world.say('beta', 'retract', 'note/one', { supersedes: [truth] });
    const beliefs = beliefsOf(world);
    expect(beliefs.record('note/one')).toMatchObject({ status: 'served', served: truth, parked: { count: 0 } });
    expect(beliefs.view(attempt)).toMatchObject({ status: 'parked', reason: 'UNSIGNED_OVER_SIGNED' });
  });

  test('an event that aims above itself bears none of its edges', () => {
    // own <- E -> truth (signed)
    const world = newWorld();
    const truth = world.say('alpha', 'assert', 'note/one', { value: 'v1' }, { sign: 'craig' });
    const own = world.say('beta', 'assert', 'note/one', { value: 'v1' });
    world.say('beta', 'assert', 'note/one', { value: 'v2', supersedes: [own, truth].toSorted() });
    expect(beliefsOf(world).view(own).status).toBe('corroborates');
  });

  test('aiming at signed truth that a signer withdrew parks nothing', () => {
    const world = newWorld();
    const old = world.say('alpha', 'assert', 'note/one', { value: 'v1' }, { sign: 'craig' });
    world.say('alpha', 'retract', 'note/one', { supersedes: [old] }, { sign: 'craig' });
    const claim = world.say('beta', 'assert', 'note/one', { value: 'v2', supersedes: [old] });
    const beliefs = beliefsOf(world);
    expect(beliefs.record('note/one')).toMatchObject({ status: 'served', served: claim });
    expect(beliefs.alarms).toEqual([]);
  });

  test('questions close questions, decisions close decisions and questions, nothing else closes by them', () => {
    const world = newWorld();
    const claim = world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    const question = world.say('alpha', 'question', 'note/one', { content: 'why?' });
    const decision = world.say('alpha', 'decision', 'note/one', { content: 'because' });
    const again = world.say('alpha', 'question', 'note/one', {
      content: 'really?',
      supersedes: [question, claim, decision].toSorted(),
    });
    const settled = world.say('alpha', 'decision', 'note/one', {
      content: 'yes',
      supersedes: [again, claim, decision].toSorted(),
    });
    const { view } = beliefsOf(world);
    expect(view(question)).toMatchObject({ status: 'closed', by: [again] });
    expect(view(again)).toMatchObject({ status: 'closed', by: [settled] });
    expect(view(decision)).toMatchObject({ status: 'superseded', by: [settled] });
    expect(view(claim).status).toBe('served');
  });

  test('a proposal never supersedes, and never parks', () => {
    const world = newWorld();
    const truth = world.say('alpha', 'assert', 'note/one', { value: 'v1' }, { sign: 'craig' });
    const own = world.say('beta', 'assert', 'note/two', { value: 'v1' });
    const proposal = world.say('beta', 'propose', 'note/one', { proposes: 'assert', value: 'v2', supersedes: [truth] });
    world.say('beta', 'propose', 'note/two', { proposes: 'assert', value: 'v2', supersedes: [own] });
    const beliefs = beliefsOf(world);
    expect(beliefs.view(proposal).status).toBe('recorded');
    expect(beliefs.view(own).status).toBe('served');
    expect(beliefs.record('note/one')).toMatchObject({ status: 'served', served: truth, counts: { proposals: 1 } });
    expect(beliefs.alarms).toEqual([]);
  });

  test('a target that nobody showed yet is remembered: DANGLING until it comes, then the edge is judged', () => {
    const world = newWorld();
    const late = world.keep('alpha', 'assert', 'note/one', { value: 'v1' });
    const claim = world.say('alpha', 'assert', 'note/one', { value: 'v2', supersedes: [late] });
    expect(beliefsOf(world).notices).toEqual(['DANGLING note/one alpha']);
    world.carry('alpha', late);
    const beliefs = beliefsOf(world);
    expect(beliefs.notices).toEqual([]);
    expect(beliefs.view(late)).toMatchObject({ status: 'superseded', by: [claim] });
  });
});

import { describe, expect, test } from 'vitest';
import { beliefsOf, newWorld, type Beliefs, type World } from '../../../lib/fold-builders.ts';

const subject = 'note/one';

function served(world: World, scope = '*'): string | null {
  return beliefsOf(world).record(subject, scope).served;
}

function parked(beliefs: Beliefs, scope = '*'): readonly string[] {
  return beliefs.record(subject, scope).parked.first;
}

describe('R3 pass 2: revisions between hosts', () => {
  test('an agent can revise an agreed belief, whoever wrote it, and it is noticed', () => {
    // alpha v1 <- beta v2
    const world = newWorld();
    const first = world.say('alpha', 'assert', subject, { value: 'v1' });
    const second = world.say('beta', 'assert', subject, { value: 'v2', supersedes: [first] });
    const beliefs = beliefsOf(world);
    expect(beliefs.record(subject)).toMatchObject({ status: 'served', served: second, flags: ['revised'] });
    expect(beliefs.view(first)).toMatchObject({ status: 'superseded', reason: 'REVISED', by: [second] });
    expect(beliefs.notices).toEqual(['REVISED note/one beta']);
  });

  test('when the reviser retracts, the revised claim is served again', () => {
    // alpha v1 <- beta v2 <- beta R
    const world = newWorld();
    const first = world.say('alpha', 'assert', subject, { value: 'v1' });
    const second = world.say('beta', 'assert', subject, { value: 'v2', supersedes: [first] });
    world.say('beta', 'retract', subject, { supersedes: [second] });
    const beliefs = beliefsOf(world);
    expect(beliefs.record(subject)).toMatchObject({ status: 'served', served: first });
    expect(beliefs.notices).toEqual([]);
  });

  test("a claim of covering scope carries the reviser's word on", () => {
    // alpha v1 <- beta v2 <- beta v3
    const world = newWorld();
    const first = world.say('alpha', 'assert', subject, { value: 'v1' });
    const second = world.say('beta', 'assert', subject, { value: 'v2', supersedes: [first] });
    const third = world.say('beta', 'assert', subject, { value: 'v3', supersedes: [second] });
    expect(served(world)).toBe(third);
  });

  test('a claim of narrower scope does not: the revised claim returns', () => {
    // alpha v1 <- beta v2 <- beta v3 (web)
    const world = newWorld();
    const first = world.say('alpha', 'assert', subject, { value: 'v1' });
    const second = world.say('beta', 'assert', subject, { value: 'v2', supersedes: [first] });
    world.say('beta', 'assert', subject, { value: 'v3', scope: 'web', supersedes: [second] });
    expect(served(world)).toBe(first);
    expect(beliefsOf(world).record(subject, 'web').status).toBe('parked');
  });

  test('a signed withdrawal of the reviser brings the revised claim back, a signed claim that says the same does not', () => {
    const world = newWorld();
    const first = world.say('alpha', 'assert', subject, { value: 'v1' });
    const second = world.say('beta', 'assert', subject, { value: 'v2', supersedes: [first] });
    const word = world.say('beta', 'retract', subject, { supersedes: [second] }, { sign: 'craig' });
    expect(served(world)).toBe(first);
    const signed = world.say('gamma', 'assert', subject, { value: 'v2', supersedes: [word] }, { sign: 'craig' });
    const beliefs = beliefsOf(world);
    expect(beliefs.record(subject)).toMatchObject({ status: 'served', served: signed });
    expect(beliefs.view(first).status).toBe('superseded');
  });

  test('nobody arbitrates: a third host that supersedes both sides of a dispute changes nothing', () => {
    // alpha v1 <- gamma v9 -> beta v2
    const world = newWorld();
    const one = world.say('alpha', 'assert', subject, { value: 'v1' });
    const two = world.say('beta', 'assert', subject, { value: 'v2' });
    const both = world.say('gamma', 'assert', subject, { value: 'v9', supersedes: [one, two].toSorted() });
    const beliefs = beliefsOf(world);
    expect(beliefs.record(subject)).toMatchObject({ status: 'parked', served: null });
    expect(parked(beliefs)).toEqual([one, two, both].toSorted());
  });

  test('a party does not settle its own dispute', () => {
    // alpha v1 <- beta v3 -> beta v2
    const world = newWorld();
    const one = world.say('alpha', 'assert', subject, { value: 'v1' });
    const two = world.say('beta', 'assert', subject, { value: 'v2' });
    world.say('beta', 'assert', subject, { value: 'v3', supersedes: [one, two].toSorted() });
    expect(parked(beliefsOf(world))).toContain(one);
  });

  test('withdrawing its own side first does not help: what was said still disputes', () => {
    // beta v2 <- beta R;  alpha v1 <- beta v3
    const world = newWorld();
    const one = world.say('alpha', 'assert', subject, { value: 'v1' });
    const two = world.say('beta', 'assert', subject, { value: 'v2' });
    world.say('beta', 'retract', subject, { supersedes: [two] });
    const three = world.say('beta', 'assert', subject, { value: 'v3', supersedes: [one] });
    expect(parked(beliefsOf(world))).toEqual([one, three].toSorted());
  });

  test('a contradiction that arrives late voids the edge, and all sides park', () => {
    // alpha v1 <- beta v2;  gamma v3
    const world = newWorld();
    const first = world.say('alpha', 'assert', subject, { value: 'v1' });
    const second = world.say('beta', 'assert', subject, { value: 'v2', supersedes: [first] });
    const late = world.say('gamma', 'assert', subject, { value: 'v3' });
    expect(parked(beliefsOf(world))).toEqual([first, second, late].toSorted());
  });

  test('giving in clears the park: CONCEDED names who did', () => {
    const world = newWorld();
    const one = world.say('alpha', 'assert', subject, { value: 'v1' });
    const two = world.say('beta', 'assert', subject, { value: 'v2' });
    world.say('alpha', 'retract', subject, { supersedes: [one] });
    const beliefs = beliefsOf(world);
    expect(beliefs.record(subject)).toMatchObject({ status: 'served', served: two, flags: ['conceded'] });
    expect(beliefs.notices).toEqual(['CONCEDED note/one alpha']);
  });

  test('revising its own claim to what the other says is giving in too', () => {
    const world = newWorld();
    const one = world.say('alpha', 'assert', subject, { value: 'v1' });
    world.say('beta', 'assert', subject, { value: 'v2' });
    world.say('alpha', 'assert', subject, { value: 'v2', supersedes: [one] });
    const beliefs = beliefsOf(world);
    expect(beliefs.record(subject).status).toBe('served');
    expect(beliefs.notices).toEqual(['CONCEDED note/one alpha']);
  });

  test('an ordinary correction of its own is no concession, and a revised claim that is retracted is none', () => {
    // alpha v0 <- alpha v1 <- beta v2, and alpha retracts v1
    const world = newWorld();
    const zero = world.say('alpha', 'assert', subject, { value: 'v0' });
    const one = world.say('alpha', 'assert', subject, { value: 'v1', supersedes: [zero] });
    world.say('beta', 'assert', subject, { value: 'v2', supersedes: [one] });
    world.say('alpha', 'retract', subject, { supersedes: [one] });
    expect(beliefsOf(world).notices).toEqual(['REVISED note/one beta']);
  });

  test('revisions follow each other from host to host', () => {
    // alpha v1 <- beta v2 <- gamma v3 <- alpha v4
    const world = newWorld();
    let last = world.say('alpha', 'assert', subject, { value: 'v1' });
    for (const [host, value] of [
      ['beta', 'v2'],
      ['gamma', 'v3'],
      ['alpha', 'v4'],
    ] as const) {
      last = world.say(host, 'assert', subject, { value, supersedes: [last] });
    }
    expect(served(world)).toBe(last);
  });

  test('two hosts that revise alike agree, and a fourth claim over both is a revision', () => {
    //          v1 <- beta v2 <-
    // alpha v0 <               \ alpha v3
    //          v1 <- gamma v2 <-
    const world = newWorld();
    const zero = world.say('alpha', 'assert', subject, { value: 'v0' });
    const one = world.say('alpha', 'assert', subject, { value: 'v1', supersedes: [zero] });
    const two = world.say('beta', 'assert', subject, { value: 'v2', supersedes: [one] });
    const same = world.say('gamma', 'assert', subject, { value: 'v2', supersedes: [one] });
    expect(beliefsOf(world).record(subject)).toMatchObject({ served: two, corroboration: { ids: { first: [same] } } });
    const three = world.say('alpha', 'assert', subject, { value: 'v3', supersedes: [two, same].toSorted() });
    expect(served(world)).toBe(three);
    const four = world.say('beta', 'assert', subject, { value: 'v4', supersedes: [three] });
    expect(served(world)).toBe(four);
  });

  test('claims of the same key, and claims of other scopes, do not dispute', () => {
    const world = newWorld();
    const one = world.say('alpha', 'assert', subject, { value: 'v1', scope: 'web' });
    world.say('gamma', 'assert', subject, { value: 'v1' });
    world.say('gamma', 'assert', subject, { value: 'v7', scope: 'api' });
    const two = world.say('beta', 'assert', subject, { value: 'v1', scope: 'web', supersedes: [one] });
    const beliefs = beliefsOf(world);
    expect(beliefs.view(one)).toMatchObject({ status: 'superseded', by: [two] });
  });

  test('a narrower claim cannot revise a wider one, a wider one can revise a narrower one', () => {
    const world = newWorld();
    const wide = world.say('alpha', 'assert', subject, { value: 'v1' });
    world.say('beta', 'assert', subject, { value: 'v2', scope: 'web', supersedes: [wide] });
    expect(beliefsOf(world).view(wide).status).toBe('served');
    const other = newWorld();
    const narrow = other.say('alpha', 'assert', subject, { value: 'v1', scope: 'web' });
    const over = other.say('beta', 'assert', subject, { value: 'v2', supersedes: [narrow] });
    expect(served(other, 'web')).toBe(over);
  });

  test('a revision reaches everybody who was shown the old claim, or it has no effect', () => {
    // operator includes agents: what is for agents is shown to operators too, not the other way round.
    for (const [from, to, works] of [
      ['agents', 'operator', true],
      ['operator', 'agents', false],
      ['operator', 'operator', true],
    ] as const) {
      const world = newWorld();
      const old = world.say('alpha', 'assert', subject, { value: 'v1', audience: to });
      world.say('beta', 'assert', subject, { value: 'v2', audience: from, supersedes: [old] });
      expect(beliefsOf(world).view(old).status, `${from} over ${to}`).toBe(works ? 'superseded' : 'parked');
    }
  });

  test('a class that hosts keep to themselves takes no revisions', () => {
    const world = newWorld();
    const old = world.say('alpha', 'assert', 'policy/one', { value: 'v1' });
    world.say('beta', 'assert', 'policy/one', { value: 'v2', supersedes: [old] });
    expect(beliefsOf(world).record('policy/one').status).toBe('parked');
  });

  test("another host's retraction or question has no effect on a claim, and no host closes another's question", () => {
    const world = newWorld();
    const claim = world.say('alpha', 'assert', subject, { value: 'v1' });
    const question = world.say('alpha', 'question', subject, { content: 'why?' });
    world.say('beta', 'retract', subject, { supersedes: [claim, question].toSorted() });
    world.say('beta', 'assert', subject, { value: 'v1', supersedes: [question] });
    const { view } = beliefsOf(world);
    expect([claim, question].map((id) => view(id).status)).toEqual(['served', 'open']);
  });

  test('an unsigned claim never revises a signed one, and one of a withdrawn key revises nothing', () => {
    const world = newWorld();
    const dead = world.say('gamma', 'assert', subject, { value: 'v2' });
    world.say('gamma', 'retract', subject, { supersedes: [dead] }, { sign: 'craig' });
    const claim = world.say('alpha', 'assert', subject, { value: 'v1' });
    const again = world.say('beta', 'assert', subject, { value: 'v2', supersedes: [claim] });
    const beliefs = beliefsOf(world);
    expect(beliefs.record(subject).served).toBe(claim);
    expect(beliefs.view(again)).toMatchObject({ status: 'parked', reason: 'WITHDRAWN_KEY' });
  });

  test('a dispute that a signer ends is no dispute any more', () => {
    const world = newWorld();
    const one = world.say('alpha', 'assert', subject, { value: 'v1' });
    const two = world.say('beta', 'assert', subject, { value: 'v2' });
    world.say('beta', 'retract', subject, { supersedes: [two] }, { sign: 'craig' });
    const three = world.say('gamma', 'assert', subject, { value: 'v3', supersedes: [one] });
    expect(served(world)).toBe(three);
  });
});

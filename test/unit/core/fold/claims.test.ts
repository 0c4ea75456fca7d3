import { describe, expect, test } from 'vitest';
import { claimKey } from '../../../../src/core/fold/claim-keys.ts';
import type { Body } from '../../../../src/core/event.ts';
import { beliefsOf, newWorld } from '../../../lib/fold-builders.ts';

const body = (fields: Partial<Body>): Body => ({ kind: 'assert', subject: 'note/one', ...fields }) as Body;

describe('R4: keys', () => {
  test('a key is the JCS of sort, polarity and value, or of folded content', () => {
    expect(claimKey('fact', body({ value: 'v "1"', content: 'no matter' }))).toBe('["fact","exists","v","v \\"1\\""]');
    expect(claimKey('rule', body({ content: ' a\n\tb  c ', polarity: 'absent' }))).toBe(
      '["rule","absent","c","a b c"]',
    );
    expect(claimKey('fact', body({ content: '\n \t' }))).toBe('["fact","exists","c",""]');
  });

  test('only ASCII white space folds, and case and accents count', () => {
    const keys = ['a b', 'a\u00a0b', 'A b', 'á b', 'a\u0301 b'].map((content) => claimKey('fact', body({ content })));
    expect(new Set(keys).size).toBe(5);
  });

  test('a value and a content of the same text are two things; an assert and a lesson that say the same agree', () => {
    const world = newWorld();
    const lesson = world.say('alpha', 'lesson', 'note/one', { content: 'use  tabs' });
    const claim = world.say('beta', 'assert', 'note/one', { content: 'use tabs' });
    expect(beliefsOf(world).record('note/one')).toMatchObject({
      status: 'served',
      served: lesson,
      corroboration: { ids: { first: [claim] } },
    });
    world.say('beta', 'assert', 'note/one', { value: 'use tabs' });
    expect(beliefsOf(world).record('note/one').status).toBe('parked');
  });
});

describe('R4: what is served', () => {
  test('E1: two hosts that contradict each other park, both named, neither served', () => {
    const world = newWorld();
    const ids = [
      world.say('alpha', 'assert', 'note/db', { value: '5432' }),
      world.say('beta', 'assert', 'note/db', { value: '6432' }),
    ];
    const beliefs = beliefsOf(world);
    expect(beliefs.record('note/db')).toMatchObject({
      status: 'parked',
      served: null,
      parked: { count: 2, first: ids.toSorted() },
    });
    expect(beliefs.alarms).toEqual(['PARKED note/db ']);
    expect(ids.map((id) => beliefs.view(id).reason)).toEqual(['PARKED', 'PARKED']);
  });

  test('E2: another subject is not touched by a claim that mentions it', () => {
    const world = newWorld();
    const nginx = world.say('alpha', 'assert', 'note/web1', { content: 'web1 runs nginx' });
    const rack = world.say('beta', 'assert', 'note/web1-place', { content: 'web1 is in rack 4' });
    const { view } = beliefsOf(world);
    expect([nginx, rack].map((id) => view(id).status)).toEqual(['served', 'served']);
  });

  test('E4: two claims of one moment park; the ids decide nothing, an explicit link does', () => {
    const world = newWorld();
    const one = world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    world.say('alpha', 'assert', 'note/one', { value: 'v2' });
    expect(beliefsOf(world).record('note/one').status).toBe('parked');
    const linked = newWorld();
    const old = linked.say('alpha', 'assert', 'note/one', { value: 'v1' });
    const correction = linked.say('alpha', 'assert', 'note/one', { value: 'v2', supersedes: [old] });
    expect(beliefsOf(linked).record('note/one').served).toBe(correction);
    expect(old).toBe(one);
  });

  test('E7: a clock decides nothing, not even one of the year 2082', () => {
    const world = newWorld();
    const fast = world.say('alpha', 'assert', 'note/one', { value: 'v1', at: '2082-01-01T00:00:00.000Z' });
    const true_ = world.say('alpha', 'assert', 'note/one', {
      value: 'v2',
      supersedes: [fast],
      at: '1999-01-01T00:00:00.000Z',
    });
    expect(beliefsOf(world).record('note/one').served).toBe(true_);
  });

  test('E8: a retraction stays in force: the same line shown again changes nothing, a new claim parks against nothing', () => {
    const world = newWorld();
    const claim = world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    world.say('alpha', 'retract', 'note/one', { supersedes: [claim] });
    world.carry('alpha', claim);
    expect(beliefsOf(world).view(claim).status).toBe('retracted');
  });

  test('E11: a proposal leaves the old decision and the old claim in place', () => {
    const world = newWorld();
    const decision = world.say('alpha', 'decision', 'note/one', { content: 'old' });
    const claim = world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    world.say('alpha', 'propose', 'note/one', {
      proposes: 'assert',
      value: 'v2',
      supersedes: [claim, decision].toSorted(),
    });
    const { view, record } = beliefsOf(world);
    expect(view(decision).status).toBe('recorded');
    expect(record('note/one')).toMatchObject({ served: claim, counts: { decisions: 1, proposals: 1 } });
  });

  test('absence is a claim of its own', () => {
    const world = newWorld();
    world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    world.say('beta', 'assert', 'note/one', { value: 'v1', polarity: 'absent' });
    expect(beliefsOf(world).record('note/one').status).toBe('parked');
  });

  test('equal claims corroborate: distinct hosts are counted, and a differing home is flagged', () => {
    const world = newWorld();
    const first = world.say('alpha', 'assert', 'note/one', { value: 'v1', home: 'file:a' });
    world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    world.say('beta', 'assert', 'note/one', { value: 'v1', home: 'file:a' });
    expect(beliefsOf(world).record('note/one')).toMatchObject({
      served: first,
      flags: [],
      corroboration: { hosts: { count: 1, first: ['beta'] }, ids: { count: 2 } },
    });
    world.say('gamma', 'assert', 'note/one', { value: 'v1', home: 'file:b' });
    expect(beliefsOf(world).record('note/one').flags).toEqual(['homes-differ']);
  });

  test('the claim shown is of the highest level, then of the lowest log and seq, whatever its id or hook', () => {
    const world = newWorld();
    world.say('beta', 'assert', 'note/one', { value: 'v1', hook: 'a' });
    const first = world.say('alpha', 'assert', 'note/one', { value: 'v1', hook: 'z' });
    world.say('alpha', 'assert', 'note/one', { value: 'v1', hook: 'b' });
    expect(beliefsOf(world).record('note/one').served).toBe(first);
    const signed = world.say('gamma', 'assert', 'note/one', { value: 'v1' }, { sign: 'craig' });
    expect(beliefsOf(world).record('note/one').served).toBe(signed);
  });

  test('signed truth stays served against unsigned contradiction: contested, the others park, one alarm per host', () => {
    const world = newWorld();
    const truth = world.say('alpha', 'assert', 'note/one', { value: 'v1' }, { sign: 'craig' });
    const noise = ['v2', 'v3'].map((value) => world.say('beta', 'assert', 'note/one', { value }));
    const beliefs = beliefsOf(world);
    expect(beliefs.record('note/one')).toMatchObject({
      status: 'contested',
      served: truth,
      parked: { first: noise.toSorted() },
    });
    expect(beliefs.alarms).toEqual(['UNSIGNED_CONTRADICTS_SIGNED note/one beta']);
  });

  test('signers who disagree park everything', () => {
    const world = newWorld();
    world.say('alpha', 'assert', 'note/two', { value: 'v1' }, { sign: 'craig' });
    world.say('beta', 'assert', 'note/two', { value: 'v2' }, { sign: 'bob' });
    world.say('gamma', 'assert', 'note/two', { value: 'v2' });
    const beliefs = beliefsOf(world);
    expect(beliefs.record('note/two')).toMatchObject({
      status: 'parked',
      parked: { count: 3 },
      flags: ['signers-disagree'],
    });
    expect(beliefs.alarms).toEqual(['SIGNERS_DISAGREE note/two ']);
  });

  test('what a signer withdrew cannot be said again unsigned: it parks alone, until a signer says it', () => {
    const world = newWorld();
    const claim = world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    world.say('alpha', 'retract', 'note/one', { supersedes: [claim] }, { sign: 'craig' });
    const again = world.say('beta', 'assert', 'note/one', { value: 'v1' });
    const other = world.say('alpha', 'assert', 'note/one', { value: 'v2' });
    const beliefs = beliefsOf(world);
    expect(beliefs.record('note/one')).toMatchObject({ status: 'served', served: other, parked: { first: [again] } });
    expect(beliefs.alarms).toEqual(['WITHDRAWN_KEY note/one beta']);
    world.say('gamma', 'assert', 'note/one', { value: 'v1', supersedes: [other] }, { sign: 'craig' });
    expect(beliefsOf(world).view(again).status).toBe('corroborates');
  });

  test('if only such a claim is left, the record is parked: withheld is not absent', () => {
    const world = newWorld();
    const claim = world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    world.say('alpha', 'retract', 'note/one', { supersedes: [claim] }, { sign: 'craig' });
    world.say('beta', 'assert', 'note/one', { value: 'v1' });
    expect(beliefsOf(world).record('note/one')).toMatchObject({ status: 'parked', served: null, parked: { count: 1 } });
  });
});

describe('R4: scopes, questions, decisions', () => {
  test('the claims of a scope are compared together with those of every scope', () => {
    const world = newWorld();
    const wide = world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    const web = world.say('beta', 'assert', 'note/one', { value: 'v2', scope: 'web' });
    const api = world.say('beta', 'assert', 'note/one', { value: 'v1', scope: 'api' });
    const { record, view } = beliefsOf(world);
    expect(record('note/one')).toMatchObject({ status: 'served', served: wide });
    expect(record('note/one', 'web')).toMatchObject({ status: 'parked', parked: { first: [wide, web].toSorted() } });
    expect(record('note/one', 'api')).toMatchObject({ status: 'served', served: wide });
    expect([wide, web, api].map((id) => view(id).status)).toEqual(['served', 'parked', 'corroborates']);
  });

  test('an audience changes nothing about what is compared', () => {
    const world = newWorld();
    world.say('alpha', 'assert', 'note/one', { value: 'v1', audience: 'agents' });
    world.say('beta', 'assert', 'note/one', { value: 'v2' });
    expect(beliefsOf(world).record('note/one').status).toBe('parked');
  });

  test('an open question marks its scope undecided, and what is served stays named beside it', () => {
    const world = newWorld();
    const claim = world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    const web = world.say('beta', 'assert', 'note/one', { value: 'v1', scope: 'web' });
    const question = world.say('gamma', 'question', 'note/one', { content: 'sure?', scope: 'web' });
    const { record } = beliefsOf(world);
    expect(record('note/one').flags).toEqual([]);
    expect(record('note/one', 'web')).toMatchObject({ served: claim, flags: ['undecided'], counts: { questions: 1 } });
    world.say('gamma', 'retract', 'note/one', { supersedes: [question] });
    const after = beliefsOf(world);
    expect(after.record('note/one', 'web').flags).toEqual([]);
    expect(after.view(question).status).toBe('closed');
    expect(after.view(web).status).toBe('corroborates');
  });

  test('decisions, pins, denials and observations serve nothing and contradict nothing', () => {
    const world = newWorld();
    const ids = [
      world.say('alpha', 'decision', 'note/one', { content: 'a' }),
      world.say('beta', 'decision', 'note/one', { content: 'b' }),
      world.say('alpha', 'pin', 'note/one', {}, { sign: 'craig' }),
      world.say('alpha', 'deny', 'note/one', { content: 'secret' }),
      world.say('alpha', 'observe', 'note/one', { home: 'file:a', digest: 'missing' }),
    ];
    const { record, view } = beliefsOf(world);
    expect(record('note/one')).toMatchObject({ status: 'none', served: null, counts: { decisions: 2, live: 0 } });
    expect(ids.map((id) => view(id).status)).toEqual(Array(5).fill('recorded'));
  });
});

import { describe, expect, test } from 'vitest';
import { beliefsOf, newWorld } from '../../../lib/fold-builders.ts';

describe('R2: lineage', () => {
  test('an untrusted claim is quarantined: not served, and an alarm if it disagrees with what is served', () => {
    const world = newWorld();
    const claim = world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    const page = world.say('alpha', 'assert', 'note/one', { value: 'v2', lineage: 'untrusted' });
    const beliefs = beliefsOf(world);
    expect(beliefs.record('note/one')).toMatchObject({ status: 'served', served: claim, flags: ['quarantined'] });
    expect(beliefs.view(page)).toMatchObject({ status: 'quarantined', reason: 'UNTRUSTED' });
    expect(beliefs.alarms).toEqual(['UNTRUSTED_DISAGREES note/one alpha']);
  });

  test('an untrusted claim that says what is served anyway raises no alarm', () => {
    const world = newWorld();
    world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    world.say('beta', 'assert', 'note/one', { value: 'v1', lineage: 'untrusted' });
    expect(beliefsOf(world).alarms).toEqual([]);
  });

  test('quarantine follows basis, however long the way', () => {
    // page (untrusted) <- one <- two <- three
    const world = newWorld();
    let below = world.say('alpha', 'assert', 'note/page', { value: 'p', lineage: 'untrusted' });
    for (const name of ['one', 'two', 'three'])
      below = world.say('beta', 'assert', `note/${name}`, { value: 'v', basis: [below] });
    expect(beliefsOf(world).view(below)).toMatchObject({ status: 'quarantined', reason: 'UNTRUSTED_BASIS' });
  });

  test('a signed event stops it: what is above it is clean, what is beside it is not', () => {
    // page (untrusted) <- looked (signed) <- above;  page <- beside
    const world = newWorld();
    const page = world.say('alpha', 'assert', 'note/page', { value: 'p', lineage: 'untrusted' });
    const looked = world.say('alpha', 'assert', 'note/looked', { value: 'v', basis: [page] }, { sign: 'craig' });
    const above = world.say('alpha', 'assert', 'note/above', { value: 'v', basis: [looked] });
    const beside = world.say('alpha', 'assert', 'note/beside', { value: 'v', basis: [page, looked].toSorted() });
    const { view } = beliefsOf(world);
    expect([looked, above, beside].map((claim) => view(claim).status)).toEqual(['served', 'served', 'quarantined']);
  });

  test('an approval promotes a quarantined claim', () => {
    const world = newWorld();
    const page = world.say('alpha', 'assert', 'note/one', { value: 'v1', lineage: 'untrusted' });
    world.carry('beta', page, { sign: 'craig' });
    expect(beliefsOf(world).view(page)).toMatchObject({ status: 'served', level: 'signed' });
  });

  test('a quarantined event bears no edges and parks nothing', () => {
    const world = newWorld();
    const claim = world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    const signed = world.say('alpha', 'assert', 'note/two', { value: 'v1' }, { sign: 'craig' });
    world.say('alpha', 'retract', 'note/one', { supersedes: [claim], lineage: 'untrusted' });
    const attempt = world.say('beta', 'assert', 'note/two', {
      value: 'v2',
      supersedes: [signed],
      lineage: 'untrusted',
    });
    const beliefs = beliefsOf(world);
    expect(beliefs.record('note/one').served).toBe(claim);
    expect(beliefs.view(attempt).status).toBe('quarantined');
    expect(beliefs.alarms).toEqual(['UNTRUSTED_DISAGREES note/two beta']);
  });

  test("a held event still passes lineage on: somebody else's copy of an untrusted body is enough", () => {
    const world = newWorld();
    const page = world.say('alpha', 'assert', 'note/page', { value: 'p', lineage: 'untrusted' }, { log: 'gamma' });
    const derived = world.say('beta', 'assert', 'note/one', { value: 'v', basis: [page] });
    expect(beliefsOf(world).view(derived).status).toBe('quarantined');
  });

  test('a quarantined claim that its own host retracts is retracted, and the alarm goes', () => {
    const world = newWorld();
    world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    const page = world.say('beta', 'assert', 'note/one', { value: 'v2', lineage: 'untrusted' });
    world.say('beta', 'retract', 'note/one', { supersedes: [page] });
    const beliefs = beliefsOf(world);
    expect(beliefs.view(page).status).toBe('retracted');
    expect(beliefs.alarms).toEqual([]);
  });

  test("another host's revision of a quarantined claim has no effect: it stays listed", () => {
    const world = newWorld();
    const page = world.say('alpha', 'assert', 'note/one', { value: 'v1', lineage: 'untrusted' });
    world.say('beta', 'assert', 'note/one', { value: 'v2', supersedes: [page] });
    expect(beliefsOf(world).view(page).status).toBe('quarantined');
  });
});

import { describe, expect, test } from 'vitest';
import { beliefsOf, fakeCharter, newWorld, usualCharter } from '../../../lib/fold-builders.ts';

describe('R0: what is held', () => {
  test('an event of another mesh is held as FOREIGN_MESH, and its subject has a record', () => {
    const world = newWorld();
    const foreign = world.say('alpha', 'assert', 'note/one', { value: 'v1', mesh: 'f'.repeat(64) });
    const beliefs = beliefsOf(world);
    expect(beliefs.view(foreign)).toMatchObject({ status: 'held', reason: 'FOREIGN_MESH' });
    expect(beliefs.record('note/one')).toMatchObject({ status: 'none', flags: ['held'], counts: { held: 1, live: 0 } });
    expect(beliefs.alarms).toEqual(['FOREIGN_MESH note/one alpha']);
  });

  test('an event of an unregistered class is held as UNNORMALIZED until the class is registered', () => {
    const world = newWorld();
    const early = world.say('alpha', 'assert', 'recipe/soup', { value: 'v1' });
    expect(beliefsOf(world).view(early)).toMatchObject({ status: 'held', reason: 'UNNORMALIZED' });
    const later = fakeCharter({ classes: { ...usualCharter.classes, recipe: { revise: 'mesh', claims: 'fact' } } });
    expect(beliefsOf(world, later).view(early)).toMatchObject({ status: 'served', reason: null });
  });

  test('a claim on a class that takes no claims is held, a decision on it is not', () => {
    const world = newWorld();
    const claim = world.say('alpha', 'assert', 'decision/colour', { value: 'blue' });
    const decision = world.say('alpha', 'decision', 'decision/colour', { content: 'blue, because' });
    const beliefs = beliefsOf(world);
    expect(beliefs.view(claim)).toMatchObject({ status: 'held', reason: 'UNNORMALIZED' });
    expect(beliefs.view(decision).status).toBe('recorded');
  });

  test('an event for an undeclared audience is held as UNDECLARED_AUDIENCE', () => {
    const world = newWorld();
    const stray = world.say('alpha', 'assert', 'note/one', { value: 'v1', audience: 'nobody' });
    expect(beliefsOf(world).view(stray)).toMatchObject({ status: 'held', reason: 'UNDECLARED_AUDIENCE' });
  });

  test('a bad body is held as INVALID under the subject and scope that it shows', () => {
    const world = newWorld();
    const bad = world.say('alpha', 'assert', 'note/one', { value: 'v1', scope: 'web' }, { fault: 'FIELD_VALUE' });
    const beliefs = beliefsOf(world);
    expect(beliefs.view(bad)).toMatchObject({ status: 'held', reason: 'INVALID', body: null, subject: 'note/one' });
    expect(beliefs.record('note/one', 'web')).toMatchObject({ status: 'none', flags: ['held'] });
  });

  test('a newer version and a hole are held without a subject, and alarm without one', () => {
    const world = newWorld();
    const newer = world.say('alpha', 'assert', 'note/one', { value: 'v1' }, { fault: 'UNKNOWN_VERSION' });
    const hole = world.say('beta', 'assert', 'note/one', { value: 'v2' }, { fault: 'HOLE' });
    const beliefs = beliefsOf(world);
    expect(beliefs.view(newer)).toMatchObject({ status: 'held', reason: 'UNKNOWN_VERSION', subject: null });
    expect(beliefs.view(hole)).toMatchObject({ status: 'held', reason: 'WITHHELD', subject: null });
    expect(beliefs.alarms).toEqual(['UNKNOWN_VERSION  alpha', 'WITHHELD  beta']);
  });

  test('an id that another line shows properly is not held, whichever line comes first', () => {
    for (const properFirst of [true, false]) {
      const world = newWorld();
      const claim = world.keep('alpha', 'assert', 'note/one', { value: 'v1' });
      const carry = [
        (): void => world.carry('alpha', claim),
        (): void => world.carry('beta', claim, { fault: 'UNKNOWN_VERSION' }),
      ];
      for (const one of properFirst ? carry : carry.toReversed()) one();
      const beliefs = beliefsOf(world);
      expect(beliefs.view(claim).status).toBe('served');
      expect(beliefs.alarms).toEqual([]);
    }
  });

  test('what is held bears no edges, parks nothing and is not compared', () => {
    const world = newWorld();
    const claim = world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    world.say('alpha', 'assert', 'note/one', { value: 'v2', audience: 'nobody', supersedes: [claim] });
    world.say('gamma', 'assert', 'note/one', { value: 'v3' }, { log: 'beta' });
    expect(beliefsOf(world).record('note/one')).toMatchObject({ status: 'served', served: claim });
  });
});

describe('R1: levels', () => {
  test("a body without approval counts in its own host's log only", () => {
    const world = newWorld();
    const forged = world.say('alpha', 'assert', 'note/one', { value: 'v1' }, { log: 'gamma' });
    const beliefs = beliefsOf(world);
    expect(beliefs.view(forged)).toMatchObject({ status: 'held', reason: 'UNPROVEN', place: null });
    expect(beliefs.record('note/one').flags).toEqual(['held']);
    expect(beliefs.alarms).toEqual([]);
  });

  test('an approval signs the event wherever a line carries it', () => {
    const world = newWorld();
    const claim = world.say('alpha', 'assert', 'note/one', { value: 'v1' }, { log: 'gamma', sign: 'craig' });
    expect(beliefsOf(world).view(claim)).toMatchObject({ level: 'signed', status: 'served', signers: ['craig'] });
  });

  test('the level belongs to the id: plain in its own log and approved in another, in any order', () => {
    for (const plainFirst of [true, false]) {
      const world = newWorld();
      const claim = world.keep('alpha', 'assert', 'note/one', { value: 'v1' });
      if (plainFirst) world.carry('alpha', claim);
      world.carry('beta', claim, { sign: 'craig' });
      if (!plainFirst) world.carry('alpha', claim);
      expect(beliefsOf(world).view(claim)).toMatchObject({ level: 'signed', place: { log: 'beta', seq: 1 } });
    }
  });

  test('a bad approval spoils its line, never the event', () => {
    const world = newWorld();
    const claim = world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    world.carry('gamma', claim, { sign: 'craig', sshsig: 'bad' });
    const beliefs = beliefsOf(world);
    expect(beliefs.view(claim)).toMatchObject({ level: 'unsigned', status: 'served' });
    expect(beliefs.alarms).toEqual(['FORGED note/one gamma']);
    expect(beliefs.view(claim).lines).toEqual([
      { log: 'alpha', seq: 1, signer: null, verdict: null },
      { log: 'gamma', seq: 1, signer: 'craig', verdict: 'forged' },
    ]);
  });

  test("a bad approval does not fall back to unsigned in the host's own log", () => {
    const world = newWorld();
    const claim = world.say('alpha', 'assert', 'note/one', { value: 'v1' }, { sign: 'craig', sshsig: 'bad' });
    expect(beliefsOf(world).view(claim)).toMatchObject({ status: 'held', reason: 'FORGED' });
  });

  test('an approval in the name of somebody who is no signer is UNVERIFIABLE', () => {
    const world = newWorld();
    const stranger = world.say('alpha', 'assert', 'note/one', { value: 'v1' }, { sign: 'mallory' });
    const beliefs = beliefsOf(world);
    expect(beliefs.view(stranger)).toMatchObject({ status: 'held', reason: 'UNVERIFIABLE' });
    expect(beliefs.alarms).toEqual(['UNVERIFIABLE note/one alpha']);
  });

  test('an approval beyond the scopes of its signer is OUT_OF_SCOPE and counts for nothing', () => {
    const world = newWorld();
    const inside = world.say('alpha', 'assert', 'note/two', { value: 'v1' }, { sign: 'bob' });
    const outside = world.say('alpha', 'assert', 'note/one', { value: 'v1' }, { sign: 'bob' });
    const beliefs = beliefsOf(world);
    expect(beliefs.view(inside)).toMatchObject({ level: 'signed', status: 'served' });
    expect(beliefs.view(outside)).toMatchObject({ level: 'unsigned', status: 'held', reason: 'OUT_OF_SCOPE' });
  });

  test('a flood of bad approvals is one alarm with a count of lines', () => {
    const world = newWorld();
    const claim = world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    for (let line = 0; line < 50; line += 1) world.carry('gamma', claim, { sign: 'craig', sshsig: `bad ${line}` });
    const { fold, alarms } = beliefsOf(world);
    expect(alarms).toEqual(['FORGED note/one gamma']);
    expect(fold.alarms.get('FORGED note/one gamma')).toMatchObject({ count: 50, ids: { count: 1, first: [claim] } });
  });

  test('the place of an event is the lowest log and seq that prove its level', () => {
    const world = newWorld();
    const claim = world.keep('beta', 'assert', 'note/one', { value: 'v1' });
    world.carry('gamma', claim, { sign: 'craig' });
    world.carry('beta', claim);
    world.carry('beta', claim, { sign: 'craig' });
    expect(beliefsOf(world).view(claim).place).toEqual({ log: 'beta', seq: 2 });
  });

  test('a re-appended body is the same event (3 hosts)', () => {
    const world = newWorld();
    const claim = world.say('alpha', 'assert', 'note/one', { value: 'v1' }, { sign: 'craig' });
    const retract = world.say('alpha', 'retract', 'note/one', { supersedes: [claim] }, { sign: 'craig' });
    world.carry('beta', claim, { sign: 'craig' });
    world.carry('gamma', claim, { sign: 'craig' });
    const beliefs = beliefsOf(world);
    expect(beliefs.view(claim)).toMatchObject({ status: 'retracted', by: [retract] });
    expect(beliefs.record('note/one').status).toBe('none');
  });
});

import { describe, expect, test } from 'vitest';
import { createFold, foldLines, setCharter } from '../../../../src/core/fold/fold.ts';
import {
  beliefsOf,
  fakeCharter,
  fakePorts,
  newWorld,
  readBeliefs,
  trust,
  usualCharter,
  type Marks,
} from '../../../lib/fold-builders.ts';

const revoked = (...dana: readonly Marks[]): ReturnType<typeof fakeCharter> =>
  fakeCharter({ ...usualCharter, revoked: { dana } });

describe('R1: approvals of a revoked signer', () => {
  test('stand up to the mark of a log, and not behind it', () => {
    const world = newWorld();
    const [early, late] = ['note/one', 'note/two'].map((subject) =>
      world.say('alpha', 'assert', subject, { value: 'v' }, { sign: 'dana' }),
    ) as [string, string];
    const { view, alarms } = beliefsOf(world, revoked({ alpha: 1 }));
    expect(view(early)).toMatchObject({ status: 'served', level: 'signed', signers: ['dana'] });
    expect(view(late)).toMatchObject({ status: 'held', reason: 'REVOKED', level: 'unsigned', signers: [] });
    expect(view(late).lines).toEqual([{ log: 'alpha', seq: 2, signer: 'dana', verdict: 'revoked' }]);
    expect(alarms).toEqual(['REVOKED note/two alpha']);
  });

  test('a log that the revocation does not name has no mark', () => {
    const world = newWorld();
    const id = world.say('beta', 'assert', 'note/one', { value: 'v' }, { sign: 'dana' });
    expect(beliefsOf(world, revoked({ alpha: 9 })).view(id)).toMatchObject({ reason: 'REVOKED' });
    expect(beliefsOf(world, revoked({})).view(id)).toMatchObject({ reason: 'REVOKED' });
  });

  test('one carrier within the marks is enough, and a replay behind them takes nothing away and alarms nobody', () => {
    const world = newWorld();
    const id = world.say('alpha', 'assert', 'note/one', { value: 'v' }, { sign: 'dana' });
    world.carry('gamma', id, { sign: 'dana' });
    const { view, alarms } = beliefsOf(world, revoked({ alpha: 1 }));
    expect(view(id)).toMatchObject({ status: 'served', level: 'signed', place: { log: 'alpha', seq: 1 } });
    expect(alarms).toEqual([]);
  });

  test('of several revocations every one needs a carrier within its marks', () => {
    const world = newWorld();
    const id = world.say('alpha', 'assert', 'note/one', { value: 'v' }, { sign: 'dana' });
    world.carry('beta', id, { sign: 'dana' });
    expect(beliefsOf(world, revoked({ alpha: 1 }, { beta: 1 })).view(id).level).toBe('signed');
    expect(beliefsOf(world, revoked({ alpha: 1 }, { gamma: 1 })).view(id)).toMatchObject({ reason: 'REVOKED' });
  });

  test('a line within the marks that carries the approval of another signer is no carrier of this one', () => {
    const world = newWorld();
    const id = world.say('alpha', 'assert', 'note/two', { value: 'v' }, { sign: 'bob' });
    world.carry('beta', id, { sign: 'dana' });
    const { view, alarms } = beliefsOf(world, revoked({ alpha: 1 }));
    expect(view(id)).toMatchObject({ status: 'served', signers: ['bob'] });
    expect(alarms).toEqual(['REVOKED note/two beta']);
  });

  test('a log stands by its mark once it is long enough to have the link of it', () => {
    const world = newWorld();
    const id = world.say('alpha', 'assert', 'note/one', { value: 'v' }, { sign: 'dana' });
    const charter = revoked({ alpha: { seq: 2, link: 'f'.repeat(64) } });
    const fold = createFold(charter, trust, fakePorts);
    foldLines(fold, world.lines);
    expect(readBeliefs(fold).view(id).level).toBe('signed');
    world.say('alpha', 'assert', 'note/two', { value: 'v' });
    expect([...foldLines(fold, world.lines).subjects].toSorted()).toEqual(['note/one', 'note/two']);
    expect(readBeliefs(fold).view(id)).toMatchObject({ status: 'held', reason: 'REVOKED' });
  });

  test('another signer may approve it again', () => {
    const world = newWorld();
    const id = world.say('alpha', 'assert', 'note/one', { value: 'v' }, { sign: 'dana' });
    world.carry('beta', id, { sign: 'craig' });
    expect(beliefsOf(world, revoked({})).view(id)).toMatchObject({ status: 'served', signers: ['craig'] });
  });

  test("with a stolen key nobody holds out another host's unsigned word", () => {
    const world = newWorld();
    const id = world.say('alpha', 'assert', 'note/one', { value: 'v' });
    world.carry('gamma', id, { sign: 'dana' });
    const { view, alarms } = beliefsOf(world, revoked({}));
    expect(view(id)).toMatchObject({ status: 'served', level: 'unsigned' });
    expect(alarms).toEqual(['REVOKED note/one gamma']);
  });

  test('what the signer withdrew comes back with the revocation, and only its own events are looked at', () => {
    const world = newWorld();
    const claim = world.say('alpha', 'assert', 'note/one', { value: 'v' });
    world.say('beta', 'retract', 'note/one', { supersedes: [claim] }, { sign: 'dana' });
    world.say('beta', 'assert', 'note/two', { value: 'v' });
    const { fold, view } = beliefsOf(world);
    expect(view(claim).status).toBe('retracted');
    expect([...setCharter(fold, revoked({}), trust).subjects]).toEqual(['note/one']);
    expect(readBeliefs(fold).view(claim).status).toBe('served');
    setCharter(fold, fakeCharter(), trust);
    expect(readBeliefs(fold).view(claim).status).toBe('retracted');
  });

  test('an observation that a revoked signer approved is not seen any more, however new it was', () => {
    const world = newWorld();
    const home = { home: 'file:a' };
    const seen = world.say('alpha', 'observe', 'note/home', { ...home, digest: 'd0' });
    const claim = world.say('alpha', 'assert', 'note/one', { value: 'v', basis: [seen] });
    world.say('alpha', 'observe', 'note/home', { ...home, digest: 'd1' }, { sign: 'dana' });
    const { fold, view } = beliefsOf(world);
    expect(view(claim).stale).toBe(true);
    setCharter(fold, revoked({}), trust);
    expect(readBeliefs(fold).view(claim).stale).toBe(false);
  });

  test('nor is one that the host appended again under such an approval', () => {
    const world = newWorld();
    const home = { home: 'file:a' };
    const old = world.say('alpha', 'observe', 'note/home', { ...home, digest: 'd0' });
    const seen = world.say('alpha', 'observe', 'note/home', { ...home, digest: 'd1' });
    const claim = world.say('alpha', 'assert', 'note/one', { value: 'v', basis: [seen] });
    world.carry('alpha', old, { sign: 'dana' });
    expect(beliefsOf(world).view(claim).stale).toBe(true);
    expect(beliefsOf(world, revoked({})).view(claim).stale).toBe(false);
  });
});

import { describe, expect, test } from 'vitest';
import { beliefsOf, newWorld, type World } from '../../../lib/fold-builders.ts';

/** The host sees the digest of a home. */
const sees = (world: World, host: string, digest: string, home = 'file:a'): string =>
  world.say(host, 'observe', 'note/home', { home, digest });

describe('R5: staleness', () => {
  test('a claim is stale when the observation that it cites is not the current one of its log', () => {
    const world = newWorld();
    const observed = sees(world, 'alpha', 'd1');
    const claim = world.say('alpha', 'assert', 'note/one', { value: 'v1', basis: [observed] });
    expect(beliefsOf(world).view(claim).stale).toBe(false);
    sees(world, 'alpha', 'd2');
    const beliefs = beliefsOf(world);
    expect(beliefs.view(claim)).toMatchObject({ stale: true, status: 'served' });
    expect(beliefs.record('note/one')).toMatchObject({ status: 'served', served: claim, flags: ['stale'] });
  });

  test('a digest that comes back makes it fresh again, by a new observe or by the old one re-appended', () => {
    for (const how of ['new', 'again'] as const) {
      const world = newWorld();
      const observed = sees(world, 'alpha', 'd1');
      const claim = world.say('alpha', 'assert', 'note/one', { value: 'v1', basis: [observed] });
      sees(world, 'alpha', 'd2');
      if (how === 'new') sees(world, 'alpha', 'd1');
      else world.carry('alpha', observed);
      expect(beliefsOf(world).view(claim).stale).toBe(false);
    }
  });

  test("observations of other homes and other hosts' observations of the same home do not matter", () => {
    const world = newWorld();
    const observed = sees(world, 'alpha', 'd1');
    const claim = world.say('beta', 'assert', 'note/one', { value: 'v1', basis: [observed] });
    sees(world, 'alpha', 'd2', 'file:b');
    sees(world, 'beta', 'd2');
    expect(beliefsOf(world).view(claim).stale).toBe(false);
  });

  test("a copy of an old observation in another host's log is no sighting", () => {
    const world = newWorld();
    const observed = sees(world, 'alpha', 'd1');
    const claim = world.say('alpha', 'assert', 'note/one', { value: 'v1', basis: [observed] });
    sees(world, 'alpha', 'd2');
    world.carry('gamma', observed);
    expect(beliefsOf(world).view(claim).stale).toBe(true);
  });

  test('it goes up through every claim, signed ones too, and a signed stale claim stays served', () => {
    // d1 <- one (signed) <- two
    const world = newWorld();
    const observed = sees(world, 'alpha', 'd1');
    const one = world.say('alpha', 'assert', 'note/one', { value: 'v1', basis: [observed] }, { sign: 'craig' });
    const two = world.say('beta', 'assert', 'note/two', { value: 'v1', basis: [one] });
    sees(world, 'alpha', 'd2');
    const { view } = beliefsOf(world);
    expect([one, two].map((id) => view(id))).toMatchObject([
      { stale: true, status: 'served' },
      { stale: true, status: 'served' },
    ]);
  });

  test('an observation that is held is not current, so a claim that cites it is stale', () => {
    const world = newWorld();
    const held = world.say('alpha', 'observe', 'note/home', { home: 'file:a', digest: 'd1', audience: 'nobody' });
    const copied = world.say('beta', 'observe', 'note/home', { home: 'file:a', digest: 'd1' }, { log: 'gamma' });
    const claims = [held, copied].map((basis, index) =>
      world.say('alpha', 'assert', `note/${index + 1}`, { value: 'v', basis: [basis] }),
    );
    const { view } = beliefsOf(world);
    expect(claims.map((id) => view(id).stale)).toEqual([true, true]);
  });

  test('an observation that nobody showed yet says nothing', () => {
    const world = newWorld();
    const unseen = world.keep('alpha', 'observe', 'note/home', { home: 'file:a', digest: 'd1' });
    const claim = world.say('alpha', 'assert', 'note/one', { value: 'v1', basis: [unseen] });
    expect(beliefsOf(world).view(claim).stale).toBe(false);
  });

  test('known limit: a revision may rest on evidence that has moved; what is served then says so', () => {
    const world = newWorld();
    const old = world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    const observed = sees(world, 'gamma', 'd1');
    sees(world, 'gamma', 'd2');
    const revision = world.say('gamma', 'assert', 'note/one', { value: 'v2', supersedes: [old], basis: [observed] });
    expect(beliefsOf(world).record('note/one')).toMatchObject({ served: revision, flags: ['revised', 'stale'] });
  });
});

/** The safety checks of the property tests, shown states that break each promise: a check that cannot fail is none. */
import { describe, expect, test } from 'vitest';
import { setLeaf } from '../../../../src/core/root.ts';
import { brokenAuthority, brokenByAttack, brokenSignedPromise } from '../../../lib/fold-checks.ts';
import { beliefsOf, fakeCharter, newWorld, type World } from '../../../lib/fold-builders.ts';
import type { Fold } from '../../../../src/core/fold/fold.ts';

const subject = 'note/one';
const foldOf = (world: World): Fold => beliefsOf(world).fold;

/** The state as a wrong fold would have it: some fields of the record of note/one and of its events replaced. */
function tampered(world: World, record: object, events: Readonly<Record<string, object>> = {}): Fold {
  const fold = foldOf(world);
  const key = `${subject} *`;
  fold.records.set(key, { ...beliefsOf(world).record(subject), ...record });
  for (const [id, change] of Object.entries(events)) Object.assign(fold.nodes.get(id) ?? {}, change);
  return fold;
}

function attack(before: Fold, after: Fold, host = 'gamma'): string {
  return brokenByAttack({ before, after, hosts: new Set([host]), undisputed: new Set() }) ?? 'nothing broken';
}

function dispute(): World {
  const world = newWorld();
  world.say('alpha', 'assert', subject, { value: 'v1' });
  world.say('beta', 'assert', subject, { value: 'v2' });
  return world;
}

describe('safety checks', () => {
  test('see nothing where nothing is broken', () => {
    const world = dispute();
    expect(attack(foldOf(world), foldOf(world))).toBe('nothing broken');
    expect(brokenSignedPromise(foldOf(world), fakeCharter())).toBeUndefined();
  });

  test('S1: signed truth that is not served', () => {
    const world = newWorld();
    world.say('alpha', 'assert', subject, { value: 'v1' }, { sign: 'craig' });
    expect(brokenSignedPromise(tampered(world, { served: null, status: 'parked' }), fakeCharter())).toMatch(/^S1 /);
  });

  test('S5: a signed retraction that an unsigned claim undoes', () => {
    const world = newWorld();
    const claim = world.say('alpha', 'assert', subject, { value: 'v1' });
    world.say('alpha', 'retract', subject, { supersedes: [claim] }, { sign: 'craig' });
    const again = world.say('beta', 'assert', subject, { value: 'v1' });
    expect(brokenSignedPromise(tampered(world, { served: again, status: 'served' }), fakeCharter())).toMatch(/^S5 /);
  });

  test('Q2 and Q3: a dispute that a third host, or a party, settled', () => {
    const world = dispute();
    const settled = newWorld();
    settled.say('alpha', 'assert', subject, { value: 'v1' });
    expect(attack(foldOf(world), foldOf(settled), 'gamma')).toMatch(/^Q2 /);
    expect(attack(foldOf(world), foldOf(settled), 'alpha')).toMatch(/^Q3 /);
    expect(attack(foldOf(world), foldOf(settled), 'beta')).toBe('nothing broken');
  });

  test('Q1: a question of another host that was closed', () => {
    const world = newWorld();
    const question = world.say('alpha', 'question', subject, { content: '?' });
    expect(attack(foldOf(world), tampered(world, {}, { [question]: { status: 'closed' } }))).toMatch(/^Q1 /);
  });

  test('S1b: signed truth that stopped being served', () => {
    const world = newWorld();
    world.say('alpha', 'assert', subject, { value: 'v1' }, { sign: 'craig' });
    expect(attack(foldOf(world), tampered(world, { served: null }))).toMatch(/^S1b /);
  });

  test("R1: another host's belief that is gone", () => {
    const world = newWorld();
    world.say('alpha', 'assert', subject, { value: 'v1' });
    expect(attack(foldOf(world), tampered(world, { served: null, status: 'none' }))).toMatch(/^R1 /);
  });

  test("R2: another host's belief that was replaced without a word", () => {
    const world = newWorld();
    const old = world.say('alpha', 'assert', subject, { value: 'v1' });
    const before = foldOf(world);
    world.say('gamma', 'assert', subject, { value: 'v2', supersedes: [old] });
    expect(attack(before, foldOf(world))).toBe('nothing broken');
    expect(attack(before, tampered(world, { flags: [] }))).toMatch(/^R2 /);
  });

  describe('of attackers without a signer', () => {
    const signed = (): { world: World; claim: string } => {
      const world = newWorld();
      const claim = world.say('alpha', 'assert', subject, { value: 'v1' }, { sign: 'craig' });
      return { world, claim };
    };
    const authority = (world: World, after: Fold): string => brokenAuthority(foldOf(world), after) ?? 'nothing broken';

    test('see nothing where nothing is broken', () => {
      const { world } = signed();
      const before = foldOf(world);
      world.say('beta', 'assert', subject, { value: 'v2' });
      expect(brokenAuthority(before, foldOf(world))).toBeUndefined();
    });

    test('K1: signed truth that is gone, or says something else', () => {
      const { world } = signed();
      expect(authority(world, tampered(world, { served: null }))).toMatch(/^K1 .* nothing signed/);
      const other = world.say('alpha', 'assert', subject, { value: 'v2' }, { sign: 'craig' });
      const before = tampered(world, { served: world.lines[0]?.id ?? '', status: 'served' });
      const after = tampered(world, { served: other, status: 'served' });
      expect(brokenAuthority(before, after)).toMatch(/^K1 .* something else/);
    });

    test('K2: a level gained or lost, a pin that appeared', () => {
      const { world, claim } = signed();
      expect(authority(world, tampered(world, {}, { [claim]: { level: 'delegated' } }))).toMatch(/^K[12] /);
      expect(authority(world, tampered(world, { flags: ['pinned'] }))).toMatch(/^K2 a pin/);
      const plain = world.say('beta', 'assert', subject, { value: 'v1' });
      expect(authority(world, tampered(world, {}, { [plain]: { level: 'delegated' } }))).toMatch(/^K2 .* gained/);
    });

    test('K3 and K4: what a signer withdrew or purged, and that is back', () => {
      const world = newWorld();
      const claim = world.say('beta', 'assert', subject, { value: 'v1' });
      world.say('alpha', 'retract', subject, { supersedes: [claim] }, { sign: 'craig' });
      expect(authority(world, tampered(world, {}, { [claim]: { withdrawnBySigned: false } }))).toMatch(/^K3 /);
      const purged = tampered(world, {}, { [claim]: { status: 'purged' } });
      expect(brokenAuthority(purged, foldOf(world))).toMatch(/^K4 /);
    });

    test('K5: a charter that is another one', () => {
      const { world } = signed();
      const after = foldOf(world);
      setLeaf(after.tree, 'signer:mallory', 'f'.repeat(64));
      expect(authority(world, after)).toMatch(/^K5 /);
    });
  });
});

import { describe, expect, test } from 'vitest';
import { canonicalJson, type JsonValue } from '../../../../src/crypto/canonical.ts';
import { sha256Hex } from '../../../../src/crypto/hash.ts';
import { createFold, foldLines, readState } from '../../../../src/core/fold/fold.ts';
import { charterLeaves, provedDigest, proveKey } from '../../../../src/core/root.ts';
import { rulesVersion } from '../../../../src/core/fold/state.ts';
import { beliefsOf, fakeCharter, fakePorts, newWorld, trust } from '../../../lib/fold-builders.ts';

describe('state: records', () => {
  test('long lists are a count, the 8 lowest ids and the digest of all', () => {
    const world = newWorld();
    const ids = Array.from({ length: 9 }, (_, index) =>
      world.say('alpha', 'assert', 'note/one', { value: `v${index}` }),
    ).toSorted();
    expect(beliefsOf(world).record('note/one').parked).toEqual({
      count: 9,
      digest: sha256Hex(canonicalJson([sha256Hex(canonicalJson(ids)), []])),
      first: ids.slice(0, 8),
    });
    const eight = newWorld();
    for (let index = 0; index < 8; index += 1) eight.say('alpha', 'assert', 'note/one', { value: `v${index}` });
    expect(beliefsOf(eight).record('note/one').parked).toMatchObject({ count: 8, digest: null });
  });

  test('a record stays small whatever stands behind it', () => {
    const world = newWorld();
    const entity = 'e'.repeat(120);
    for (let index = 0; index < 300; index += 1) {
      world.say(
        `h${index}`,
        'assert',
        `note/${entity}`,
        { value: index < 150 ? 'same' : `v${index}`, scope: 's'.repeat(31) },
        { sign: 'craig' },
      );
    }
    const [record] = [...beliefsOf(world).fold.records.values()];
    expect(JSON.stringify(record).length).toBeLessThan(2_048);
  });

  test('JSON.stringify of a record is its canonical form: the root hashes it as it stands', () => {
    const world = newWorld();
    const observed = world.say('alpha', 'observe', 'note/one', { home: 'file:a', digest: 'd1' });
    world.say('alpha', 'observe', 'note/one', { home: 'file:a', digest: 'd2' });
    world.say('alpha', 'assert', 'note/one', { value: 'v1', basis: [observed] });
    world.say('beta', 'assert', 'note/one', { value: 'v1', scope: 'web' });
    world.say('beta', 'question', 'note/two', { content: '?' });
    for (const record of beliefsOf(world).fold.records.values()) {
      expect(JSON.stringify(record)).toBe(canonicalJson(record as unknown as JsonValue));
    }
  });

  test('there is a record for every scope that an event names, and for no other', () => {
    const world = newWorld();
    world.say('alpha', 'assert', 'note/one', { value: 'v1', scope: 'web' });
    world.say('alpha', 'retract', 'note/one', { supersedes: ['f'.repeat(64)], scope: 'api' });
    expect([...beliefsOf(world).fold.records.keys()].toSorted()).toEqual(['note/one api', 'note/one web']);
  });

  test('counts add up', () => {
    const world = newWorld();
    world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    world.say('alpha', 'assert', 'note/two', { value: 'v1' });
    world.say('beta', 'assert', 'note/two', { value: 'v2' });
    world.say('beta', 'assert', 'note/three', { value: 'v2', lineage: 'untrusted' });
    world.say('beta', 'assert', 'nope/one', { value: 'v2' });
    expect(readState(beliefsOf(world).fold).counts).toEqual({
      events: 5,
      lines: 5,
      subjects: 4,
      served: 1,
      contested: 0,
      parked: 1,
      none: 2,
      stale: 0,
      undecided: 0,
      quarantined: 1,
      held: 1,
      alarms: 2,
      notices: 0,
    });
  });
});

describe('state: alarms and notices', () => {
  test('an alarm goes when its cause goes, and comes back with it', () => {
    const world = newWorld();
    const fold = createFold(fakeCharter(), trust, fakePorts);
    const raised = (): boolean => readState(fold).alarms.has('PARKED note/one ');
    const taken = (): void => void foldLines(fold, world.lines);
    const one = world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    world.say('beta', 'assert', 'note/one', { value: 'v2' });
    taken();
    expect(raised()).toBe(true);
    world.say('alpha', 'retract', 'note/one', { supersedes: [one] });
    taken();
    expect(raised()).toBe(false);
    world.say('alpha', 'assert', 'note/one', { value: 'v3' });
    taken();
    expect(raised()).toBe(true);
  });
});

describe('state: root', () => {
  test('proves every charter item and every record, and that others are not there', () => {
    const world = newWorld();
    world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    const { fold } = beliefsOf(world);
    const { root, records } = readState(fold);
    const says = (key: string): string | null | undefined =>
      provedDigest(proveKey(fold.tree, key), { key, root, context: { rules: rulesVersion, trust } });
    const items = charterLeaves(fold.charter);
    expect([...items.keys()].toSorted()).toEqual([
      'audience:agents',
      'audience:operator',
      'audience:staff',
      'class:decision',
      'class:lesson',
      'class:note',
      'class:policy',
      'host:alpha',
      'host:beta',
      'host:gamma',
      'signer:bob',
      'signer:craig',
      'signer:dana',
    ]);
    for (const [item, digest] of items) expect(says(item)).toBe(digest);
    expect(says('note/one *')).toBe(sha256Hex(canonicalJson(records.get('note/one *') as unknown as JsonValue)));
    for (const key of ['note/two *', 'note/one other', 'host:delta', 'signer:alpha']) expect(says(key)).toBeNull();
  });

  test('moves with a belief, with the charter and with the trust hash, and not with a mere copy of a line', () => {
    const world = newWorld();
    const claim = world.say('alpha', 'assert', 'note/one', { value: 'v1' });
    const rootOf = (charter = fakeCharter(), hash = trust): string => {
      const fold = createFold(charter, hash, fakePorts);
      foldLines(fold, world.lines);
      return readState(fold).root;
    };
    const root = rootOf();
    expect(rootOf(fakeCharter({ audiences: { operator: [], agents: [], staff: [] } }))).not.toBe(root);
    expect(rootOf(fakeCharter(), 'c'.repeat(64))).not.toBe(root);
    world.carry('alpha', claim);
    expect(rootOf()).toBe(root);
    world.say('beta', 'assert', 'note/one', { value: 'v1' });
    expect(rootOf()).not.toBe(root);
  });
});

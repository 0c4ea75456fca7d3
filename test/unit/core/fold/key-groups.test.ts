import { describe, expect, test } from 'vitest';
import { handout, keyGroups } from '../../../../src/core/fold/key-groups.ts';
import { unseenNode, type EventNode } from '../../../../src/core/fold/node.ts';

function claims(...keys: readonly number[]): readonly EventNode[] {
  return keys.map((key, at) => ({ ...unseenNode(`${at}`), key }));
}

const ids = (nodes: readonly EventNode[]): readonly string[] => nodes.map(({ id }) => id);

describe('handing out claims', () => {
  test('each claim is handed out once, however many ask: all of a thousand scopes get no more than there are', () => {
    const nodes = claims(...Array.from({ length: 1_000 }, (_, n) => n % 10));
    const left = handout(keyGroups(nodes));
    const given = Array.from({ length: 1_000 }, (_, n) => left.take(n % 3)).flat();
    expect(ids(given).toSorted()).toEqual(ids(nodes).toSorted());
  });

  test('claims of the excepted key and those that are held back stay for who asks next', () => {
    const nodes = claims(1, 1, 2, 3);
    const left = handout(keyGroups(nodes));
    expect(ids(left.take(1, ({ id }) => id === '3'))).toEqual(['2']);
    expect(ids(left.take(2))).toEqual(['0', '1', '3']);
    expect(left.take(null)).toEqual([]);
  });

  test('claims of one key can be asked for alone', () => {
    const left = handout(keyGroups(claims(1, 2, 1)));
    expect(ids(left.takeKey(1))).toEqual(['0', '2']);
    expect(left.takeKey(1)).toEqual([]);
    expect(ids(left.take(null))).toEqual(['1']);
  });
});

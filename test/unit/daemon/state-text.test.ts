import { expect, test } from 'vitest';
import { readState } from '../../../src/core/fold/fold.ts';
import { charterLeaves, emptyTree, rootOf, setLeaf } from '../../../src/core/root.ts';
import { canonicalJson, type JsonValue } from '../../../src/crypto/canonical.ts';
import { sha256Hex } from '../../../src/crypto/hash.ts';
import { stateText } from '../../../src/daemon/beliefs/snapshot.ts';
import { viewMesh, type ViewMesh } from '../../lib/view-mesh.ts';

function said(): ViewMesh {
  const mesh = viewMesh();
  mesh.say('alpha', { kind: 'assert', subject: 'note/a', value: 'one', home: 'file:a.md' });
  mesh.say('beta', { kind: 'assert', subject: 'note/a', value: 'two', home: 'file:a.md' });
  mesh.say('beta', { kind: 'lesson', subject: 'lesson/b', content: 'two' });
  mesh.settle();
  return mesh;
}

test('state text: the root follows from what is printed', () => {
  const { fold } = said();
  const text = stateText(fold);
  const state = JSON.parse(text) as {
    charter: Record<string, JsonValue>;
    records: { subject: string; scope: string }[];
    root: string;
    rules: number;
    trust: string;
  };
  expect(canonicalJson(state as unknown as JsonValue)).toBe(text);
  const tree = emptyTree();
  for (const [key, item] of Object.entries(state.charter)) setLeaf(tree, key, sha256Hex(canonicalJson(item)));
  for (const record of state.records)
    setLeaf(tree, `${record.subject} ${record.scope}`, sha256Hex(canonicalJson(record)));
  expect(rootOf(tree, state)).toBe(state.root);
  expect(state.root).toBe(readState(fold).root);
  expect([...charterLeaves(fold.charter).keys()].toSorted()).toEqual(Object.keys(state.charter).toSorted());
});

test('state text: equal folds print equal texts', () => {
  expect(stateText(said().fold)).toBe(stateText(said().fold));
});

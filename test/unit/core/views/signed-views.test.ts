/** What the views say of what signers decided: sides, pins, revoked approvals, purges. */
import { expect, test } from 'vitest';
import type { Body } from '../../../../src/core/event.ts';
import { skeletonOf } from '../../../../src/core/fold/skeleton.ts';
import { renderViews, type ViewName } from '../../../../src/core/views/render.ts';
import { viewSourceOf } from '../../../../src/core/views/view-source.ts';
import {
  beliefsOf,
  fakeCharter,
  newWorld,
  usualCharter,
  type CharterInput,
  type World,
} from '../../../lib/fold-builders.ts';
import { rows } from '../../../lib/view-mesh.ts';

function views(world: World, input: CharterInput = {}): (name: ViewName) => string {
  const { fold } = beliefsOf(world, fakeCharter({ ...usualCharter, ...input }));
  const files = renderViews(viewSourceOf(fold));
  return (name) => files.get(name) ?? '';
}

const subjectsIn = (file: string): readonly string[] => rows(file).map((row) => /`([^`]*)`/.exec(row)?.[1] ?? '');

test('INDEX.md: signed and pinned, then signed, then pinned, then the rest, delegated or not', () => {
  const world = newWorld();
  world.say('alpha', 'assert', 'note/plain', { value: 'v' });
  world.say('beta', 'assert', 'note/delegated', { value: 'v' });
  world.say('alpha', 'assert', 'note/pinned', { value: 'v' });
  world.say('alpha', 'assert', 'note/signed', { value: 'v' }, { sign: 'craig' });
  world.say('alpha', 'assert', 'note/both', { value: 'v' }, { sign: 'craig' });
  world.say('gamma', 'pin', 'note/both', {}, { sign: 'craig' });
  world.say('gamma', 'pin', 'note/pinned', {}, { sign: 'craig' });
  for (let n = 0; n < 5; n += 1) world.say('beta', 'pin', 'note/delegated');
  const index = views(world, { delegations: [{ host: 'beta', upto: 1 }] })('INDEX.md');
  expect(subjectsIn(index)).toEqual(['note/both', 'note/signed', 'note/pinned', 'note/plain', 'note/delegated']);
  expect(rows(index)[0]).toContain('[signed by craig · pinned]');
});

test('CONFLICTS.md: signers who disagree are named with their sides, and the command by which one decides', () => {
  const world = newWorld();
  world.say('alpha', 'assert', 'note/two', { value: '1', scope: 'web' }, { sign: 'craig' });
  world.say('beta', 'assert', 'note/two', { value: '2', scope: 'web' }, { sign: 'bob' });
  const conflicts = views(world)('CONFLICTS.md');
  expect(conflicts).toContain('Signers disagree (bob, craig). 2 sides; none of them is the answer.');
  expect(conflicts).toMatch(/side 1 of 2 \[alpha 1 · session s · at .* · signed by craig · id /);
  expect(conflicts).toContain('`memctl sign note/two --scope web --accept ID`');
  expect(conflicts).not.toContain('memctl retract');
});

test('CONFLICTS.md: where hosts speak by delegation, no signer is said to disagree', () => {
  const world = newWorld();
  world.say('alpha', 'assert', 'note/one', { value: '1' });
  world.say('beta', 'assert', 'note/one', { value: '2' });
  world.say('beta', 'assert', 'note/two', { value: '2' });
  world.say('gamma', 'assert', 'note/two', { value: '3' });
  const delegations = ['alpha', 'beta'].map((host) => ({ host, upto: 9 }));
  const conflicts = views(world, { delegations })('CONFLICTS.md');
  expect(conflicts).toContain('Delegated claims disagree. 2 sides; none of them is the answer.');
  expect(conflicts).toContain('A delegated claim is served; others that contradict it are parked beside it.');
});

test('QUARANTINE.md: what a revoked signer approved is listed, with the way to take it up again', () => {
  const world = newWorld();
  world.say('alpha', 'assert', 'note/one', { value: 'v' }, { sign: 'dana' });
  const view = views(world, { revoked: { dana: [{}] } });
  expect(rows(view('QUARANTINE.md'))).toEqual([
    expect.stringMatching(/^- `note\/one` \[REVOKED · assert · alpha 1 · .* · 1 bytes not shown\]$/),
  ]);
  expect(view('QUARANTINE.md')).toContain('`memctl sign --promote ID`');
  expect(view('CONFLICTS.md')).toContain('- REVOKED `note/one` [from alpha · count 1');
});

test('QUARANTINE.md: what was purged is listed by what is left, who purged it and why, and its words are in no view', () => {
  const world = newWorld();
  const id = world.say('alpha', 'assert', 'note/one', { value: 'hunter2', scope: 'web' });
  world.say('beta', 'assert', 'note/two', { value: 'v' });
  const target = skeletonOf(world.lines[0]?.body as Body, 'unsigned');
  const view = views(world, { purges: [{ target }] });
  expect(rows(view('QUARANTINE.md'))).toEqual([
    `- \`note/one\` [PURGED · assert · alpha 1 · unsigned · id ${id.slice(0, 12)} · scope web · purged by craig · reason secret]`,
  ]);
  expect(view('INDEX.md')).toContain('Withheld: 1 purged (QUARANTINE.md).');
  expect(JSON.parse(view('index.json'))).toMatchObject({ counts: { purged: 1, served: 1 } });
  for (const name of ['INDEX.md', 'index.json', 'CONFLICTS.md', 'QUARANTINE.md', 'STALE.md'] as const)
    expect(view(name)).not.toContain('hunter2');
});

test('a purged event is shown to the audience that it was for', () => {
  const world = newWorld();
  world.say('alpha', 'assert', 'note/one', { value: 'v', audience: 'staff' });
  const target = skeletonOf(world.lines[0]?.body as Body, 'unsigned');
  expect(rows(views(world, { purges: [{ target }] })('QUARANTINE.md'))).toEqual([]);
});

import { describe, expect, test } from 'vitest';
import { sessionNote } from '../../../../src/core/views/session-note.ts';
import { readerOf, selectForSession, sessionText, type SessionText } from '../../../../src/core/views/session-text.ts';
import type { ViewCache } from '../../../../src/core/views/selection.ts';
import { viewSourceOf } from '../../../../src/core/views/view-source.ts';
import { viewMesh, type ViewMesh } from '../../../lib/view-mesh.ts';

const statusLine = 'memd: 1/1 hosts, newest 0 min ago, 0 parked';

function textOf(
  mesh: ViewMesh,
  { scope = null, bytes = 9_000 }: { scope?: string | null; bytes?: number } = {},
): SessionText {
  mesh.settle();
  const source = viewSourceOf(mesh.fold);
  const reader = readerOf(source, 'operator', scope);
  const selection = selectForSession(source, reader, { own: new Map(), shared: new Map() });
  return sessionText(source, selection, { statusLine, notes: [], reader, firstBytes: 2_000, bytes });
}

function noteOf(mesh: ViewMesh, told: SessionText, scope: string | null = null) {
  mesh.settle();
  const source = viewSourceOf(mesh.fold);
  return sessionNote(source, readerOf(source, 'operator', scope), told.given);
}

const rows = (text: string): readonly string[] => text.split('\n').filter((line) => line.startsWith('- '));
const lesson = (entity: string, content = `rule ${entity}`) =>
  ({ kind: 'lesson', subject: `lesson/${entity}`, content }) as const;
const fact = (entity: string, value: string, more = {}) =>
  ({ kind: 'assert', subject: `note/${entity}`, value, home: 'file:a.md', ...more }) as const;

describe('session text', () => {
  test('a small memory is told whole, in one part', () => {
    const mesh = viewMesh();
    mesh.say('alpha', lesson('a'));
    mesh.say('alpha', fact('b', 'v'));
    const { text, given } = textOf(mesh);
    expect(text.startsWith(`${statusLine}\nShared memory of 1 host. `)).toBe(true);
    expect(rows(text)).toHaveLength(2);
    expect(text).not.toContain('stand above');
    expect(given.map(({ subject }) => subject).toSorted()).toEqual(['lesson/a', 'note/b']);
  });

  test('of a large one the first part stands alone, and the last line counts what is left out', () => {
    const mesh = viewMesh();
    for (let i = 0; i < 300; i += 1) mesh.say('alpha', lesson(`r${i}`, `rule ${i} ${'é'.repeat(40)}`));
    const { text, given } = textOf(mesh);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(9_000);
    expect(Buffer.byteLength(text)).toBeGreaterThan(8_500);
    const lines = text.split('\n');
    const end = lines.findIndex((line) => / most important of 300 rows stand above/.test(line));
    const first = lines.slice(0, end + 1).join('\n');
    expect(Buffer.byteLength(first)).toBeLessThanOrEqual(2_000);
    expect(first).toContain('memctl recall SUBJECT');
    expect(given).toHaveLength(rows(text).length);
    expect(lines.at(-2)).toBe(`${300 - given.length} more: \`memctl search WORDS\` or \`memctl recall SUBJECT\`.`);
  });

  test('a subagent is told the first part alone', () => {
    const mesh = viewMesh();
    for (let i = 0; i < 100; i += 1) mesh.say('alpha', lesson(`r${i}`, `rule ${i} ${'x'.repeat(100)}`));
    const { text, given } = textOf(mesh, { bytes: 2_000 });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(2_000);
    expect(text.trimEnd().split('\n').at(-1)).toContain(`${100 - given.length} more`);
  });

  test('what is disputed comes first and is never given as an answer', () => {
    const mesh = viewMesh();
    for (let i = 0; i < 50; i += 1) mesh.say('alpha', lesson(`r${i}`, 'x'.repeat(150)));
    mesh.say('alpha', fact('d', 'one'));
    mesh.say('beta', fact('d', 'two'));
    const { text, given } = textOf(mesh);
    expect(text.split('\n')[3]).toMatch(/^Unresolved/);
    expect(text.split('\n')[4]).toMatch(/^- `note\/d` \[UNRESOLVED\]/);
    expect(text).not.toContain('`one`');
    expect(given.find(({ subject }) => subject === 'note/d')?.id).toBeNull();
  });

  test('what is known for every scope already changes nothing about the text of one', () => {
    const mesh = viewMesh();
    for (let i = 0; i < 40; i += 1) {
      const scope = ['web', 'ops', '*'][i % 3] ?? '*';
      mesh.say(i % 2 === 0 ? 'alpha' : 'beta', {
        ...fact(`f${i % 14}`, `v${i % 5}`),
        ...(scope === '*' ? {} : { scope }),
      });
    }
    mesh.settle();
    const source = viewSourceOf(mesh.fold);
    const shared: ViewCache = new Map();
    selectForSession(source, readerOf(source, 'operator', null), { own: shared, shared });
    for (const scope of ['web', 'ops', '*', 'none']) {
      const reader = readerOf(source, 'operator', scope);
      const fresh = selectForSession(source, reader, { own: new Map(), shared: new Map() });
      expect(selectForSession(source, reader, { own: new Map(), shared })).toEqual(fresh);
    }
  });

  test('one project is told its own rows and those of everywhere', () => {
    const mesh = viewMesh();
    mesh.say('alpha', { ...lesson('w'), scope: 'web' });
    mesh.say('alpha', { ...lesson('o'), scope: 'ops' });
    mesh.say('alpha', lesson('e'));
    const { text } = textOf(mesh, { scope: 'web' });
    expect(text).toContain('for project web');
    expect(rows(text).map((row) => row.slice(3, 11))).toEqual(expect.arrayContaining(['lesson/w', 'lesson/e']));
    expect(text).not.toContain('lesson/o');
  });
});

describe('session note', () => {
  test('nothing changed: nothing is said, also when the rows rank lower now', () => {
    const mesh = viewMesh();
    mesh.say('alpha', lesson('a'));
    const told = textOf(mesh);
    for (let i = 0; i < 200; i += 1) mesh.say('alpha', lesson(`new${i}`));
    expect(noteOf(mesh, told).text).toBe('');
  });

  test('another host that says the same is no change', () => {
    const mesh = viewMesh();
    mesh.say('beta', fact('a', 'v'));
    const told = textOf(mesh);
    mesh.say('alpha', fact('a', 'v'));
    expect(noteOf(mesh, told).text).toBe('');
  });

  test('superseded, parked and retracted rows are each named once', () => {
    const mesh = viewMesh();
    const old = mesh.say('alpha', fact('s', 'old'));
    mesh.say('alpha', fact('p', 'one'));
    const gone = mesh.say('alpha', fact('r', 'v'));
    const told = textOf(mesh);
    mesh.say('alpha', { ...fact('s', 'new'), supersedes: [old.id] });
    mesh.say('beta', fact('p', 'two'));
    mesh.say('alpha', { kind: 'retract', subject: 'note/r', supersedes: [gone.id] });
    const { text, given } = noteOf(mesh, told);
    expect(rows(text)).toHaveLength(3);
    expect(text).toMatch(/- `note\/s` \[alpha\] = `new`/);
    expect(text).toMatch(/- `note\/p` \[UNRESOLVED\]/);
    expect(text).toMatch(/- `note\/r` is not served any more/);
    expect(noteOf(mesh, { text: '', given }).text).toBe('');
  });

  test('a settled dispute is told with its answer', () => {
    const mesh = viewMesh();
    mesh.say('alpha', fact('p', 'one'));
    const side = mesh.say('beta', fact('p', 'two'));
    const told = textOf(mesh);
    mesh.say('beta', { kind: 'retract', subject: 'note/p', supersedes: [side.id] });
    expect(noteOf(mesh, told).text).toMatch(/- `note\/p` \[alpha\] = `one`/);
  });

  test('a claim of the project that takes the place of one of everywhere is a change', () => {
    const mesh = viewMesh();
    mesh.say('alpha', fact('a', 'v'));
    const told = textOf(mesh, { scope: 'web' });
    mesh.say('alpha', fact('a', 'w', { scope: 'web' }));
    expect(noteOf(mesh, told, 'web').text).toContain('`note/a`');
  });

  test('many changes are bounded, and the rest is counted', () => {
    const mesh = viewMesh();
    const said = Array.from({ length: 30 }, (_, i) => mesh.say('alpha', fact(`f${i}`, 'v')));
    const told = textOf(mesh);
    for (const { id, body } of said) mesh.say('alpha', { kind: 'retract', subject: body.subject, supersedes: [id] });
    const { text } = noteOf(mesh, told);
    expect(rows(text)).toHaveLength(8);
    expect(text).toContain(`${told.given.length - 8} more changed`);
  });
});

import { describe, expect, test } from 'vitest';
import { blame, why } from '../../../../src/daemon/queries/why.ts';
import { recall } from '../../../../src/daemon/queries/recall.ts';
import { search } from '../../../../src/daemon/queries/search.ts';
import { emptyDatabase, writeFold } from '../../../lib/database.ts';
import { fakeLine } from '../../../lib/fold-builders.ts';
import { viewMesh, type ViewMesh } from '../../../lib/view-mesh.ts';

const claim = (subject: string, value: string, more: object = {}) =>
  ({ kind: 'assert', subject, value, home: 'file:a.md', ...more }) as const;

function databaseOf(mesh: ViewMesh) {
  mesh.settle();
  const database = emptyDatabase();
  writeFold(database, mesh.fold);
  return database;
}

const searching = (mesh: ViewMesh, words: string, more: { scope?: string; limit?: number } = {}) =>
  search(databaseOf(mesh), { words, scope: more.scope, limit: more.limit ?? 20 });

describe('search', () => {
  test('a served claim is the answer', () => {
    const mesh = viewMesh();
    const { id } = mesh.say('alpha', claim('endpoint/grafana', 'nas:3000'));
    expect(searching(mesh, 'grafana')).toMatchObject({
      claims: [{ id, subject: 'endpoint/grafana', status: 'served', value: 'nas:3000' }],
      matching: 'all',
      more: false,
    });
  });

  test('E5: a hit on an old wording names it and what replaced it, and does not repeat it', () => {
    const mesh = viewMesh();
    const old = mesh.say('alpha', claim('endpoint/grafana', 'nas:3000', { content: 'beside the printer' }));
    const next = mesh.say('alpha', claim('endpoint/grafana', 'nas:4000', { supersedes: [old.id] }));
    const last = mesh.say('alpha', claim('endpoint/grafana', 'nas:5000', { supersedes: [next.id] }));
    const { claims } = searching(mesh, 'beside the printer');
    expect(claims).toMatchObject([
      { id: old.id, status: 'superseded', replacedBy: { id: last.id, status: 'served', value: 'nas:5000' } },
    ]);
    expect(JSON.stringify(claims)).not.toMatch(/printer|3000|4000/);
  });

  test('where old and new wordings match, the new one is told once', () => {
    const mesh = viewMesh();
    const old = mesh.say('alpha', claim('endpoint/grafana', 'nas:3000'));
    const next = mesh.say('alpha', claim('endpoint/grafana', 'nas:4000', { supersedes: [old.id] }));
    mesh.say('beta', claim('endpoint/grafana', 'nas:4000'));
    expect(searching(mesh, 'grafana').claims.map(({ id }) => id)).toEqual([next.id]);
  });

  test('a claim that stands in the log of another host is placed there', () => {
    const mesh = viewMesh();
    const { body } = mesh.say('beta', claim('note/one', 'marker'));
    mesh.lines.push(fakeLine({ log: 'alpha', seq: 1 }, body, { sign: 'craig' }));
    const { claims } = searching(mesh, 'marker');
    expect(claims).toMatchObject([{ host: 'beta', log: 'alpha', seq: 1, level: 'signed' }]);
    expect(blame(databaseOf(mesh), 'note/one')).toMatchObject([{ host: 'beta', log: 'alpha', seq: 1 }]);
  });

  test('what was taken back without a replacement is a tombstone', () => {
    const mesh = viewMesh();
    const old = mesh.say('alpha', claim('endpoint/grafana', 'nas:3000'));
    mesh.say('alpha', { kind: 'retract', subject: 'endpoint/grafana', supersedes: [old.id] });
    const { claims } = searching(mesh, 'grafana');
    expect(claims).toMatchObject([{ id: old.id, status: 'retracted' }]);
    expect(JSON.stringify(claims)).not.toMatch(/3000|replacedBy/);
  });

  test('parked, quarantined, held, stale and undecided claims are named and not repeated', () => {
    const mesh = viewMesh();
    mesh.say('alpha', claim('note/parked', 'marker one'));
    mesh.say('beta', claim('note/parked', 'marker two'));
    mesh.say('alpha', claim('note/strange', 'marker three', { lineage: 'untrusted' }));
    mesh.say('alpha', claim('unheard/of', 'marker four'));
    mesh.say('alpha', claim('note/open', 'marker five'));
    mesh.say('alpha', { kind: 'question', subject: 'note/open', content: 'really?' });
    const observe = (digit: string) =>
      mesh.say('alpha', {
        kind: 'observe',
        subject: 'note/old',
        home: 'file:a.md',
        digest: `sha256:${digit.repeat(64)}`,
      });
    mesh.say('alpha', claim('note/old', 'marker six', { basis: [observe('1').id] }));
    observe('2');
    mesh.say('alpha', claim('note/plain', 'marker seven'));
    const { claims } = searching(mesh, 'marker');
    expect(claims[0]).toMatchObject({ subject: 'note/plain', status: 'served' });
    expect(Object.fromEntries(claims.slice(1).map((one) => [one.subject, one.status]))).toEqual({
      'note/parked': 'parked',
      'note/strange': 'quarantined',
      'unheard/of': 'held',
      'note/open': 'undecided',
      'note/old': 'stale',
    });
    expect(JSON.stringify(claims.slice(1))).not.toContain('marker');
  });

  test('a question that anybody asks does not take a signed claim out of the answers', () => {
    const mesh = viewMesh();
    const { id } = mesh.say('alpha', claim('note/one', 'marker signed'), { signer: 'craig' });
    mesh.say('beta', { kind: 'question', subject: 'note/one', content: 'really?' });
    expect(searching(mesh, 'marker').claims).toMatchObject([{ id, status: 'served', value: 'marker signed' }]);
    const told = recall(databaseOf(mesh), { subject: 'note/one', scope: '*', host: 'alpha', now: 0 });
    expect(told).toMatchObject({
      status: 'served',
      claim: { id },
      flags: ['undecided'],
      claims: [{ kind: 'question' }],
    });
    mesh.say('beta', claim('note/one', 'marker unsigned'));
    expect(searching(mesh, 'marker').claims[0]).toMatchObject({ id, status: 'contested' });
  });

  test('an unsigned claim beside a signed one is named, and the signed one is contested', () => {
    const mesh = viewMesh();
    mesh.say('alpha', claim('note/one', 'marker signed'), { signer: 'craig' });
    mesh.say('beta', claim('note/one', 'marker unsigned'));
    const { claims } = searching(mesh, 'marker');
    expect(claims.map(({ status, value }) => [status, value])).toEqual([
      ['contested', 'marker signed'],
      ['parked', undefined],
    ]);
  });

  test('claims of a project are found in it, told of elsewhere, and hide what holds everywhere', () => {
    const mesh = viewMesh();
    mesh.say('alpha', claim('note/port', 'marker 1', { scope: 'web' }));
    mesh.say('alpha', claim('note/host', 'marker 2'));
    const database = databaseOf(mesh);
    const inside = search(database, { words: 'marker', scope: 'web', limit: 20 });
    expect(inside.claims.map(({ subject }) => subject)).toEqual(['note/host', 'note/port']);
    const outside = search(database, { words: 'marker', scope: '*', limit: 20 });
    expect(outside.claims.map(({ subject }) => subject)).toEqual(['note/host']);
    expect(outside.elsewhere).toBe(1);
    expect(search(database, { words: 'marker', scope: undefined, limit: 20 }).claims).toHaveLength(2);
  });

  test('a claim for everywhere that its project contradicts is parked there and served elsewhere', () => {
    const mesh = viewMesh();
    mesh.say('alpha', claim('note/port', 'marker 1'));
    mesh.say('alpha', claim('note/port', 'other', { scope: 'web' }));
    const database = databaseOf(mesh);
    const statusIn = (scope: string) => search(database, { words: 'marker', scope, limit: 20 }).claims[0]?.status;
    expect([statusIn('web'), statusIn('*')]).toEqual(['parked', 'served']);
  });

  test('equal ranks go by subject, and a limit keeps the best', () => {
    const mesh = viewMesh();
    for (const name of ['c', 'a', 'b']) mesh.say('alpha', claim(`note/${name}`, 'marker'));
    const database = databaseOf(mesh);
    const all = search(database, { words: 'marker', scope: undefined, limit: 20 });
    expect(all.claims.map(({ subject }) => subject)).toEqual(['note/a', 'note/b', 'note/c']);
    expect(search(database, { words: 'marker', scope: undefined, limit: 2 })).toMatchObject({ more: true });
  });

  test('words that no claim has all of are taken less strictly, and that is told', () => {
    const mesh = viewMesh();
    mesh.say('alpha', { kind: 'lesson', subject: 'lesson/paths', content: 'quote every path' });
    const database = databaseOf(mesh);
    const asked = (words: string) => search(database, { words, scope: undefined, limit: 20 });
    expect([asked('quot pat').matching, asked('quot pat').claims.length]).toEqual(['beginnings', 1]);
    expect([asked('path zebra').matching, asked('path zebra').claims.length]).toEqual(['some', 1]);
    expect(asked('zebra').claims).toEqual([]);
    expect(() => asked('"* -')).toThrow(expect.objectContaining({ code: 'BAD_REQUEST' }));
  });
});

describe('why', () => {
  test('decisions, questions and proposals of a subject, as written, also those withdrawn; no claims', () => {
    const mesh = viewMesh();
    const first = mesh.say('alpha', { kind: 'decision', subject: 'note/db', content: 'postgres' });
    mesh.say('alpha', claim('note/db', 'sqlite'));
    mesh.say('alpha', {
      kind: 'decision',
      subject: 'note/db',
      content: 'sqlite\nrejected: postgres',
      supersedes: [first.id],
    });
    mesh.say('beta', { kind: 'question', subject: 'note/db', content: 'fast enough?' });
    mesh.say('beta', { kind: 'propose', proposes: 'assert', subject: 'note/db', value: 'duckdb', home: 'file:a.md' });
    mesh.say('beta', { kind: 'decision', subject: 'note/other', content: 'sqlite too' });
    const { claims, exact } = why(databaseOf(mesh), { topic: 'note/db', scope: undefined, limit: 50 });
    expect(exact).toBe(true);
    expect(claims.map(({ host, kind, content, value, status }) => [host, kind, content ?? value, status])).toEqual([
      ['alpha', 'decision', 'postgres', 'superseded'],
      ['alpha', 'decision', 'sqlite\nrejected: postgres', 'recorded'],
      ['beta', 'question', 'fast enough?', 'open'],
      ['beta', 'propose', 'duckdb', 'recorded'],
    ]);
  });

  test('words find reasons that have them, and reasons of subjects whose claims have them', () => {
    const mesh = viewMesh();
    mesh.say('alpha', { kind: 'decision', subject: 'decision/store', content: 'sqlite, not a server' });
    mesh.say('alpha', claim('note/db', 'sqlite'));
    mesh.say('alpha', { kind: 'decision', subject: 'note/db', content: 'one file' });
    const found = why(databaseOf(mesh), { topic: 'sqlite', scope: undefined, limit: 50 });
    expect(found.subjects).toEqual(['decision/store', 'note/db']);
    expect(found.claims).toHaveLength(2);
    const newest = why(databaseOf(mesh), { topic: 'sqlite', scope: undefined, limit: 1 });
    expect([newest.claims.length, newest.more]).toEqual([1, 1]);
  });

  test('text of strangers is not repeated', () => {
    const mesh = viewMesh();
    mesh.say('alpha', { kind: 'decision', subject: 'note/db', content: 'marker', lineage: 'untrusted' });
    expect(JSON.stringify(why(databaseOf(mesh), { topic: 'db', scope: undefined, limit: 9 }))).not.toContain('marker');
  });
});

describe('blame', () => {
  test('every claim in log order, with what became of it and which event did that', () => {
    const mesh = viewMesh();
    const first = mesh.say('beta', claim('note/db', 'one'));
    const second = mesh.say('alpha', claim('note/db', 'two', { supersedes: [first.id] }));
    const gone = mesh.say('alpha', { kind: 'retract', subject: 'note/db', supersedes: [second.id] });
    const blamed = blame(databaseOf(mesh), 'note/db');
    expect(blamed).toMatchObject([
      {
        id: second.id,
        log: 'alpha',
        seq: 1,
        status: 'retracted',
        by: [{ id: gone.id, kind: 'retract', host: 'alpha', seq: 2 }],
      },
      { id: first.id, log: 'beta', seq: 1 },
    ]);
  });

  test('a subject that nobody claimed anything about is not found', () => {
    const mesh = viewMesh();
    mesh.say('alpha', { kind: 'decision', subject: 'note/db', content: 'x' });
    const database = databaseOf(mesh);
    for (const subject of ['note/db', 'note/none'])
      expect(() => blame(database, subject)).toThrow(expect.objectContaining({ code: 'SUBJECT_UNKNOWN', exit: 7 }));
  });
});

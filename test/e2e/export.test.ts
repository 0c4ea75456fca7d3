import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { git } from '../lib/git.ts';
import { meshOfOne, type Json, type World } from '../lib/memctl.ts';

const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex');

async function world(): Promise<World> {
  const made = await meshOfOne();
  await made.run(['assert', 'endpoint/grafana', '--value', 'nas:3000 \u202E', '--home-ref', 'file:a.md']);
  await made.run(['assert', 'endpoint/grafana', '--value', 'nas:4000', '--home-ref', 'file:a.md']);
  await made.run(['lesson', 'lesson/quote-paths', 'Quote every path']);
  return made;
}

/** The manifest, after every file was compared with what it says. */
function checked(folder: string): Json {
  const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as Json;
  const files = manifest['files'] as Record<string, { bytes: number; lines: number; sha256: string }>;
  for (const [name, said] of Object.entries(files)) {
    const data = readFileSync(join(folder, name));
    const lines = data.toString('utf8').split('\n').length - 1;
    expect({ name, bytes: data.length, lines, sha256: sha256(data) }).toEqual({ name, ...said });
  }
  return manifest;
}

test('export: exact lines, trust ops and a manifest, beside a running memd', { timeout: 60_000 }, async () => {
  const made = await world();
  await made.memd();
  const status = await made.json(['status']);
  const done = await made.json(['export', 'backup']);
  const folder = join(made.work, 'backup');
  expect(done).toMatchObject({ code: 0, value: { dir: folder, files: 3, problems: [], root: status.value['root'] } });
  expect(readdirSync(made.work)).toEqual(['backup']);
  const manifest = checked(folder);
  expect(manifest).toMatchObject({
    v: 1,
    mesh: status.value['mesh'],
    root: status.value['root'],
    heads: status.value['heads'],
    trust: { hash: status.value['trust'], ops: 1 },
    problems: [],
  });
  const stored = git(join(made.home, 'repo.git'), 'show', 'log/alpha:00/00/00.jsonl');
  expect(readFileSync(join(folder, 'logs/alpha.jsonl'), 'utf8').trimEnd()).toBe(stored.trimEnd());
  const op = JSON.parse(readFileSync(join(folder, 'trust.jsonl'), 'utf8')) as { body: { op: string } };
  expect(op.body.op).toBe('genesis');
  const modes = [folder, join(folder, 'manifest.json')].map((file) => statSync(file).mode & 0o777);
  expect(modes).toEqual([0o700, 0o600]);
  expect(readFileSync(join(folder, 'manifest.json'), 'utf8')).not.toContain('PRIVATE');
});

test.skipIf(process.platform !== 'linux')(
  'export: a place where no folder can be made is refused at once (on Linux: /proc)',
  { timeout: 60_000 },
  async () => {
    const made = await world();
    const { code, value } = await made.json(['export', '/proc/memctl-export']);
    expect([code, (value['error'] as Json)['code']]).toEqual([1, 'DISK_FAILED']);
  },
);

test('export: a folder in use is refused and not touched; an empty one is taken', { timeout: 60_000 }, async () => {
  const made = await world();
  const at = (name: string): string => join(made.work, name);
  mkdirSync(at('used'));
  writeFileSync(at('used/mine'), 'x');
  writeFileSync(at('file'), 'x');
  for (const name of ['used', 'file']) {
    const refused = await made.json(['export', at(name)]);
    expect(refused).toMatchObject({ code: 2, value: { error: { code: 'FOLDER_IN_USE' } } });
  }
  expect(readdirSync(at('used'))).toEqual(['mine']);
  mkdirSync(at('empty'));
  expect((await made.run(['export', at('empty')])).code).toBe(0);
  expect(existsSync(at('empty/manifest.json'))).toBe(true);
  expect((await made.run(['export'])).code).toBe(2);
  expect((await made.run(['export', '--state', 'x'])).code).toBe(2);
});

test('export --state: canonical text that says the root of status', { timeout: 60_000 }, async () => {
  const made = await world();
  const status = await made.json(['status']);
  const first = await made.run(['export', '--state']);
  const again = await made.run(['export', '--state', '--json']);
  expect(again).toEqual(first);
  const state = JSON.parse(first.stdout) as { root: string; records: Json[]; charter: Json; trust: string };
  expect([state.root, state.trust]).toEqual([status.value['root'], status.value['trust']]);
  expect(state.records.map((record) => [record['subject'], record['status']])).toEqual([
    ['endpoint/grafana', 'parked'],
    ['lesson/quote-paths', 'served'],
  ]);
  expect(Object.keys(state.charter)).toContain('host:alpha');
});

test(
  'export: a damaged log is exported as far as it reads, and the manifest and exit code say so',
  { timeout: 60_000 },
  async () => {
    const made = await world();
    const repository = join(made.home, 'repo.git');
    const blob = git(repository, 'rev-parse', 'log/alpha:00/00/00.jsonl').trim();
    truncateSync(join(repository, 'objects', blob.slice(0, 2), blob.slice(2)), 0);
    const folder = join(made.work, 'backup');
    const done = await made.json(['export', folder]);
    expect(done.code).toBe(1);
    expect(done.value['problems']).toEqual([
      expect.stringContaining('log alpha could be read to line 0 only: OBJECT_DAMAGED'),
    ]);
    expect(checked(folder)['problems']).toEqual(done.value['problems']);
  },
);

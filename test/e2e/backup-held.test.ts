/** import of an export into a home that holds something else: purges, forks, damage, other hosts' logs. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { git } from '../lib/git.ts';
import { meshOfOne, newWorld, type World } from '../lib/memctl.ts';

const slow = { timeout: 120_000 };

function newMachine(made: World): World {
  const other = newWorld();
  mkdirSync(other.home, { mode: 0o700 });
  cpSync(join(made.home, 'keys'), join(other.home, 'keys'), { recursive: true });
  return other;
}

/** Everything in a folder as one text. */
function textIn(folder: string): string {
  const files = readdirSync(folder, { recursive: true, encoding: 'latin1', withFileTypes: true });
  const plain = files.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return plain.map((file) => readFileSync(file, 'latin1')).join('\n');
}

test(
  'E8: a backup of before a purge does not bring the body back, and one of after it carries the purge',
  slow,
  async () => {
    const made = await meshOfOne();
    const { value } = await made.json(['lesson', 'lesson/one', 'swordfish-4711 is the word']);
    await made.run(['lesson', 'lesson/two', 'Name the unit']);
    const before = join(made.work, 'before');
    await made.run(['export', before]);
    expect(await made.run(['purge', String(value['id']), '--reason', 'secret', '--yes'])).toMatchObject({ code: 0 });
    const root = (await made.json(['status'])).value['root'];
    expect(await made.json(['import', before])).toMatchObject({ code: 0, value: { new: 0, unchanged: 2, root } });
    expect(textIn(made.home)).not.toContain('swordfish-4711');

    const after = join(made.work, 'after');
    await made.run(['export', after]);
    expect(textIn(after)).not.toContain('swordfish-4711');
    const other = newMachine(made);
    expect(await other.json(['import', after])).toMatchObject({ code: 0, value: { new: 2, root } });
    // The tombstone survives: the older backup, with the body, is taken as the hole that it is.
    expect(await other.json(['import', before])).toMatchObject({ code: 0, value: { new: 0, unchanged: 2, root } });
    expect((await other.json(['recall', 'lesson/one'])).value).toMatchObject({ status: 'purged' });

    // An old backup first, then one that knows of the purge: the body goes again.
    const third = newMachine(made);
    expect(await third.json(['import', before])).toMatchObject({ code: 0, value: { new: 2 } });
    expect(await third.json(['import', after])).toMatchObject({ code: 0, value: { new: 0, trust: { new: 1 }, root } });
    expect(textIn(third.home)).not.toContain('swordfish-4711');
  },
);

test('a backup of the other side of a fork: ours stays, the other side is kept, the fork is proved', slow, async () => {
  const made = await meshOfOne();
  await made.run(['lesson', 'lesson/one', 'Both have it']);
  const first = join(made.work, 'first');
  await made.run(['export', first]);
  const other = newMachine(made);
  await other.run(['import', first]);
  await other.run(['lesson', 'lesson/two', 'Said elsewhere']);
  await made.run(['lesson', 'lesson/two', 'Said here']);
  const theirs = join(other.work, 'theirs');
  await other.run(['export', theirs]);
  const oid = git(join(made.home, 'repo.git'), 'rev-parse', 'log/alpha');
  const done = await made.json(['import', theirs]);
  expect(done).toMatchObject({ code: 1, value: { new: 0, unchanged: 1 } });
  expect(JSON.stringify(done.value['skipped'])).toContain('alpha signed both: the log is forked');
  expect(git(join(made.home, 'repo.git'), 'rev-parse', 'log/alpha')).toBe(oid);
  expect(textIn(join(made.home, 'forks'))).toContain('Said elsewhere');
  const kinds = ((await made.json(['status'])).value['alarms'] as { kind: string }[]).map(({ kind }) => kind);
  expect(kinds).toContain('LOG_FORKED');
});

test(
  'B1: a copy that is damaged is made whole by a backup that holds all of it, and by no shorter one',
  slow,
  async () => {
    const made = await meshOfOne();
    await made.run(['lesson', 'lesson/one', 'One']);
    const shorter = join(made.work, 'shorter');
    await made.run(['export', shorter]);
    await made.run(['lesson', 'lesson/two', 'Two']);
    const whole = join(made.work, 'whole');
    await made.run(['export', whole]);
    const root = (await made.json(['status'])).value['root'];
    const repository = join(made.home, 'repo.git');
    const blob = git(repository, 'rev-parse', 'log/alpha:00/00/00.jsonl').trim();
    const object = join(repository, 'objects', blob.slice(0, 2), blob.slice(2));
    truncateSync(object, 0);
    const refused = await made.json(['lesson', 'lesson/three', 'No']);
    expect(refused).toMatchObject({ code: 1, value: { error: { code: 'OWN_LOG_DAMAGED' } } });

    const tried = await made.json(['import', shorter]);
    expect(tried).toMatchObject({ code: 1, value: { logs: { alpha: { mended: false } } } });
    expect(JSON.stringify(tried.value['skipped'])).toContain('too short');
    const done = await made.json(['import', whole]);
    expect(done).toMatchObject({ code: 0, value: { root, logs: { alpha: { mended: true } }, skipped: [] } });
    expect((await made.json(['verify', '--deep'])).value).toMatchObject({ ok: true, problems: [] });
    expect(await made.json(['lesson', 'lesson/three', 'Go on'])).toMatchObject({ code: 0, value: { seq: 3 } });
  },
);

test('a damaged own log stays as it is where nothing says that the backup holds all of it', slow, async () => {
  const made = await meshOfOne();
  await made.run(['lesson', 'lesson/one', 'One']);
  const older = join(made.work, 'older');
  await made.run(['export', older]);
  for (const n of [2, 3]) await made.run(['lesson', `lesson/n${n}`, 'More']);
  const repository = join(made.home, 'repo.git');
  const oid = git(repository, 'rev-parse', 'log/alpha').trim();
  rmSync(join(repository, 'objects', oid.slice(0, 2), oid.slice(2)));
  for (const name of ['last-heads.json', 'journal.jsonl', 'repo.git/refs/heads/view/alpha', 'state.sqlite'])
    rmSync(join(made.home, name));
  const tried = await made.json(['import', older]);
  expect(tried).toMatchObject({ code: 1, value: { logs: { alpha: { new: 0, mended: false } } } });
  expect(JSON.stringify(tried.value['skipped'])).toContain('memctl doctor --repair');
  expect((await made.json(['lesson', 'lesson/n4', 'No'])).code).toBe(1);
  // What the repair finds behind the damage is more than the backup had.
  await made.run(['doctor', '--repair']);
  expect((await made.json(['verify', '--deep'])).value).toMatchObject({ ok: true, logs: { alpha: { lines: 3 } } });
});

test(
  'an own branch that is gone or filled with NUL comes back from a backup, and with it the right to write',
  slow,
  async () => {
    const made = await meshOfOne();
    await made.run(['lesson', 'lesson/one', 'One']);
    const whole = join(made.work, 'whole');
    await made.run(['export', whole]);
    const branch = join(made.home, 'repo.git/refs/heads/log/alpha');
    for (const damage of [() => rmSync(branch), () => writeFileSync(branch, Buffer.alloc(41))]) {
      damage();
      expect((await made.json(['lesson', 'lesson/two', 'No'])).code).toBe(1);
      expect(await made.json(['import', whole])).toMatchObject({ code: 0, value: { skipped: [] } });
    }
    expect(await made.json(['lesson', 'lesson/two', 'Go on'])).toMatchObject({ code: 0, value: { seq: 2 } });
  },
);

test('thousands of lines, in one commit; what was cut off by a crash is completed', slow, async () => {
  const made = await meshOfOne();
  const events = Array.from({ length: 2_500 }, (_, at) =>
    JSON.stringify({ kind: 'lesson', subject: `lesson/n${at}`, content: `Number ${at}` }),
  );
  writeFileSync(join(made.work, 'events.jsonl'), `${events.join('\n')}\n`);
  expect((await made.run(['append', '--file', 'events.jsonl'])).code).toBe(0);
  const folder = join(made.work, 'backup');
  await made.run(['export', folder]);
  const other = newMachine(made);
  // As a crash leaves it: the repository and its trust set are there, the logs are not.
  const cut = join(made.work, 'cut');
  cpSync(folder, cut, { recursive: true });
  rmSync(join(cut, 'logs/alpha.jsonl'));
  expect((await other.json(['import', cut])).code).toBe(1);
  const done = await other.json(['import', folder]);
  expect(done).toMatchObject({ code: 0, value: { new: 2_500 } });
  expect(done.value['root']).toBe((await made.json(['status'])).value['root']);
  expect(git(join(other.home, 'repo.git'), 'rev-list', '--count', 'log/alpha').trim()).toBe('1');
  expect(existsSync(join(other.home, 'keys/host_ed25519'))).toBe(true);
});

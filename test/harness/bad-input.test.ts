import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { temporaryFolder, temporaryHome } from '../lib/temporary.ts';
import { addedText, memctl, run, runHook } from './hosts.ts';

/** A home without memd and with an index. */
function homeWithIndex() {
  const home = temporaryHome();
  mkdirSync(path.join(home.views, 'operator'), { recursive: true });
  const index =
    '# Memory index\n\n## Rules\n\n- `lesson/a` [alpha] a rule\n\n## Facts\n\n- `fact/b` [alpha] b\n\n## Unresolved\n\n(none)\n';
  writeFileSync(path.join(home.views, 'operator', 'INDEX.md'), index);
  return home;
}

const start = ['claude-code', 'SessionStart'];

describe('a hook that is given nonsense on stdin still tells the memory', () => {
  test.each([
    ['nothing', ''],
    ['text', 'hello'],
    ['half of JSON', '{"session_id":"a'],
    ['null', 'null'],
    ['a list', '[{"session_id":"a"}]'],
    ['fields of the wrong kind', '{"session_id":7,"cwd":[],"source":{},"hook_event_name":null}'],
    ['bytes', Buffer.from([0, 255, 254, 10, 123])],
    ['a path with a NUL in it', String.raw`{"cwd":"/a\u0000b"}`],
    ['an id that is far too long', JSON.stringify({ session_id: 'x'.repeat(100_000) })],
    ['16 MB', Buffer.alloc(16 * 1_024 * 1_024, 'x')],
    ['16 MB of JSON', JSON.stringify({ session_id: 'a', prompt: 'y'.repeat(16 * 1_024 * 1_024) })],
  ])('%s', async (_, stdin) => {
    const home = homeWithIndex();
    const done = await runHook(home.dir, start, stdin);
    expect(addedText(done, 'SessionStart')).toMatch(/^memd: NOT RUNNING, index is 0 min old\n/);
    expect(done.stderr).toBe('');
    expect(readFileSync(home.hooksLog, 'utf8')).toMatch(/"outcome":"degraded"/);
  });

  test('and does not wait for a harness that leaves stdin open', async () => {
    const done = await runHook(homeWithIndex().dir, start, '{"session_id":"a"}', { end: false });
    expect(addedText(done, 'SessionStart')).toContain('`lesson/a` [alpha] a rule');
  });

  test('an event under another name on stdin is answered under that name', async () => {
    const done = await runHook(homeWithIndex().dir, start, '{"hook_event_name":"SubagentStart"}');
    expect(addedText(done, 'SubagentStart')).toContain('a rule');
  });
});

test.each([[[]], [['claude-code']], [['claude-code', 'PreToolUse']], [['emacs', 'SessionStart']], [['--frob', 'x']]])(
  'a hook that is called with %j says nothing and exits 0',
  async (words) => {
    const home = homeWithIndex();
    const done = await runHook(home.dir, words, '{}');
    expect([done.code, done.stdout, done.stderr]).toEqual([0, '', '']);
    expect(readFileSync(home.hooksLog, 'utf8')).toContain('"outcome":"skipped"');
  },
);

describe('a hook whose home is broken says so in one line', () => {
  const broken: Readonly<Record<string, () => string>> = {
    'there is none': () => path.join(temporaryFolder(), 'none'),
    'it is a file': () => {
      const file = path.join(temporaryFolder(), 'file');
      writeFileSync(file, '');
      return file;
    },
    'it has no index yet': () => temporaryHome().dir,
    'its index is a folder': () => {
      const home = temporaryHome();
      mkdirSync(path.join(home.views, 'operator', 'INDEX.md'), { recursive: true });
      return home.dir;
    },
    'its index is a pipe': () => {
      const home = temporaryHome();
      mkdirSync(path.join(home.views, 'operator'));
      spawnSync('mkfifo', [path.join(home.views, 'operator', 'INDEX.md')]);
      return home.dir;
    },
    'its index is a link out': () => {
      const home = temporaryHome();
      mkdirSync(path.join(home.views, 'operator'));
      symlinkSync('/etc/hostname', path.join(home.views, 'operator', 'INDEX.md'));
      return home.dir;
    },
  };
  test.each(Object.entries(broken))('%s', async (_, make) => {
    const text = addedText(await runHook(make(), start, '{}'), 'SessionStart');
    expect(text).toMatch(/^memd: NOT RUNNING, no index can be read: /);
    expect(text.trimEnd().split('\n')).toHaveLength(2);
  });

  test('no home is named', async () => {
    const env = { HOME: '', XDG_DATA_HOME: '', MEMD_HOME: '' };
    const done = await run([process.execPath, memctl, 'hook', ...start], '{}', { env });
    expect(addedText(done, 'SessionStart')).toContain('no home folder is named');
  });

  test('its logs cannot be written', async () => {
    const home = homeWithIndex();
    mkdirSync(home.hooksLog);
    mkdirSync(home.injected);
    expect(addedText(await runHook(home.dir, start, '{}'), 'SessionStart')).toContain('`lesson/a` [alpha] a rule');
  });
});

test('a hook in a folder that is gone works', async () => {
  const home = homeWithIndex();
  const cwd = mkdtempSync(path.join(tmpdir(), 'memd-gone-'));
  const script = `rmdir "${cwd}"; exec "${process.execPath}" "${memctl}" --home "${home.dir}" hook claude-code SessionStart`;
  const done = await run(['sh', '-c', script], JSON.stringify({ cwd }), { cwd });
  rmSync(cwd, { recursive: true, force: true });
  expect(addedText(done, 'SessionStart')).toContain('`lesson/a` [alpha] a rule');
});

describe('a hook whose memd is not well goes by the files and says why', () => {
  async function fake(onLine: (line: string) => string | undefined): Promise<string> {
    const home = homeWithIndex();
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (chunk) => {
        const answer = onLine(chunk.toString());
        if (answer !== undefined) socket.write(answer);
      });
    });
    await new Promise<void>((resolve) => server.listen(home.socket, resolve));
    onTestFinished(() => void server.close());
    const done = await runHook(home.dir, start, '{}');
    return addedText(done, 'SessionStart');
  }

  test.each([
    ['it does not answer', () => undefined, 'no answer within'],
    ['it answers with garbage', () => 'garbage\n', ''],
    [
      'it is of an older version',
      () => '{"id":1,"error":{"code":"UNKNOWN_METHOD","message":"no method","exit":2}}\n',
      'no method',
    ],
    ['its answer is of another shape', () => '{"id":1,"result":{"text":7}}\n', 'another version'],
  ])('%s', async (_, onLine, why) => {
    const text = await fake(onLine);
    expect(text).toMatch(/^memd: NOT ANSWERING \(/);
    expect(text.split('\n')[0]).toContain(why);
    expect(text).toContain('`lesson/a` [alpha] a rule');
  });
});

test('an index that is longer than the room is cut at line ends and says how many rows are left', async () => {
  const home = homeWithIndex();
  const rows = Array.from({ length: 400 }, (_, i) => `- \`lesson/r${i}\` [alpha] rule ${i} ${'x'.repeat(60)}`);
  const index = ['# Memory index', '', '## Rules', '', ...rows, '', '## Facts', '', '(none)', ''].join('\n');
  writeFileSync(path.join(home.views, 'operator', 'INDEX.md'), index);
  const text = addedText(await runHook(home.dir, start, '{}'), 'SessionStart');
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(9_000);
  const shown = text.split('\n').filter((line) => line.startsWith('- '));
  expect(shown.every((line) => rows.includes(line))).toBe(true);
  expect(text.trimEnd().split('\n').at(-1)).toContain(`${400 - shown.length} more: `);
});

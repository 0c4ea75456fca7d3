import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { harnessNames } from '../../src/agent/harness/harness.ts';
import { hookCommand, launcherScript } from '../../src/agent/harness/launcher.ts';
import { temporaryFolder } from '../lib/temporary.ts';
import { addedText, hostWithMemory, memctl, run, type HookRun } from './hosts.ts';

const noTimeout = '';
const timeout = '/usr/bin/timeout';

/** Writes a launcher whose memctl is this program, and runs it. */
async function launch(
  program: string,
  options: { timeout?: string; event?: string; node?: string } = {},
): Promise<{ done: HookRun; noted: () => string }> {
  const folder = path.join(temporaryFolder(), "it's a folder");
  const home = path.join(folder, 'home');
  mkdirSync(home, { recursive: true });
  const memctlFile = path.join(folder, 'memctl.cjs');
  if (program !== '') writeFileSync(memctlFile, program);
  const file = path.join(folder, 'run-12345678');
  const { node = process.execPath, event = 'SessionStart' } = options;
  writeFileSync(
    file,
    launcherScript({ node, memctl: memctlFile, home, timeout: options.timeout ?? timeout, version: '1' }),
  );
  chmodSync(file, 0o755);
  const done = await run(['sh', '-c', hookCommand(file, 'claude-code', event)], '{"session_id":"a"}');
  return { done, noted: () => readFileSync(path.join(home, 'hooks.log'), 'utf8') };
}

const echo = `
  let text = ''; process.stdin.on('data', (chunk) => (text += chunk));
  process.stdin.on('end', () => console.log(JSON.stringify({ args: process.argv.slice(2), stdin: text })));
`;

describe.each([
  ['with the timeout program', timeout],
  ['without one', noTimeout],
])('the launcher %s', (_, limit) => {
  test('hands on stdin, words and the answer', async () => {
    const { done } = await launch(echo, { timeout: limit });
    expect(done).toMatchObject({ code: 0, stderr: '' });
    const { args, stdin } = JSON.parse(done.stdout) as { args: string[]; stdin: string };
    expect(args.slice(2)).toEqual(['hook', 'claude-code', 'SessionStart']);
    expect(stdin).toBe('{"session_id":"a"}');
  });

  test.each([
    [
      'ends with an error after half an answer',
      'process.stdout.write("{half"); process.exit(3)',
      'ended with an error',
    ],
    ['throws', 'throw new Error("x")', 'ended with an error'],
    ['is not there', '', 'memctl is gone'],
    [
      'hangs and does not listen to signals',
      'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000)',
      'took too long',
    ],
  ])('exits 0 with one line about it when memctl %s', { timeout: 20_000 }, async (__, program, why) => {
    const { done, noted } = await launch(program, { timeout: limit });
    expect(done.stderr).toBe('');
    expect(addedText(done, 'SessionStart')).toMatch(/^memd: NOT RUNNING, the memory hook failed: /);
    expect(addedText(done, 'SessionStart')).toContain(why);
    expect(JSON.parse(noted())).toMatchObject({ harness: 'claude-code', outcome: 'failed' });
  });
});

test('the launcher says so when its Node is gone, and nothing at a prompt', async () => {
  const { done } = await launch(echo, { node: '/none/node' });
  expect(addedText(done, 'SessionStart')).toContain('its Node is gone');
  const prompt = await launch(echo, { node: '/none/node', event: 'UserPromptSubmit' });
  expect([prompt.done.code, prompt.done.stdout, prompt.done.stderr]).toEqual([0, '', '']);
});

test('the launcher does nothing for words that it does not know', async () => {
  const { done } = await launch(echo, { event: 'Stop; echo oops' });
  expect([done.code, done.stdout.replace('oops\n', ''), done.stderr]).toEqual([0, '', '']);
});

test.each(harnessNames)('install, status, a session, uninstall of %s through the real binary', async (harness) => {
  const { host, folder, start } = await hostWithMemory();
  await start();
  const refused = await host.ctl('agent', 'install', harness);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain('--yes');
  const { changed, notes } = await host.json<{ changed: string[]; notes: string[] }>(
    'agent',
    'install',
    harness,
    '--yes',
  );
  expect(changed).toHaveLength(4);
  if (harness === 'codex') expect(notes.join()).toContain('/hooks');
  const [status] = await host.json<{ state: string; selfTest: { ok: boolean; line: string } }[]>(
    'agent',
    'status',
    harness,
  );
  expect(status).toMatchObject({ state: 'installed', selfTest: { ok: true } });
  expect(status?.selfTest.line).toMatch(/^memd: 1\/1 hosts/);
  const file = harness === 'codex' ? '.codex/hooks.json' : '.claude/settings.json';
  const { hooks } = JSON.parse(readFileSync(path.join(folder, file), 'utf8')) as {
    hooks: Record<string, { hooks: { command: string }[] }[]>;
  };
  for (const event of ['SessionStart', 'SubagentStart']) {
    const command = hooks[event]?.[0]?.hooks[0]?.command ?? '';
    const done = await run(['sh', '-c', command], JSON.stringify({ session_id: 'a', hook_event_name: event }));
    expect(addedText(done, event)).toContain('`lesson/quote-paths` [alpha]');
  }
  await host.json('agent', 'uninstall', harness, '--yes');
  const [gone] = await host.json<{ state: string }[]>('agent', 'status', harness);
  expect(gone?.state).toBe('not installed');
  expect(memctl).toContain('memctl');
});

import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { applyInstall, applyUninstall, knownInstall, launcherOf } from '../../../../src/agent/harness/apply-install.ts';
import type { InstallContext } from '../../../../src/agent/harness/apply-install.ts';
import { harnessFiles, type InstallScope } from '../../../../src/agent/harness/harness-files.ts';
import { harnessNames, hookEvents, type HarnessName } from '../../../../src/agent/harness/harness.ts';
import { installStatus } from '../../../../src/agent/harness/install-status.ts';
import { parseSettings } from '../../../../src/agent/harness/json-insert.ts';
import { planInstall, planUninstall } from '../../../../src/agent/harness/plan-install.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';

const skill = '---\nname: memd\n---\nhow to\n';

interface Person {
  readonly folder: string;
  readonly context: InstallContext;
  readonly scope: InstallScope;
  readonly settings: string;
  readonly instructions: string;
  install(): readonly string[];
  uninstall(): readonly string[];
  /** Every file below the folder with its bytes and mode, and every link. */
  all(): ReadonlyMap<string, string>;
}

function person(harness: HarnessName, level: 'user' | 'project' = 'user', version = '1.0.0'): Person {
  const folder = temporaryFolder();
  return personIn(folder, harness, { level, version });
}

function personIn(
  folder: string,
  harness: HarnessName,
  { level, version }: { level: 'user' | 'project'; version: string },
): Person {
  const env = { HOME: folder };
  mkdirSync(path.join(folder, '.local', 'share'), { recursive: true });
  const home = path.join(folder, 'home of memd');
  const context = { env, user: folder, home, node: process.execPath, memctl: '/none/memctl', version };
  const scope = { harness, level, folder };
  const files = harnessFiles(scope, env);
  const launcher = launcherOf(context).file;
  return {
    folder,
    context,
    scope,
    ...files,
    install: () =>
      applyInstall(
        context,
        scope,
        planInstall({ scope, env, launcher, skill, block: true, known: knownInstall(context, scope) }),
      ),
    uninstall: () =>
      applyUninstall(context, scope, planUninstall({ scope, env, launcher, known: knownInstall(context, scope) })),
    all: () => new Map(entries(folder)),
  };
}

function* entries(folder: string): Generator<[string, string]> {
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted()) {
    const file = path.join(folder, name);
    const status = lstatSync(file);
    if (status.isFile()) yield [name, `${(status.mode & 0o777).toString(8)} ${readFileSync(file, 'base64')}`];
    else yield [name, status.isSymbolicLink() ? 'link' : 'folder'];
  }
}

function write(file: string, bytes: string | Buffer, mode = 0o644): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, bytes);
  chmodSync(file, mode);
}

/** Settings as people lay them out. Each is read by the harness; what is in it is not ours. */
const layouts: Readonly<Record<string, string>> = {
  'an empty object': '{}',
  'an empty object with a newline': '{}\n',
  'an object with nothing but white space': '{\n\n}\n',
  'two spaces': '{\n  "model": "opus",\n  "env": {\n    "A": "1"\n  }\n}\n',
  'four spaces, no last newline': '{\n    "model": "opus",\n    "permissions": { "allow": [ "Bash(ls)" ] }\n}',
  tabs: '{\n\t"model": "opus",\n\t"hooks": {\n\t\t"Stop": [\n\t\t\t{ "hooks": [] }\n\t\t]\n\t}\n}\n',
  'line ends of another system': '{\r\n  "model": "opus"\r\n}\r\n',
  'one line': '{"model":"opus","hooks":{"Stop":[]}}',
  'one line with space': '{ "model": "opus", "hooks": { "SessionStart": [ { "hooks": [] } ] } }\n',
  'an empty hooks object': '{\n  "hooks": {}\n}\n',
  'an empty hooks object over two lines': '{\n  "hooks": {\n  }\n}\n',
  'an empty list of one event': '{\n  "hooks": { "SessionStart": [] }\n}\n',
  'lists of all events': `{"hooks":{\n"SessionStart":[\n],\n"SubagentStart":[ ],\n"UserPromptSubmit":[{"hooks":[]}]}}`,
  'a byte order mark': '\uFEFF{\n  "a": 1\n}\n',
  'odd numbers, escapes and order': '{"b":1e400,\n"a":9007199254740993, "c":"\\u00e9\\/",\n  "2":2,"1":1 }\n',
  'hooks of others on the same events':
    '{\n  "hooks": {\n    "SessionStart": [\n      {\n        "matcher": "startup",\n        "hooks": [{ "type": "command", "command": "echo hi" }]\n      }\n    ]\n  },\n  "x": []\n}\n',
  'an empty file': '',
  'a file of white space': '\n\n',
};

const withComments: Readonly<Record<string, string>> = {
  comments: '{\n  // mine\n  "model": "opus", /* why */\n  "hooks": { // none\n  }\n}\n',
  'trailing commas':
    '{\n  "model": "opus",\n  "hooks": {\n    "SessionStart": [\n      { "hooks": [] },\n    ],\n  },\n}\n',
};

function parsed(text: string): unknown {
  const root = parseSettings(text, true);
  expect(root).not.toHaveProperty('fault');
  return JSON.parse(
    text
      .replace(/^\uFEFF/, '')
      .replace(/\/\/.*|\/\*.*?\*\//g, '')
      .replace(/,(\s*[}\]])/g, '$1'),
  );
}

describe.each(harnessNames)('installing the hooks of %s', (harness) => {
  const cases = Object.entries({ ...layouts, ...(harness === 'claude-code' ? withComments : {}) });

  test.each(cases)('and uninstalling leaves the settings as they were: %s', (_, text) => {
    const one = person(harness);
    write(one.settings, text, 0o600);
    const before = one.all();
    expect(one.install()).toContain(one.settings);
    const now = parsed(readFileSync(one.settings, 'utf8')) as { hooks: Record<string, unknown[]> };
    for (const event of hookEvents) {
      const group = now.hooks[event]?.at(-1) as { hooks: { command: string }[] } | undefined;
      expect(group?.hooks[0]?.command).toMatch(new RegExp(`/memd-hooks/run-[0-9a-f]{8} ${harness} ${event}$`));
    }
    if (text.trim() !== '') {
      const old = parsed(text) as { hooks?: Record<string, unknown[]> };
      expect({ ...now, hooks: undefined }).toEqual({ ...old, hooks: undefined });
      for (const [event, groups] of Object.entries(old.hooks ?? {}))
        expect(now.hooks[event]?.slice(0, groups.length)).toEqual(groups);
    }
    expect(statSync(one.settings).mode & 0o777).toBe(0o600);
    expect(one.install()).toEqual([]);
    one.uninstall();
    expect(one.all()).toEqual(before);
  });

  test('and uninstalling where nothing was leaves nothing', () => {
    for (const level of ['user', 'project'] as const) {
      const one = person(harness, level);
      expect(one.install().length).toBeGreaterThan(3);
      one.uninstall();
      expect([...one.all().keys()].filter((name) => !name.startsWith('.local'))).toEqual([]);
      expect([...one.all()].filter(([, kind]) => kind !== 'folder')).toEqual([]);
    }
  });

  test('takes out only its own when the settings were edited since', () => {
    const one = person(harness);
    write(one.settings, '{\n  "model": "opus"\n}\n');
    one.install();
    const edited = readFileSync(one.settings, 'utf8').replace('"opus"', '"sonnet",\n  "mine": { "x": [1] }');
    write(one.settings, edited);
    one.uninstall();
    expect(readFileSync(one.settings, 'utf8')).toBe('{\n  "model": "sonnet",\n  "mine": { "x": [1] }\n}\n');
  });

  test('takes out only its own when a formatter went over the settings', () => {
    const one = person(harness);
    const mine = { hooks: { SessionStart: [{ hooks: [{ type: 'command', command: 'echo hi' }] }], Stop: [] }, z: 1 };
    write(one.settings, JSON.stringify(mine, null, 4));
    one.install();
    write(one.settings, JSON.stringify(JSON.parse(readFileSync(one.settings, 'utf8'))));
    one.uninstall();
    expect(JSON.parse(readFileSync(one.settings, 'utf8'))).toEqual(mine);
  });

  test('takes out its handler and leaves another one in the same group', () => {
    const one = person(harness);
    one.install();
    const settings = JSON.parse(readFileSync(one.settings, 'utf8')) as {
      hooks: Record<string, { hooks: unknown[] }[]>;
    };
    settings.hooks['SessionStart']?.[0]?.hooks.push({ type: 'command', command: 'echo mine' });
    write(one.settings, JSON.stringify(settings, null, 2));
    one.uninstall();
    expect(JSON.parse(readFileSync(one.settings, 'utf8'))).toEqual({
      hooks: { SessionStart: [{ hooks: [{ type: 'command', command: 'echo mine' }] }] },
    });
  });

  test('says what was altered and puts it right', () => {
    const one = person(harness);
    write(one.settings, '{"a":1}');
    const before = one.all();
    const state = () => installStatus(one.context, one.scope, skill).state;
    expect(state()).toBe('not installed');
    one.install();
    expect(state()).toBe('installed');
    write(one.settings, readFileSync(one.settings, 'utf8').replace('"timeout":10', '"timeout":1'));
    expect(state()).toBe('altered');
    one.install();
    expect(state()).toBe('installed');
    one.uninstall();
    expect(one.all()).toEqual(before);
  });

  test('of another version replaces launcher and skill, and never the command: a harness would ask for trust again', () => {
    const one = person(harness);
    one.install();
    const settings = readFileSync(one.settings, 'utf8');
    const next = personIn(one.folder, harness, { level: 'user', version: '2.0.0' });
    expect(installStatus(next.context, next.scope, `${skill}more\n`).state).toBe('other version');
    next.install();
    expect(readFileSync(one.settings, 'utf8')).toBe(settings);
    expect(installStatus(next.context, next.scope, skill).state).toBe('installed');
  });

  test.each([
    ['it is cut short', '{"hooks": {"SessionStart": ['],
    ['something stands behind it', '{} {}'],
    ['a key stands in it twice', '{"hooks": {}, "hooks": {}}'],
    ['it is a list', '[]'],
    ['hooks is a list', '{"hooks": []}'],
    ['an event is an object', '{"hooks": {"SessionStart": {}}}'],
    ['it is not UTF-8', Buffer.from([0x7b, 0xff, 0x7d])],
    ...(harness === 'codex' ? ([['it has comments, which Codex does not read', '{ // a\n}']] as const) : []),
  ] as const)('refuses settings that are broken and touches nothing: %s', (_, bytes) => {
    const one = person(harness);
    write(one.settings, bytes);
    const before = one.all();
    expect(() => one.install()).toThrow(/left as it is|left as it was/);
    expect(one.all()).toEqual(before);
  });

  test('does not overwrite a skill of the same name, and leaves an edited one', () => {
    const one = person(harness);
    const { skill: file } = harnessFiles(one.scope, one.context.env);
    write(file, 'somebody else');
    one.install();
    expect(readFileSync(file, 'utf8')).toBe('somebody else');
    one.uninstall();
    expect(readFileSync(file, 'utf8')).toBe('somebody else');
  });

  test.each([
    ['with a last newline', '# Rules\n\n- one\n'],
    ['without one', '# Rules'],
    ['empty', ''],
    ['with line ends of another system', '# Rules\r\n'],
  ])('adds its block to instructions %s and takes it out again', (_, text) => {
    const one = person(harness);
    write(one.instructions, text);
    const before = one.all();
    one.install();
    expect(readFileSync(one.instructions, 'utf8').startsWith(text)).toBe(true);
    expect(readFileSync(one.instructions, 'utf8')).toContain('<!-- memd:begin -->');
    one.uninstall();
    expect(one.all()).toEqual(before);
  });

  test('keeps a settings file that is a symbolic link one', () => {
    const one = person(harness);
    const real = path.join(one.folder, 'dotfiles', 'settings.json');
    write(real, '{\n  "a": 1\n}\n');
    mkdirSync(path.dirname(one.settings), { recursive: true });
    symlinkSync(real, one.settings);
    const before = one.all();
    one.install();
    expect(lstatSync(one.settings).isSymbolicLink()).toBe(true);
    expect(readFileSync(real, 'utf8')).toContain('memd-hooks');
    one.uninstall();
    expect(one.all()).toEqual(before);
  });

  test('is undone by what stands in the files when its record is lost', () => {
    const one = person(harness);
    write(one.settings, '{\n  "a": 1\n}\n');
    one.install();
    write(path.join(one.folder, '.local', 'share', 'memd-hooks', 'installed.json'), 'garbage');
    one.uninstall();
    expect(JSON.parse(readFileSync(one.settings, 'utf8'))).toMatchObject({ a: 1 });
    expect(readFileSync(one.settings, 'utf8')).not.toContain('memd-hooks');
  });
});

test('two harnesses share a launcher, and it stays until the last one is gone', () => {
  const claude = person('claude-code');
  const codex = personIn(claude.folder, 'codex', { level: 'user', version: '1.0.0' });
  claude.install();
  codex.install();
  const { file } = launcherOf(claude.context);
  claude.uninstall();
  expect(existsSync(file)).toBe(true);
  codex.uninstall();
  expect(existsSync(file)).toBe(false);
});

/** What every command has in common: help with an example, usage errors with a suggestion, one JSON document, the home. */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { beforeAll, describe, expect, test } from 'vitest';
import { commandTable } from '../../src/cli/command-table.ts';
import type { Cli } from '../../src/cli/context.ts';
import { runMemctl } from '../../drills/lib/hosts.ts';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';

const bench = openBench();
let alpha: BenchHost;

beforeAll(async () => {
  alpha = await bench.lay('alpha');
  await alpha.json('init', '--host', 'alpha', '--listen', '127.0.0.1:0');
});

/** Every command with the commands below it, as words. */
async function everyCommand(): Promise<string[][]> {
  const words: string[][] = [];
  const visit = (command: Command, above: readonly string[]): void => {
    const path = [...above, command.name()];
    words.push(path);
    for (const child of command.commands) visit(child, path);
  };
  // Only the shape is looked at; nothing is run.
  for (const load of commandTable.values()) visit((await load()).makeCommand({} as Cli), []);
  return words;
}

describe('help', () => {
  test('every command explains itself, with an example and the global options, also below another command', async () => {
    const wanting: string[] = [];
    for (const command of await everyCommand()) {
      const { code, stdout, stderr } = await alpha.ctl(...command, '--help');
      const name = command.join(' ');
      expect({ name, code, stderr }).toEqual({ name, code: 0, stderr: '' });
      const isGroup = /^Commands:/m.test(stdout);
      const shows = isGroup ? /memctl/ : /Examples?\b.*:\n {2}.*memctl/;
      const all = [new RegExp(`^Usage: memctl ${name} `), /--json/, shows].every((part) => part.test(stdout));
      if (!all) wanting.push(name);
    }
    expect(wanting).toEqual([]);
  }, 60_000);

  test('the examples of what appends work as they stand, but for ids and files', async () => {
    const failed: string[] = [];
    for (const verb of ['assert', 'lesson', 'decide', 'question', 'propose', 'retract']) {
      const { stdout } = await alpha.ctl(verb, '--help');
      const [, ...lines] = stdout.slice(stdout.indexOf('\nExamples:')).trimEnd().split('\n');
      const examples = lines.filter((line) => /^ {2}memctl /.test(line) && !/3fa2b1c0|--sync/.test(line));
      expect(examples.length).toBeGreaterThan(0);
      for (const example of examples) {
        const words = [...example.replace(/ {3,}.*$/, '').matchAll(/"([^"]*)"|(\S+)/g)].map(
          (found) => found[1] ?? found[2] ?? '',
        );
        const { code, stderr } = await alpha.ctl(...words.slice(1));
        if (code !== 0) failed.push(`${example}: ${stderr}`);
      }
    }
    expect(failed).toEqual([]);
  }, 180_000);

  test('memctl alone lists the commands and ends as a usage error', async () => {
    const { code, stdout, stderr } = await alpha.ctl();
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    for (const name of commandTable.keys()) expect(stderr).toContain(`\n  ${name} `);
    expect(stderr).not.toContain('outputHelp');
    expect(await alpha.refused(2, [])).toMatchObject({ code: 'USAGE', message: 'no command is named' });
  });
});

describe('usage errors', () => {
  const cases: [string, string[], RegExp, RegExp][] = [
    ['an unknown command', ['assrt', 'a/b'], /unknown command 'assrt'/, /did you mean assert\?/],
    ['an unknown command below another', ['host', 'ad'], /unknown command 'ad'/, /did you mean add\?/],
    ['an unknown option', ['assert', 'note/a', '--valeu', 'x'], /unknown option '--valeu'/, /did you mean --value\?/],
    ['an unknown option below another', ['class', 'list', '--al'], /unknown option '--al'/, /--help/],
    ['an unknown global option', ['status', '--jsno'], /unknown option '--jsno'/, /did you mean --json\?/],
    ['a missing argument', ['recall'], /missing required argument 'subject'/, /--help/],
    ['a missing argument below another', ['host', 'add'], /missing required argument 'line'/, /--help/],
    ['a missing value', ['assert', 'note/a', '--value'], /argument missing/, /--help/],
    ['a missing option', ['join', 'ssh://alpha:1'], /required option '--mesh <ID>'/, /--help/],
    ['a surplus argument', ['status', 'now'], /too many arguments/, /--help/],
    [
      'a choice that is none',
      ['assert', 'note/a', '--polarity', 'maybe'],
      /Allowed choices are exists, absent/,
      /--help/,
    ],
    ['a number that is none', ['log', '--limit', 'many'], /not a whole number/, /--help/],
    ['a number beyond its range', ['log', '--limit', '0'], /not a whole number/, /--help/],
  ];
  test.each(cases)('%s: exit 2, and what to do', async (_, args, says, hint) => {
    expect(await alpha.refused(2, args)).toMatchObject({
      code: 'USAGE',
      message: expect.stringMatching(says),
      hint: expect.stringMatching(hint),
    });
    const { code, stdout, stderr } = await alpha.ctl(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(says);
    expect(stderr).toMatch(/^memctl: .*\n {2}next: .*\n$/);
  });

  test('what stands behind -- is text, whatever it looks like', async () => {
    const { code, stdout } = await alpha.ctl('lesson', 'lesson/dashes', '--', '--json');
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^lesson lesson\/dashes /) });
    expect(await alpha.json('recall', 'lesson/dashes')).toMatchObject({ claim: { content: '--json' } });
  });
});

describe('errors with --json are one document on stdout', () => {
  const cases: [string, number, string, string[]][] = [
    ['not found', 7, 'ID_UNKNOWN', ['show', 'deadbeefdeadbeef']],
    ['no such host', 7, 'HOST_UNKNOWN', ['log', 'nobody']],
    ['not an id', 2, 'BAD_REQUEST', ['show', 'xyz']],
    ['a bad event', 2, 'EVENT_INVALID', ['assert', 'note/a', 'no home']],
    ['a class that nobody added', 2, 'CLASS_UNKNOWN', ['lesson', 'lessen/a', 'x']],
    ['a mesh that is there', 1, 'MESH_EXISTS', ['init', '--host', 'alpha']],
    ['a file that is not there', 2, 'INPUT_UNREADABLE', ['append', '--file', '/nonexistent/file']],
    ['a folder for a file', 2, 'INPUT_UNREADABLE', ['append', '--file', '/']],
    ['a file without an end', 2, 'INPUT_UNREADABLE', ['append', '--file', '/dev/zero']],
    [
      'a text file that is not there',
      2,
      'INPUT_UNREADABLE',
      ['lesson', 'lesson/a', 'x', '--text-file', '/nonexistent'],
    ],
    ['an empty file', 2, 'EVENT_INVALID', ['append', '--file', '/dev/null']],
    ['nothing to import', 1, 'IMPORT_UNREADABLE', ['import', '/nonexistent']],
    ['a peer that is none', 7, 'PEER_UNKNOWN', ['fetch', 'alpha']],
    ['an audience that is none', 7, 'AUDIENCE_UNKNOWN', ['index', '--audience', 'nobody']],
  ];
  test.each(cases)('%s', async (_, exit, code, args) => {
    expect(await alpha.refused(exit, args)).toMatchObject({ code, message: expect.stringMatching(/^\S.{8,}/) });
  });

  test('recall keeps its own exit codes and its document', async () => {
    const { code, stdout } = await alpha.ctl('recall', 'note/none', '--json');
    expect(code).toBe(7);
    expect(JSON.parse(stdout)).toMatchObject({ subject: 'note/none', status: 'none' });
  });
});

describe('the status line', () => {
  test('it is the first line whatever the state, and names what is wrong', async () => {
    const first = async (host: BenchHost): Promise<string | undefined> =>
      (await host.ctl('status')).stdout.split('\n')[0];
    const host = await bench.lay('states');
    expect(await first(host)).toMatch(/^memd: CANNOT TELL, there is no memd home at /);
    await host.json('host', 'request', '--host', 'beta', '--listen', host.address);
    expect(await first(host)).toMatch(/^memd: CANNOT TELL, host beta has keys but no mesh yet$/);
    expect(await first(alpha)).toMatch(/^memd: NOT RUNNING, (no index yet|index is \d+ min old), 0 parked$/);
    const running = await bench.lay('running');
    await running.json('init', '--host', 'gamma', '--listen', running.address);
    await running.start();
    expect(await first(running)).toBe('memd: 1/1 hosts, no events yet, 0 parked');
    await running.stop();
    expect(await first(running)).toMatch(/^memd: NOT RUNNING, /);
    expect(await running.json<{ line: string; daemon: boolean }>('status')).toMatchObject({
      daemon: false,
      line: await first(running),
    });
  }, 30_000);
});

describe('the home folder', () => {
  const nowhere = { HOME: undefined, MEMD_HOME: undefined, XDG_DATA_HOME: undefined };

  test('none named anywhere: an error for every command, and never the current folder', async () => {
    const cwd = join(bench.folder(), 'empty');
    mkdirSync(cwd);
    for (const command of [
      ['status'],
      ['init', '--host', 'x'],
      ['lesson', 'lesson/x', 'x'],
      ['host', 'request'],
      ['verify'],
      ['index'],
    ]) {
      const { code, stdout } = await runMemctl([...command, '--json'], { env: nowhere, cwd });
      expect({ command, code }).toEqual({ command, code: 1 });
      expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'HOME_UNKNOWN' } });
    }
    expect(readdirSync(cwd)).toEqual([]);
  });

  test.each([
    ['a relative path in --home', ['--home', 'here'], {}, 'HOME_NOT_ABSOLUTE'],
    ['an empty --home', ['--home', ''], {}, 'HOME_NOT_ABSOLUTE'],
    ['a relative path in MEMD_HOME', [], { MEMD_HOME: './here' }, 'HOME_NOT_ABSOLUTE'],
    ['a relative XDG_DATA_HOME, which counts as none', [], { XDG_DATA_HOME: 'here' }, 'HOME_UNKNOWN'],
    ['a relative HOME', [], { HOME: 'here' }, 'HOME_UNKNOWN'],
  ])('%s', async (_, args, env, code) => {
    const { stdout } = await runMemctl([...args, 'status', '--json'], {
      env: { ...nowhere, ...env },
      cwd: bench.folder(),
    });
    expect(JSON.parse(stdout)).toMatchObject({ error: { code } });
  });

  test('a folder that is not there, a file, a link, one that is open to others: refused with what to do', async () => {
    const at = (name: string): string => join(bench.folder(), name);
    writeFileSync(at('file'), '');
    symlinkSync(alpha.home, at('link'));
    mkdirSync(at('open'));
    const cases: [string, string, RegExp][] = [
      ['missing', 'HOME_MISSING', /memctl init/],
      ['file', 'HOME_UNSAFE', /name the real folder/],
      ['link', 'HOME_UNSAFE', /name the real folder/],
      ['open', 'HOME_UNSAFE', /chmod 700/],
    ];
    for (const [name, code, hint] of cases) {
      const { stdout } = await runMemctl(['--home', at(name), 'status', '--json'], { env: {} });
      expect(JSON.parse(stdout)).toMatchObject({ error: { code, hint: expect.stringMatching(hint) } });
    }
  });

  test('MEMD_HOME and --home name it, --home wins, and the working folder may be gone', async () => {
    const cwd = join(bench.folder(), 'gone');
    mkdirSync(cwd);
    const moved = { ...nowhere, MEMD_HOME: alpha.home };
    const named = await runMemctl(['status', '--json'], { env: moved });
    expect(JSON.parse(named.stdout)).toMatchObject({ host: 'alpha' });
    const other = await runMemctl(['status', '--json', '--home', join(bench.folder(), 'nobody')], { env: moved });
    expect(JSON.parse(other.stdout)).toMatchObject({ error: { code: 'HOME_MISSING' } });
    const script = `rmdir "$1" && exec "$2" "$3" status --json`;
    const gone = await runIn(cwd, script, moved);
    expect(JSON.parse(gone)).toMatchObject({ host: 'alpha' });
  });

  test('--home on a claim is its home when it looks like one, and the folder otherwise', async () => {
    const claim = (...more: string[]): Promise<{ code: number }> =>
      runMemctl(['assert', 'note/homes', '--value', '1', ...more], { env: { ...nowhere, MEMD_HOME: '' } });
    expect(await claim('--home', alpha.home, '--home', 'file:a.md#one')).toMatchObject({ code: 0 });
    expect(await claim('--home=git:web:a.md@main', `--home=${alpha.home}`)).toMatchObject({ code: 0 });
    expect(await claim('--home', 'alpha:file:/etc/hosts', '--home', alpha.home)).toMatchObject({ code: 0 });
    expect(await claim('--home', 'https://example.org/a', '--home', alpha.home)).toMatchObject({ code: 0 });
    const { stdout } = await alpha.ctl('log', 'note/homes', '--json');
    const homes = stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { home: string }).home);
    expect(homes).toEqual(['file:a.md#one', 'git:web:a.md@main', 'alpha:file:/etc/hosts', 'https://example.org/a']);
  });

  test('--home that is the home of a claim alone names no folder', async () => {
    const args = ['assert', 'note/homes', '--value', '1', '--home', 'file:a.md'];
    expect(await runMemctl(args, { env: { ...nowhere, MEMD_HOME: '' } })).toMatchObject({ code: 1 });
    const status = await runMemctl(['status', '--home', 'file:a.md', '--json'], { env: {} });
    expect(JSON.parse(status.stdout)).toMatchObject({ error: { code: 'HOME_NOT_ABSOLUTE' } });
  });

  test('nothing that a name says leaves the home: init with odd names and addresses', async () => {
    const home = join(bench.folder(), 'odd');
    const isolated = { HOME: bench.folder(), XDG_CONFIG_HOME: join(bench.folder(), 'config') };
    for (const args of [
      ['--host', '../up'],
      ['--host', 'Alpha'],
      ['--host', 'x'.repeat(40)],
      ['--host', ''],
      ['--host', 'a', '--listen', 'nowhere'],
      ['--host', 'a', '--listen', '127.0.0.1:99999'],
      ['--host', 'a', '--address', 'http://alpha'],
      ['--host', 'a', '--address', 'ssh://alpha:7422/../x'],
      ['--host', 'a', '--as', '../up'],
    ]) {
      const { code, stdout } = await runMemctl(['--home', home, 'init', ...args, '--json'], { env: isolated });
      expect({ args, code }).toEqual({ args, code: 2 });
      expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'BAD_REQUEST' } });
      expect(existsSync(home)).toBe(false);
    }
  }, 30_000);
});

function runIn(cwd: string, script: string, env: Record<string, string | undefined>): Promise<string> {
  const memctl = join(import.meta.dirname, '../../bin/memctl');
  return new Promise((resolve) => {
    const child = spawn('sh', ['-c', script, 'sh', cwd, process.execPath, memctl], {
      cwd,
      env: { ...process.env, ...env },
    });
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
    child.on('close', () => resolve(said));
  });
}

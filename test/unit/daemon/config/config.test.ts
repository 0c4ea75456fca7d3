import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { configFile, parseConfig, readConfig } from '../../../../src/daemon/config/config.ts';
import { defaultConfig } from '../../../../src/daemon/config/config-file.ts';
import { documentedKeys } from '../../../../src/daemon/config/config-schema.ts';
import { Refusal } from '../../../../src/daemon/refusal.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';

const file = '/etc/memd/config.toml';
const parsed = (text: string) => parseConfig(text, { file, user: '/home/ann' });

function refusal(work: () => unknown): Refusal {
  try {
    work();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('config: what it says', () => {
  test('an empty file is every default', () => {
    const config = parsed('');
    expect(config.sync.schedule).toBe('*/30 * * * * *');
    expect(config.ssh.listen).toBeNull();
    expect(config.homes).toEqual({ roots: [], httpsHosts: [] });
    expect(config.targets).toEqual([]);
    expect(config.index).toEqual({ bytes: 22_000, lines: 180 });
    expect(config).toEqual(defaultConfig(file));
  });

  test('every key is read, ~ is the folder of the user, a target takes the budget of [index]', () => {
    const config = parsed(`
[sync]
schedule = "0 * * * * *"
[ssh]
listen = "[::1]:7500"
[peers]
beta = "ssh://10.0.0.2:7422"
[homes]
roots = ["~/src", "/srv/docs/"]
https_hosts = ["docs.example.org"]
[[target]]
path = "~/src/web/MEMORY.md"
audience = "reviewers"
scope = "web"
lines = 60
[scope]
"~/src/web" = "web"
[index]
bytes = 9000
`);
    expect(config.peers.get('beta')).toBe('ssh://10.0.0.2:7422');
    expect(config.homes).toEqual({ roots: ['/home/ann/src', '/srv/docs'], httpsHosts: ['docs.example.org'] });
    expect(config.targets).toEqual([
      { path: '/home/ann/src/web/MEMORY.md', audience: 'reviewers', scope: 'web', bytes: 9_000, lines: 60 },
    ]);
    expect(config.scopes.get('/home/ann/src/web')).toBe('web');
    expect(config.sync.schedule).toBe('0 * * * * *');
    expect(config.ssh.listen).toBe('[::1]:7500');
  });
});

describe('config: what it refuses', () => {
  const cases: [string, string, string, RegExp][] = [
    [
      'an unknown key, with the nearest',
      '[sync]\nschedule = "* * * * * *"\nshedule = "x"',
      ':3',
      /no key sync\.shedule/,
    ],
    ['an unknown section', '# a comment\n\n[peer]\nbeta = "x"', ':3', /no key peer/],
    [
      'an unknown key of the second target',
      '[[target]]\npath = "/a"\n[[target]]\npath = "/b"\npfad = 1',
      ':5',
      /target\.pfad/,
    ],
    ['a wrong type', '[index]\nbytes = "many"', ':2', /index\.bytes must be a whole number/],
    ['a fraction', '[index]\nlines = 50.5', ':2', /whole number/],
    ['a list where a text belongs', '[ssh]\nlisten = ["a"]', ':2', /must be a text/],
    ['a text where a list belongs', '[homes]\nroots = "/srv"', ':2', /list of texts/],
    ['a number in a list of texts', '[homes]\n\nroots = [\n  "/srv",\n  3,\n]', ':3', /list of texts/],
    ['a relative root', '[homes]\nroots = ["src"]', ':2', /absolute path/],
    ['the whole file system as a root', '[homes]\nroots = ["/"]', ':2', /whole file system/],
    ['a value where a table belongs', 'peers = 3', ':1', /must be a table/],
    ['a table where a list of tables belongs', '[target]\npath = "/x"', ':1', /\[\[target\]\]/],
    ['a target without a path', '[[target]]\nscope = "web"', ':1', /target\.path is missing/],
    ['a peer that is no address', '[peers]\nbeta = "http://x"', ':2', /ssh:\/\/beta\.lan:7422/],
    ['a peer whose name is no host', '[peers]\n"Beta!" = "ssh://x:1"', ':2', /"Beta!" in \[peers\]/],
    ['a scope that is no slug', '[scope]\n"/srv" = "Mine"', ':2', /must be a name/],
    ['a listen address without a port', '[ssh]\nlisten = "localhost"', ':2', /ADDRESS:PORT/],
    ['a budget below the smallest index', '[index]\nbytes = 100', ':2', /4200 or more/],
    ['an https host with a path', '[homes]\nhttps_hosts = ["example.org/x"]', ':2', /host name/],
    ['broken TOML', '[sync\nschedule = 1', ':1', /column/],
    ['a key that is written twice', '[index]\nbytes = 5000\nbytes = 6000', ':3', /./],
    ['__proto__ as a section', '[__proto__]\nx = 1', ':1', /no key __proto__/],
    ['toString as a key', '[index]\ntoString = 1', ':2', /no key index\.toString/],
  ];
  test.each(cases)('%s', (_, text, line, says) => {
    const error = refusal(() => parsed(text));
    expect(error.code).toBe('CONFIG_INVALID');
    expect(error.message).toContain(`${file}${line}:`);
    expect(error.message).toMatch(says);
    expect(error.exit).toBe(2);
  });

  test('the nearest key is named', () => {
    expect(refusal(() => parsed('[sync]\nshedule = "x"')).hint).toContain('did you mean schedule?');
  });

  test('more entries than anybody writes', () => {
    const text = `[homes]\nroots = [${Array.from({ length: 65 }, (_, at) => `"/r${at}"`).join(', ')}]`;
    expect(refusal(() => parsed(text)).message).toMatch(/more than 64/);
  });
});

describe('config: the file', () => {
  test('a missing file or folder is every default', () => {
    const folder = temporaryFolder();
    expect(readConfig({ XDG_CONFIG_HOME: folder }).targets).toEqual([]);
  });

  test('it is read below XDG_CONFIG_HOME; a relative one is ignored', () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'memd'));
    writeFileSync(join(folder, 'memd', 'config.toml'), '[index]\nlines = 99\n');
    expect(readConfig({ XDG_CONFIG_HOME: folder }).index.lines).toBe(99);
    expect(configFile({ XDG_CONFIG_HOME: 'relative', HOME: '/home/ann' })).toBe('/home/ann/.config/memd/config.toml');
  });

  test('a folder, a huge file and bytes that are no text are refused, not ignored', () => {
    const folder = temporaryFolder();
    const path = join(folder, 'memd', 'config.toml');
    mkdirSync(path, { recursive: true });
    expect(refusal(() => readConfig({ XDG_CONFIG_HOME: folder })).message).toMatch(/not a file/);
    const second = temporaryFolder();
    mkdirSync(join(second, 'memd'));
    writeFileSync(join(second, 'memd', 'config.toml'), Buffer.alloc(70_000, 0x23));
    expect(refusal(() => readConfig({ XDG_CONFIG_HOME: second })).message).toMatch(/70000 bytes/);
    writeFileSync(join(second, 'memd', 'config.toml'), Buffer.from([0x23, 0xff, 0xfe]));
    expect(refusal(() => readConfig({ XDG_CONFIG_HOME: second })).message).toMatch(/not UTF-8/);
  });
});

test('config: docs/config.md lists every key with its default and its meaning, and no other', () => {
  const rows = readFileSync(new URL('../../../../docs/config.md', import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| `'));
  const expected = documentedKeys().map(({ name, key }) => `| \`${name}\` | ${cell(key.fallback)} | ${key.meaning} |`);
  expect(rows).toEqual(expected);
});

function cell(fallback: string): string {
  return /^[["\d]/.test(fallback) ? `\`${fallback}\`` : fallback;
}

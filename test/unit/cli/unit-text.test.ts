import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { programFolders } from '../../../src/cli/service/program-folders.ts';
import { readUnit, sameUnit, unitFolder, unitText, type UnitSettings } from '../../../src/cli/service/unit-text.ts';
import { temporaryFolder } from '../../lib/temporary.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const template = readFileSync(join(root, 'systemd/memd.service'), 'utf8');
const settings: UnitSettings = {
  node: process.execPath,
  memd: join(root, 'bin/memd'),
  home: '/home/ann/.local/share/memd',
  configHome: undefined,
  cache: '/home/ann/.cache/memd',
  path: ['/opt/git/bin', '/usr/bin', '/bin'],
  targets: [],
};
const notes = { home: settings.home, made: [], linger: false };
const make = (more: Partial<UnitSettings> = {}): string => unitText(template, { ...settings, ...more }, notes);

describe('unit', () => {
  test('C5, C6: absolute paths, a PATH of its own, restart on failure, and no more room to write than it needs', () => {
    const text = make({ targets: ['/home/ann/web/MEMORY.md', '/home/ann/web/OTHER.md'] });
    expect(text).toContain(
      `ExecStart="${process.execPath}" "${root}bin/memd" "--home" "${settings.home}" "--foreground"\n`,
    );
    expect(text).toContain('Environment="PATH=/opt/git/bin:/usr/bin:/bin"\n');
    expect(text).toContain('\nRestart=on-failure\n');
    expect(text).toContain('\nProtectSystem=strict\nProtectHome=read-only\n');
    // Nobody expects a ping, so the longest cycle ends no memd.
    expect(text).not.toMatch(/WatchdogSec|Type=notify/);
    expect(text.split('\n').filter((line) => line.startsWith('ReadWritePaths='))).toEqual([
      `ReadWritePaths="${settings.home}"`,
      'ReadWritePaths="-/home/ann/web"',
      'ReadWritePaths="-/home/ann/.cache/memd"',
    ]);
    expect(text).not.toMatch(/@[A-Z_]+@/);
    expect(text).not.toContain('XDG_CONFIG_HOME');
    expect(make({ configHome: '/c' })).toContain('Environment="XDG_CONFIG_HOME=/c"');
  });

  test('a home below /tmp is not hidden by a private one', () => {
    expect(make()).toContain('\nPrivateTmp=yes\n');
    expect(make({ home: '/tmp/x/home' })).toContain('\nPrivateTmp=no\n');
    expect(make({ targets: ['/var/tmp/x/MEMORY.md'] })).toContain('\nPrivateTmp=no\n');
  });

  test('what systemd would expand or split stays what it is', () => {
    const text = make({ home: '/srv/a b/%h/$HOME/"q"\\' });
    expect(text).toContain('"--home" "/srv/a b/%%h/$$HOME/\\"q\\"\\\\"');
    expect(text).toContain('ReadWritePaths="/srv/a b/%%h/$HOME/\\"q\\"\\\\"');
    expect(() => make({ home: '/srv/a\nExecStartPre=/bin/x' })).toThrow(/control characters/);
  });

  test('it says whose it is, and whether somebody changed it', () => {
    const text = unitText(template, settings, { home: '/h', made: ['/a/b', '/a'], linger: true });
    expect(readUnit(text)).toEqual({ state: 'ours', notes: { home: '/h', made: ['/a/b', '/a'], linger: true } });
    expect(readUnit(text.replace('RestartSec=5', 'RestartSec=1'))).toMatchObject({ state: 'edited' });
    expect(readUnit(`${text}\n`)).toMatchObject({ state: 'edited' });
    for (const foreign of ['', '[Service]\nExecStart=/bin/memd\n'])
      expect(readUnit(foreign)).toEqual({ state: 'foreign' });
  });

  test('another PATH is no other unit; another Node is', () => {
    expect(sameUnit(make(), make({ path: ['/x'] }))).toBe(true);
    expect(sameUnit(make(), make({ node: '/x/node' }))).toBe(false);
  });

  test('it passes systemd-analyze verify', ({ skip }) => {
    const folder = temporaryFolder();
    const odd = join(folder, 'a b %h $x');
    mkdirSync(odd);
    writeFileSync(join(odd, 'memd'), '#!/bin/sh\n', { mode: 0o755 });
    const file = join(folder, 'memd.service');
    writeFileSync(file, make({ memd: join(odd, 'memd'), home: odd, targets: [join(odd, 'M.md')], configHome: odd }));
    const verified = spawnSync('systemd-analyze', ['verify', '--user', '--man=no', file], {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], HOME: folder, XDG_RUNTIME_DIR: folder },
    });
    if (verified.error !== undefined) {
      console.warn('NOT RUN: systemd-analyze is not here (Debian package systemd)');
      skip('systemd-analyze is not here');
    }
    expect({ code: verified.status, said: verified.stderr }).toEqual({ code: 0, said: '' });
  });

  test('folders of programs are found on the PATH; relative ones are passed over', () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'git'), '', { mode: 0o755 });
    writeFileSync(join(folder, 'ssh'), '', { mode: 0o644 });
    expect(programFolders(['git', 'ssh'], `bin:${folder}`)).toEqual({
      folders: [folder, '/usr/local/bin', '/usr/bin', '/bin'],
      missing: ['ssh'],
    });
  });

  test('units of the user lie where systemd looks for them', () => {
    expect(unitFolder({}, '/home/ann')).toBe('/home/ann/.config/systemd/user');
    expect(unitFolder({ XDG_CONFIG_HOME: '/c' }, '/home/ann')).toBe('/c/systemd/user');
    expect(unitFolder({ XDG_CONFIG_HOME: 'c' }, '/home/ann')).toBe('/home/ann/.config/systemd/user');
  });
});

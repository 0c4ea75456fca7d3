import fs from 'node:fs';
import { connect, createServer } from 'node:net';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  checkPrivateFile,
  createHome,
  homePaths,
  openHome,
  resolveHome,
  socketAddress,
  socketPathBytesMax,
} from '../../../../src/store/home/home.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';

describe('which folder is the home', () => {
  test.each([
    ['the flag wins', { flag: '/f/home', env: { MEMD_HOME: '/m', HOME: '/u' } }, '/f/home'],
    ['then MEMD_HOME', { env: { MEMD_HOME: '/m/x/', XDG_DATA_HOME: '/d', HOME: '/u' } }, '/m/x'],
    ['then XDG_DATA_HOME', { env: { MEMD_HOME: '', XDG_DATA_HOME: '/d', HOME: '/u' } }, '/d/memd'],
    ['a relative XDG_DATA_HOME is ignored', { env: { XDG_DATA_HOME: 'd', HOME: '/u' } }, '/u/.local/share/memd'],
    ['then HOME', { env: { HOME: '/u' } }, '/u/.local/share/memd'],
  ])('%s', (_, options, expected) => {
    expect(resolveHome(options)).toBe(expected);
  });

  test('without any of them it is an error, never the current folder', () => {
    for (const env of [{}, { HOME: '' }, { HOME: 'relative' }]) {
      expect(() => resolveHome({ env })).toThrow(expect.objectContaining({ code: 'HOME_UNKNOWN' }));
    }
  });

  test.each([
    { flag: 'here', env: {} },
    { flag: '.', env: {} },
    { flag: '', env: {} },
    { env: { MEMD_HOME: './memd' } },
  ])('a relative path is refused: %j', (options) => {
    expect(() => resolveHome(options)).toThrow(expect.objectContaining({ code: 'HOME_NOT_ABSOLUTE' }));
  });
});

describe('opening a home', () => {
  test('a missing home says how to make one', () => {
    expect(() => openHome(path.join(temporaryFolder(), 'none'))).toThrow(
      expect.objectContaining({ code: 'HOME_MISSING', hint: expect.stringContaining('memctl init') }),
    );
  });

  test('a new home is closed to others, whatever the umask', () => {
    const before = process.umask(0);
    try {
      const home = createHome(path.join(temporaryFolder(), 'a', 'home'));
      expect(fs.statSync(home.dir).mode & 0o777).toBe(0o700);
      expect(fs.statSync(home.keys).mode & 0o777).toBe(0o700);
      expect(openHome(home.dir)).toEqual(home);
    } finally {
      process.umask(before);
    }
  });

  test('a home that others can read is refused with the command that fixes it', () => {
    const dir = temporaryFolder();
    fs.chmodSync(dir, 0o750);
    expect(() => openHome(dir)).toThrow(expect.objectContaining({ code: 'HOME_UNSAFE', hint: `chmod 700 ${dir}` }));
  });

  test('a symbolic link and a file are refused', () => {
    const folder = temporaryFolder();
    fs.symlinkSync(folder, path.join(folder, 'link'));
    fs.writeFileSync(path.join(folder, 'file'), '');
    for (const name of ['link', 'file'])
      expect(() => openHome(path.join(folder, name))).toThrow(expect.objectContaining({ code: 'HOME_UNSAFE' }));
  });

  test.runIf(process.getuid?.() === 0)('a home of another user is refused, naming both users', () => {
    const dir = temporaryFolder();
    fs.chmodSync(dir, 0o700);
    fs.chownSync(dir, 12_345, 12_345);
    expect(() => openHome(dir)).toThrow(
      expect.objectContaining({ code: 'HOME_UNSAFE', message: expect.stringContaining('12345') }),
    );
  });
});

describe('socket address', () => {
  test('a short path is used as it is', () => {
    expect(socketAddress(homePaths('/home/u/memd'))).toBe('/home/u/memd/memd.sock');
  });

  test('elsewhere than on Linux a long path is reached relative to the working folder', () => {
    const deep = path.join(process.cwd(), 'd'.repeat(90));
    expect(socketAddress(homePaths(deep), 'darwin')).toBe(`${'d'.repeat(90)}/memd.sock`);
    expect(() => socketAddress(homePaths(`/${'d'.repeat(60)}/${'e'.repeat(60)}`), 'darwin')).toThrow(
      expect.objectContaining({ code: 'HOME_PATH_TOO_LONG' }),
    );
  });

  test.runIf(process.platform === 'linux')(
    'on Linux a longer one is reached through a descriptor of the home',
    async () => {
      const deep = path.join(temporaryFolder(), 'd'.repeat(200), 'e'.repeat(200), 'f'.repeat(200));
      fs.mkdirSync(deep, { recursive: true, mode: 0o700 });
      const address = socketAddress(homePaths(deep), 'linux');
      expect(Buffer.byteLength(address)).toBeLessThan(socketPathBytesMax);
      const server = createServer((socket) => socket.end('hello'));
      await new Promise<void>((resolve) => server.listen(address, resolve));
      expect(fs.existsSync(path.join(deep, 'memd.sock'))).toBe(true);
      const said = await new Promise<string>((resolve) => {
        connect(socketAddress(homePaths(deep), 'linux')).once('data', (data) => resolve(String(data)));
      });
      expect(said).toBe('hello');
      await new Promise((resolve) => server.close(resolve));
      // Another folder of that name has another descriptor.
      fs.renameSync(deep, `${deep}x`);
      fs.mkdirSync(deep);
      fs.writeFileSync(path.join(deep, 'memd.sock'), 'new');
      expect(fs.readFileSync(socketAddress(homePaths(deep), 'linux'), 'utf8')).toBe('new');
    },
  );

  test('a long path that is not there leads nowhere', () => {
    const deep = `/${'d'.repeat(60)}/${'e'.repeat(60)}`;
    expect(fs.existsSync(socketAddress(homePaths(`${deep}/home`), 'linux'))).toBe(false);
  });
});

test('a path that SQLite would not take is refused, made or opened', () => {
  const dir = path.join(temporaryFolder(), ...Array.from({ length: 5 }, () => 'd'.repeat(100)));
  for (const use of [createHome, openHome])
    expect(() => use(dir)).toThrow(expect.objectContaining({ code: 'HOME_PATH_TOO_LONG' }));
});

describe('private files', () => {
  test('a key file that others can read is refused with the command that fixes it', () => {
    const file = path.join(temporaryFolder(), 'key');
    fs.writeFileSync(file, 'secret', { mode: 0o600 });
    checkPrivateFile(file);
    fs.chmodSync(file, 0o640);
    expect(() => checkPrivateFile(file)).toThrow(
      expect.objectContaining({ code: 'KEY_UNSAFE', hint: `chmod 600 ${file}` }),
    );
  });

  test('a missing key file and a link are named', () => {
    const folder = temporaryFolder();
    expect(() => checkPrivateFile(path.join(folder, 'key'))).toThrow(expect.objectContaining({ code: 'KEY_MISSING' }));
    fs.writeFileSync(path.join(folder, 'real'), '', { mode: 0o600 });
    fs.symlinkSync('real', path.join(folder, 'key'));
    expect(() => checkPrivateFile(path.join(folder, 'key'))).toThrow(expect.objectContaining({ code: 'KEY_UNSAFE' }));
  });
});

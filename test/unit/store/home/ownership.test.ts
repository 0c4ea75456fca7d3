import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { createHome, socketAddress, type Home } from '../../../../src/store/home/home.ts';
import { findForeign, foreignParts, requireOwned, userName } from '../../../../src/store/home/ownership.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';

function homeWithFiles(): Home {
  const home = createHome(path.join(temporaryFolder(), 'home'));
  fs.mkdirSync(path.join(home.repository, 'objects/ab'), { recursive: true });
  fs.mkdirSync(path.join(home.repository, 'refs/heads/log'), { recursive: true });
  for (const file of ['keys/host_ed25519', 'repo.git/HEAD', 'repo.git/objects/ab/cd', 'repo.git/refs/heads/log/alpha'])
    fs.writeFileSync(path.join(home.dir, file), 'x');
  return home;
}

test('a home of one user has nothing foreign', () => {
  const home = homeWithFiles();
  expect(foreignParts(home, { objects: true })).toEqual([]);
  expect(findForeign(home)).toMatchObject({ count: 0, first: undefined });
  expect(() => requireOwned(home)).not.toThrow();
});

describe.runIf(process.getuid?.() === 0)('what belongs to another user (needs root to make it so)', () => {
  test.each([
    ['keys', 'keys', 'KEY_UNSAFE'],
    ['a key', 'keys/host_ed25519', 'KEY_UNSAFE'],
    ['the repository', 'repo.git', 'REPOSITORY_OWNER'],
    ['HEAD', 'repo.git/HEAD', 'REPOSITORY_OWNER'],
    ['an object folder', 'repo.git/objects/ab', 'REPOSITORY_OWNER'],
    ['a branch', 'repo.git/refs/heads/log/alpha', 'REPOSITORY_OWNER'],
    ['the folder of views', 'views', 'HOME_UNSAFE'],
  ])('%s is refused, naming file, both users and the command', (_, name, code) => {
    const home = homeWithFiles();
    const file = path.join(home.dir, name);
    fs.chownSync(file, 12_345, 12_345);
    expect(() => requireOwned(home)).toThrow(
      expect.objectContaining({
        code,
        message: `${file} belongs to user id 12345, this process runs as user id 0 (root)`,
        hint: expect.stringContaining(`chown -R 0:0 ${home.dir}`) as unknown,
      }),
    );
    expect(findForeign(home)).toMatchObject({ count: 1, first: { file, uid: 12_345 } });
  });

  test('one object among thousands is found by doctor', () => {
    const home = homeWithFiles();
    const file = path.join(home.repository, 'objects/ab/cd');
    fs.chownSync(file, 12_345, 12_345);
    expect(() => requireOwned(home)).not.toThrow();
    expect(findForeign(home)).toMatchObject({ count: 1, first: { file } });
  });

  test('a socket of another user is not asked', () => {
    const home = homeWithFiles();
    fs.writeFileSync(home.socket, '');
    fs.chownSync(home.socket, 12_345, 12_345);
    expect(() => socketAddress(home)).toThrow(expect.objectContaining({ code: 'HOME_UNSAFE' }));
  });
});

test('a user is named as far as the machine knows the name', () => {
  const passwd = (): string => 'root:x:0:0:root:/root:/bin/sh\ncraig:x:1000:1000::/home/craig:/bin/sh\n';
  expect(userName(1_000, passwd)).toBe('user id 1000 (craig)');
  expect(userName(4_711, passwd)).toBe('user id 4711');
  expect(
    userName(1_000, () => {
      throw new Error('no such file');
    }),
  ).toBe('user id 1000');
});

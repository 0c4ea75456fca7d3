import fs from 'node:fs';
import path from 'node:path';
import { expect, test, vi } from 'vitest';
import { findMountType, sharedFileSystem, sharedFileSystemOf } from '../../../../src/store/home/file-system.ts';
import { createHome, openHome } from '../../../../src/store/home/home.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';

test.each([
  ['NFS', 0x6969, undefined, 'NFS'],
  ['CIFS', 0xff534d42, undefined, 'CIFS'],
  ['CIFS, as a signed number', 0xff534d42 | 0, undefined, 'CIFS'],
  ['9p, as WSL mounts the disk of Windows', 0x01021997, undefined, '9p, a disk of the machine around this one'],
  ['Ceph', 0x00c36400, undefined, 'Ceph'],
  ['sshfs', 0x65735546, 'fuse.sshfs', 'fuse.sshfs'],
])('a home is not put on %s', (_, type, mount, expected) => {
  expect(sharedFileSystem(type, mount)).toBe(expected);
});

test.each([
  ['ext4', 0xef53, undefined],
  ['btrfs', 0x9123683e, undefined],
  ['xfs', 0x58465342, undefined],
  ['tmpfs', 0x01021994, undefined],
  ['overlay, in a container', 0x794c7630, undefined],
  ['an encrypted folder', 0x65735546, 'fuse.gocryptfs'],
  ['FUSE of which nothing is known', 0x65735546, undefined],
])('%s is a disk of this machine', (_, type, mount) => {
  expect(sharedFileSystem(type, mount)).toBeUndefined();
});

const mountinfo = [
  '1 0 8:1 / / rw - ext4 /dev/sda1 rw',
  '2 1 0:5 / /home/u/remote rw - fuse.sshfs host:/ rw',
  '3 1 0:6 / /home/u/with\\040space rw shared:1 - fuse.gocryptfs x rw',
  '4 1 0:7 / /home/u/remote/over rw - ext4 /dev/sdb1 rw',
].join('\n');

test.each([
  ['/home/u', 'ext4'],
  ['/home/u/remote', 'fuse.sshfs'],
  ['/home/u/remote/deep/home', 'fuse.sshfs'],
  ['/home/u/remote-not', 'ext4'],
  ['/home/u/remote/over/x', 'ext4'],
  ['/home/u/with space/x', 'fuse.gocryptfs'],
])('the mount of %s is %s', (folder, type) => {
  expect(findMountType(mountinfo, folder)).toBe(type);
});

test('the disk of this test is one of this machine', () => {
  expect(sharedFileSystemOf(temporaryFolder())).toBeUndefined();
});

test('a home on NFS is refused, made or opened, with what to do', () => {
  const folder = temporaryFolder();
  const home = createHome(path.join(folder, 'home'));
  const real = fs.statfsSync(folder);
  const spy = vi.spyOn(fs, 'statfsSync').mockReturnValue(Object.assign(real, { type: 0x6969 }) as never);
  try {
    const refused = expect.objectContaining({
      code: 'HOME_UNSAFE',
      message: expect.stringContaining('NFS') as unknown,
      hint: expect.stringContaining('disk of this machine') as unknown,
    });
    expect(() => openHome(home.dir)).toThrow(refused);
    expect(() => createHome(path.join(folder, 'other'))).toThrow(refused);
  } finally {
    spy.mockRestore();
  }
});

/**
 * Which file systems a home may lie on. The home lock and SQLite rest on locks that every process sees, and durability on a
 * disk that does what it says: what is shared between machines has neither.
 */
import fs from 'node:fs';
import path from 'node:path';

/** `f_type` of statfs on Linux, of file systems that are somebody else's disk. */
const sharedTypes: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB'],
  [0x01021997, '9p, a disk of the machine around this one'],
  [0x5346414f, 'AFS'],
  [0x6b414653, 'AFS'],
  [0x73757245, 'Coda'],
  [0x00c36400, 'Ceph'],
  [0x0bd00bd0, 'Lustre'],
  [0x19830326, 'BeeGFS'],
  [0x47504653, 'GPFS'],
]);

/** FUSE says nothing about what is behind it; the type of the mount does. Encrypted folders and local disks are fine. */
const fuseType = 0x65735546;
const sharedFuse = /^fuse\.(sshfs|rclone|s3fs|glusterfs|davfs|davfs2|ceph|gcsfuse|mergerfs-nfs|vmhgfs-fuse|juicefs)$/;

/** What a home must not lie on, in words; undefined for a disk of this machine. `mountType`: of the mount that holds it. Pure. */
export function sharedFileSystem(type: number, mountType: string | undefined): string | undefined {
  // statfs gives the field as signed on some systems.
  const found = sharedTypes.get(type >>> 0);
  if (found !== undefined || type >>> 0 !== fuseType) return found;
  return mountType !== undefined && sharedFuse.test(mountType) ? mountType : undefined;
}

/** The same of a folder that exists; undefined where the system does not say. Errors: of the system. */
export function sharedFileSystemOf(folder: string): string | undefined {
  const { type } = fs.statfsSync(folder);
  return sharedFileSystem(type, type >>> 0 === fuseType ? mountTypeOf(folder) : undefined);
}

/** Type of the mount that a folder is in, as /proc/self/mountinfo has it; undefined where there is none. */
function mountTypeOf(folder: string): string | undefined {
  try {
    return findMountType(fs.readFileSync('/proc/self/mountinfo', 'utf8'), fs.realpathSync(folder));
  } catch {
    return undefined;
  }
}

/** The last mount at or above the folder counts: it hides those before it. Pure. */
export function findMountType(mountinfo: string, folder: string): string | undefined {
  let best: { readonly at: string; readonly type: string } | undefined;
  for (const line of mountinfo.split('\n')) {
    const [before = '', after = ''] = line.split(' - ');
    const at = before.split(' ')[4]?.replace(/\\(\d{3})/g, (_, code: string) => String.fromCharCode(parseInt(code, 8)));
    const type = after.split(' ')[0];
    if (at === undefined || type === undefined || !isBelow(folder, at)) continue;
    if (best === undefined || at.length >= best.at.length) best = { at, type };
  }
  return best?.type;
}

function isBelow(folder: string, at: string): boolean {
  const rest = path.relative(at, folder);
  return rest === '' || (!rest.startsWith('..') && !path.isAbsolute(rest));
}

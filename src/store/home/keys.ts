/** The two key files of a host: `host_ed25519` signs its log lines, `ssh_ed25519` is its transport key. */

import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { publicKeyOf, signingKeyFromSeed, type SigningKey } from '../../crypto/ed25519.ts';
import {
  ed25519PrivatePem,
  ed25519PublicText,
  parseSshPublicKey,
  seedFromPem,
  type SshPublicKey,
} from '../../crypto/ssh-key.ts';
import { realDisk, removeQuietly, type Disk } from '../disk.ts';
import { diskError, OperatingError, systemCode } from '../errors.ts';
import { checkPrivateFile, type Home } from './home.ts';

/** One key of this host. */
export interface HostKey {
  readonly file: string;
  /** OpenSSH private key text, as ssh tools and ssh2 read it. */
  readonly pem: string;
  readonly key: SigningKey;
  readonly publicKey: SshPublicKey;
}

/** Both keys of this host. */
export interface HostKeys {
  readonly sign: HostKey;
  readonly ssh: HostKey;
}

/**
 * Makes the keys that are missing (mode 0600, durable) and reads both. Existing keys are never overwritten.
 * Errors: as `readKeys`, `DISK_FAILED`, `DISK_FULL`.
 */
export async function createKeys(home: Home, options: { host: string; disk?: Disk }): Promise<HostKeys> {
  const disk = options.disk ?? realDisk;
  for (const [file, use] of [
    [home.hostKey, 'log'],
    [home.sshKey, 'ssh'],
  ] as const) {
    if (!fs.existsSync(file)) await createKey(disk, { file, comment: `memd ${use} key of ${options.host}` });
  }
  return readKeys(home);
}

async function createKey(disk: Disk, options: { file: string; comment: string }): Promise<void> {
  const { file, comment } = options;
  const folder = path.dirname(file);
  const temporary = `${file}.tmp-${process.pid}`;
  try {
    disk.makeDirectory(folder, 0o700);
    disk.removeFile(temporary);
    const pem = ed25519PrivatePem(randomBytes(32), comment);
    const descriptor = disk.createFile(temporary, Buffer.from(pem), 0o600);
    await disk.syncFile(descriptor, temporary).finally(() => disk.closeFile(descriptor));
    disk.rename(temporary, file);
    await disk.syncDirectory(folder);
    await disk.syncDirectory(path.dirname(folder));
  } catch (error) {
    removeQuietly(disk, temporary);
    throw diskError(error, 'make key', file);
  }
}

/**
 * Reads both keys. Errors: `KEY_MISSING`, `KEY_UNSAFE` (open to others; the hint is the command that fixes it),
 * `KEY_DAMAGED`.
 */
export function readKeys(home: Home): HostKeys {
  return { sign: readKey(home.hostKey), ssh: readKey(home.sshKey) };
}

/** Reads one key. Errors: as `readKeys`. */
export function readKey(file: string): HostKey {
  checkPrivateFile(file);
  let pem: string;
  try {
    pem = fs.readFileSync(file, 'utf8');
  } catch (error) {
    throw new OperatingError('KEY_MISSING', `cannot read key file ${file}: ${systemCode(error)}`, { cause: error });
  }
  const seed = seedFromPem(pem);
  if (!seed.ok) throw damagedKey(file, seed.detail);
  const key = signingKeyFromSeed(seed.value);
  const publicKey = parseSshPublicKey(ed25519PublicText(publicKeyOf(key)));
  if (!publicKey.ok) throw damagedKey(file, publicKey.detail);
  return { file, pem, key, publicKey: publicKey.value };
}

function damagedKey(file: string, detail: string): OperatingError {
  return new OperatingError('KEY_DAMAGED', `key file ${file} is damaged: ${detail}`, {
    hint: 'restore it from a backup; without it, move the home aside and enrol this machine again under a new host name',
  });
}

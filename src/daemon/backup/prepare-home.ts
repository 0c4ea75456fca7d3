/**
 * The home that a backup is restored into. One that is there stays as it is. One with its keys back and no repository is
 * that host again. One without keys becomes an archive: it reads, and appends nothing until a signer says who it is.
 */
import { existsSync } from 'node:fs';
import { addOps, emptyTrustSet, keptOps } from '../../core/trust/set.ts';
import { isOperatingError } from '../../store/errors.ts';
import { initRepository, openRepository } from '../../store/git/repository.ts';
import { createHome, homePaths, openHome, type Home } from '../../store/home/home.ts';
import { createKeys } from '../../store/home/keys.ts';
import { addTrustOps } from '../../store/trust-store.ts';
import { checkOpsAhead } from '../beliefs/approval-checks.ts';
import { holdUnfinishedHome } from '../hold-home.ts';
import { hasIdentity, readIdentity, requireHostName, writeIdentity, type Identity } from '../identity.ts';
import { addressToTell } from '../enrol/listen-address.ts';
import { Refusal } from '../refusal.ts';
import { readTrustState } from '../trust/trust-keeper.ts';
import { backupOps, openBackup } from './read-backup.ts';

export interface RestoreInto {
  /** Absolute path of the home. */
  readonly home: string;
  /** The export. */
  readonly folder: string;
  /** Who a home without keys is to be. */
  readonly host: string | undefined;
  /** Mesh id that a person pins; else the home's, else the one that the manifest names. */
  readonly mesh: string | undefined;
  /** Name of this machine. */
  readonly machine: string;
}

/** True for a home that has all that a backup can be restored into. */
export async function isPrepared({ home: dir, host }: Pick<RestoreInto, 'home' | 'host'>): Promise<boolean> {
  const home = homePaths(dir);
  if (!existsSync(dir) || !hasIdentity(openHome(dir))) return false;
  const identity = readIdentity(home);
  requireSame(identity, host);
  return identity.mesh !== null && (await holdsGenesis(home, identity.mesh));
}

/**
 * Makes what is missing: keys, repository, the trust set of the backup. The identity is written last, so that a crash before it
 * leaves a folder in which it simply starts again. Refuses BACKUP_UNUSABLE, BACKUP_FOREIGN, BAD_REQUEST.
 */
export async function prepareHome(options: RestoreInto): Promise<void> {
  const before = identityIn(options.home);
  const host = before?.host ?? options.host;
  if (host === undefined)
    throw existsSync(homePaths(options.home).hostKey)
      ? unusable(
          `${options.home} has keys and no keys/identity.json, so nobody said which host it is`,
          'put keys/identity.json of the backed up host there too; or say whose the keys are: --host NAME',
        )
      : unusable(
          `${options.home} has no keys, and nobody said which host it is to be`,
          'put keys/ of the backed up host there first; or --host NAME makes an archive that a signer can make a host',
        );
  requireHostName(host);
  const mesh = await meshOf(options, before);
  const { ops } = backupOps(options);
  const { set } = addOps(emptyTrustSet(mesh), ops, '', await checkOpsAhead(ops));
  if (!set.held.has(mesh))
    throw unusable(
      `${options.folder} does not hold the genesis of mesh ${mesh}`,
      'any host of the mesh can export it again: memctl export DIR',
    );
  const home = createHome(options.home);
  const lock = holdUnfinishedHome(home);
  try {
    if (before === undefined) await createKeys(home, { host });
    const repository = await initRepository(home.repository, { host });
    const texts = keptOps(set).map(({ id, text }) => ({ id, text }));
    await addTrustOps(repository, { ops: texts, author: `memd <${host}@${mesh}>`, seconds: 0 });
    const address = addressToTell(undefined, null, options.machine);
    await writeIdentity(home, { ...(before ?? { host, listen: null, address, signer: null }), mesh });
  } finally {
    lock.release();
  }
}

function identityIn(dir: string): Identity | undefined {
  return existsSync(dir) && hasIdentity(openHome(dir)) ? readIdentity(homePaths(dir)) : undefined;
}

function requireSame(identity: Identity, host: string | undefined): void {
  if (host === undefined || host === identity.host) return;
  throw new Refusal({
    code: 'BAD_REQUEST',
    message: `this home is host ${identity.host}, not ${host}`,
    hint: 'leave --host out, or name another folder: --home DIR',
    exit: 2,
  });
}

async function meshOf({ folder, mesh: pinned }: RestoreInto, before: Identity | undefined): Promise<string> {
  const backup = await openBackup(folder);
  const mesh = before?.mesh ?? pinned ?? backup.mesh;
  if (mesh === undefined)
    throw unusable(`the manifest of ${folder} does not say which mesh it is of`, 'name it: --mesh ID');
  if (!/^[0-9a-f]{64}$/.test(mesh))
    throw new Refusal({
      code: 'BAD_REQUEST',
      message: '--mesh is 64 hex digits',
      hint: 'memctl status shows it',
      exit: 2,
    });
  if (backup.mesh === undefined || backup.mesh === mesh) return mesh;
  throw new Refusal({
    code: 'BACKUP_FOREIGN',
    message: `${folder} is of mesh ${backup.mesh}, not of ${mesh}; nothing was made`,
    hint: 'compare the mesh ids',
    exit: 6,
  });
}

/** False where a repository was never made, or has no trust set yet. Damage is for whoever opens it to say. */
async function holdsGenesis(home: Home, mesh: string): Promise<boolean> {
  try {
    const { set, oid } = await readTrustState(openRepository(home.repository), mesh);
    return set.held.has(mesh) || oid !== '';
  } catch (error) {
    if (isOperatingError(error, 'REPOSITORY_MISSING')) return false;
    throw error;
  }
}

function unusable(message: string, hint: string): Refusal {
  return new Refusal({ code: 'BACKUP_UNUSABLE', message, hint, exit: 2 });
}

/**
 * In-process writer of loose objects. Stock git never fsyncs a folder, also with core.fsync=all: an acknowledged commit
 * can vanish in a power cut because only its name is missing. Here every folder touched is flushed before anything may
 * point at the objects.
 *
 * An object that exists already is written again, not trusted: it may be the un-fsynced, possibly empty, remains of a
 * crash. The append path hardly ever meets one (every commit and open segment is new), so this costs nothing.
 */

import path from 'node:path';
import { makeDirectories, syncDirectories } from '../disk.ts';
import { diskError, systemCode } from '../errors.ts';
import { encodeCommit, type EncodedObject } from './object-id.ts';
import { lockRef } from './refs.ts';
import type { Repository } from './repository.ts';

interface Pending {
  readonly descriptor: number;
  readonly temporary: string;
  readonly final: string;
}

let counter = 0;

/** A folder may be gone again between its making and its use: `git prune-packed` removes empty ones at any moment. */
const folderTries = 8;

function createTemporary(repository: Repository, object: EncodedObject, touched: Set<string>): Pending {
  const { disk, objectDir: root } = repository;
  const folder = path.join(root, object.oid.slice(0, 2));
  counter += 1;
  const temporary = path.join(folder, `tmp_obj_${process.pid}_${counter}`);
  for (let left = folderTries - 1; ; left -= 1) {
    makeDirectories(disk, { root, directory: folder, touched });
    touched.add(folder);
    try {
      const descriptor = disk.createFile(temporary, object.data, 0o444);
      return { descriptor, temporary, final: path.join(folder, object.oid.slice(2)) };
    } catch (error) {
      if (left === 0 || systemCode(error) !== 'ENOENT') throw error;
    }
  }
}

/**
 * Writes objects; durable on return, names included. `beside` runs along with the file fsyncs (the lock of a branch).
 * Errors: `DISK_FAILED`, `DISK_FULL`; then some objects may exist, which harms nothing.
 */
export async function writeObjects(
  repository: Repository,
  objects: readonly EncodedObject[],
  beside?: () => Promise<void>,
): Promise<void> {
  const { disk } = repository;
  const touched = new Set<string>();
  const pending: Pending[] = [];
  const renamed = new Set<Pending>();
  try {
    for (const object of objects) pending.push(createTemporary(repository, object, touched));
    const flushes = pending.map((file) => disk.syncFile(file.descriptor, file.temporary));
    await settleAll(beside === undefined ? flushes : [...flushes, beside()]);
    for (const file of pending) {
      disk.rename(file.temporary, file.final);
      renamed.add(file);
    }
    await syncDirectories(disk, touched);
  } catch (error) {
    for (const file of pending) if (!renamed.has(file)) disk.removeFile(file.temporary);
    throw diskError(error, 'write objects in', repository.objectDir);
  } finally {
    for (const file of pending) disk.closeFile(file.descriptor);
  }
}

/** Waits for all, also after a failure: a descriptor must not be closed while its fsync is under way. */
async function settleAll(work: readonly Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(work);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

/** One commit on one branch: the objects of its tree, and what the commit says. */
export interface CommitRequest {
  readonly ref: string;
  /** Commit that the tree was built on; null when the branch must not exist yet. */
  readonly expected: string | null;
  /** Every new object below the root tree, and the root tree itself. */
  readonly objects: readonly EncodedObject[];
  readonly tree: string;
  readonly author: string;
  readonly seconds: number;
  readonly message: string;
}

/**
 * Writes a commit and moves its branch by compare-and-swap; durable on return. Either the branch is at the new commit or
 * at `expected`; after an error it can be either (a failed write may have persisted), and the caller must read it again.
 * Errors: `REF_CHANGED`, `REF_LOCKED`, `REF_DAMAGED`, `DISK_FAILED`, `DISK_FULL`.
 */
export async function commitObjects(repository: Repository, request: CommitRequest): Promise<string> {
  const { tree, expected, author, seconds, message } = request;
  const commit = encodeCommit({ tree, parent: expected, author, seconds, message });
  const locked = lockRef(repository, { ref: request.ref, expected, next: commit.oid });
  try {
    await writeObjects(repository, [...request.objects, commit], () => locked.prepare());
    await locked.commit();
  } catch (error) {
    locked.abort();
    throw diskError(error, 'commit to', request.ref);
  }
  return commit.oid;
}

/**
 * What can still be had of damaged packs: every object that has its right hash becomes a loose object, durably, before the
 * pack is moved aside. A crash on the way leaves more copies than needed, never fewer.
 */

import fs from 'node:fs';
import path from 'node:path';
import { anyObjectBytesMax, maintenanceDeadlineMs, objectListBytesMax } from '../../core/limits.ts';
import { failedChild, runChild, wasKilled } from '../child.ts';
import { syncDirectories } from '../disk.ts';
import { encodeObject, type EncodedObject, type ObjectType } from './object-id.ts';
import { writeObjects } from './objects.ts';
import { openReader } from './reader.ts';
import { gitRequest, runGit, type ObjectView, type Repository } from './repository.ts';

/** Objects read, and written, at a time. */
const objectsAtATime = 64;
const objectTypes: readonly ObjectType[] = ['blob', 'tree', 'commit'];

/** Makes the index of a sound pack again; durable on return. Errors: as `runGit`. */
export async function indexPack(repository: Repository, pack: string): Promise<void> {
  await runGit(repository, { args: ['index-pack', pack], deadlineMs: maintenanceDeadlineMs });
  await syncDirectories(repository.disk, [path.dirname(pack)]);
}

/**
 * Writes every good object of a damaged pack as a loose object, durably. `index`: its sound index, or null; then the pack is
 * read from its beginning, as far as it goes. @returns how many objects are saved, and the ids of the others; null: unknown.
 */
export async function salvagePack(
  repository: Repository,
  { file, index }: { readonly file: string; readonly index: string | null },
): Promise<{ readonly saved: number; readonly lost: readonly string[] | null }> {
  if (index !== null) {
    const oids = await namesOf(repository, index);
    const good = await saveObjects(repository, repository, oids);
    return { saved: good.size, lost: oids.filter((oid) => !good.has(oid)) };
  }
  // In the folder that the start-up sweep empties.
  const objectDir = path.join(repository.gitDir, 'quarantine', `salvage-${process.pid}`);
  fs.rmSync(objectDir, { recursive: true, force: true });
  fs.mkdirSync(path.join(objectDir, 'pack'), { recursive: true, mode: 0o700 });
  try {
    const view: ObjectView = { gitDir: repository.gitDir, objectDir, alternates: [] };
    await unpackWhatGoes(view, file);
    return { saved: (await saveObjects(repository, view, looseNames(objectDir))).size, lost: null };
  } finally {
    fs.rmSync(objectDir, { recursive: true, force: true });
  }
}

async function namesOf(repository: Repository, index: string): Promise<string[]> {
  const input = fs.readFileSync(index);
  const request = gitRequest(repository, { args: ['show-index'], input, outputBytesMax: objectListBytesMax });
  const result = await runChild(request);
  if (result.code !== 0) throw failedChild(request, result);
  return result.stdout
    .toString('latin1')
    .split('\n')
    .flatMap((line) => /^\d+ ([0-9a-f]{40})/.exec(line)?.[1] ?? []);
}

/** git unpacks until it can no more, and says with its exit code that it could not. */
async function unpackWhatGoes(view: ObjectView, pack: string): Promise<void> {
  const call = { args: ['unpack-objects', '-r', '-q'], input: fs.readFileSync(pack) };
  const request = gitRequest(view, { ...call, deadlineMs: maintenanceDeadlineMs });
  const result = await runChild(request);
  if (wasKilled(result.code)) throw failedChild(request, result);
}

function looseNames(objectDir: string): string[] {
  const fans = fs.readdirSync(objectDir).filter((name) => /^[0-9a-f]{2}$/.test(name));
  return fans.flatMap((fan) => {
    const names = fs.readdirSync(path.join(objectDir, fan));
    return names.flatMap((name) => (/^[0-9a-f]{38}$/.test(name) ? fan + name : []));
  });
}

async function saveObjects(repository: Repository, from: ObjectView, oids: readonly string[]): Promise<Set<string>> {
  const saved = new Set<string>();
  for (let start = 0; start < oids.length; start += objectsAtATime) {
    const objects = await readGood(from, oids.slice(start, start + objectsAtATime));
    await writeObjects(repository, objects);
    for (const { oid } of objects) saved.add(oid);
  }
  return saved;
}

/** A reading session of its own for each batch: it tells damage apart object by object only so many times. */
async function readGood(view: ObjectView, oids: readonly string[]): Promise<EncodedObject[]> {
  const reader = openReader(view, { deadlineMs: maintenanceDeadlineMs });
  const good: EncodedObject[] = [];
  try {
    let left = oids;
    for (const type of objectTypes) {
      const answers = await reader.read(left, { type, bytesMax: anyObjectBytesMax });
      for (const answer of answers) if (answer.ok) good.push(encodeObject(type, answer.content));
      left = answers.flatMap((answer) => (!answer.ok && answer.code === 'WRONG_TYPE' ? answer.oid : []));
    }
    return good;
  } finally {
    await reader.close();
  }
}

/** The object store: what cannot be what its name says goes aside, after everything good in it has been saved. */
import path from 'node:path';
import { listAsideObjects } from '../../store/home/damaged-folder.ts';
import { findDamagedLoose, findDamagedPacks } from '../../store/git/damaged-objects.ts';
import { isOid } from '../../store/git/object-id.ts';
import { indexPack, salvagePack } from '../../store/git/salvage.ts';
import { describeError } from '../describe-error.ts';
import { counted } from '../counted.ts';
import type { RepositoryRoom } from './room.ts';

/** Looks through every object file. Afterwards git finds an object or not, and never damage. */
export async function repairObjects(room: RepositoryRoom): Promise<void> {
  rememberEarlier(room);
  room.progress('looking through loose objects');
  await moveLoose(room);
  room.progress('looking through packs');
  await repairPacks(room);
}

/** What an earlier repair moved aside, which may have been interrupted before it put anything back. */
function rememberEarlier(room: RepositoryRoom): void {
  const { names, packs } = listAsideObjects(room.home);
  for (const oid of names) room.lost.add(oid);
  room.lostUnknown ||= packs > 0;
}

async function moveLoose(room: RepositoryRoom): Promise<void> {
  const found = await findDamagedLoose(room.repository);
  for (const { file, why } of found) {
    const oid = path.basename(path.dirname(file)) + path.basename(file);
    if (isOid(oid)) room.lost.add(oid);
    else room.lostUnknown = true;
    room.aside.moveAside(file, why);
  }
  const [first] = found;
  if (first === undefined) return;
  room.done(
    'objects',
    `${counted(found.length, 'damaged object file')} moved aside; the first, ${first.file}, ${first.why}`,
  );
}

async function repairPacks(room: RepositoryRoom): Promise<void> {
  const { repository, aside } = room;
  const { packs, companions } = await findDamagedPacks(repository);
  for (const { file, why } of companions) {
    aside.moveAside(file, why);
    room.done('packs', `${path.basename(file)} ${why}: it is moved aside`);
  }
  for (const pack of packs) await savePack(room, pack);
  // Those too whose index has just gone.
  for (const file of (await findDamagedPacks(repository)).unindexed) await makeIndex(room, file);
}

async function savePack(
  room: RepositoryRoom,
  { file, why, index }: { readonly file: string; readonly why: string; readonly index: string | null },
): Promise<void> {
  const { saved, lost } = await salvagePack(room.repository, { file, index });
  // The index goes first: git sees a pack by it.
  for (const ending of ['idx', 'rev', 'bitmap', 'keep', 'pack'])
    room.aside.moveAside(`${file.slice(0, -'pack'.length)}${ending}`, ending === 'pack' ? why : 'its pack is damaged');
  room.lostUnknown ||= lost === null;
  for (const oid of lost ?? []) room.lost.add(oid);
  const rest = lost === null ? '' : `, ${lost.length} are not`;
  room.done('packs', `${path.basename(file)} ${why}: ${counted(saved, 'object')} saved${rest}, and it is moved aside`);
}

async function makeIndex(room: RepositoryRoom, file: string): Promise<void> {
  try {
    await indexPack(room.repository, file);
    room.done('packs', `the index of ${path.basename(file)} is made again`);
  } catch (error) {
    // Its hash is right, and git cannot read it all the same: somebody wrote it so.
    await savePack(room, { file, why: describeError(error).message, index: null });
  }
}

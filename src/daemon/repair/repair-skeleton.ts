/** What makes a folder a repository: HEAD, folders, configuration, refs that can be read. */
import { existsSync, lstatSync, mkdirSync, readlinkSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import {
  findDamagedRefs,
  isHeadSound,
  isPackedRefsSound,
  mendPackedRefs,
  writeHead,
  type DamagedRef,
} from '../../store/git/damaged-refs.ts';
import { initRepository, openRepository, prepareRepository, type Repository } from '../../store/git/repository.ts';
import { counted } from '../counted.ts';
import type { RepairRoom } from './room.ts';

const folders = ['objects', 'refs', 'refs/heads', 'refs/heads/log', 'refs/heads/view', 'objects/pack'];

/**
 * A folder of the repository that is a link to a real one: what is in it is in use, so it is neither rubbish nor ours to move.
 * Undefined where there is none.
 */
function linkedFolder(gitDir: string): string | undefined {
  const isLinked = (file: string): boolean =>
    lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true &&
    statSync(file, { throwIfNoEntry: false })?.isDirectory() === true;
  return folders.map((name) => path.join(gitDir, name)).find(isLinked);
}

/** Files with which git sees something else than the objects say. This program never makes them. */
const foreignFiles = ['shallow', 'info/grafts', 'objects/info/grafts', 'refs/replace'];

/**
 * Makes the repository one that can be opened and read. `host`: whose log HEAD names. @returns it, and the branches whose file
 * says nothing; undefined where a person must move a folder first.
 */
export async function repairSkeleton(
  room: RepairRoom,
  host: string,
): Promise<{ readonly repository: Repository; readonly damaged: ReadonlySet<string> } | undefined> {
  const { home, aside } = room;
  const gitDir = home.repository;
  if (!existsSync(gitDir) && lstatSync(gitDir, { throwIfNoEntry: false }) !== undefined) {
    // A disk that is not mounted, most often: an empty repository there, or here, would be no repair.
    const target = path.resolve(home.dir, readlinkSync(gitDir));
    const fix = `mount what ${target} lies on, or remove the link: rm '${gitDir}'; then memctl doctor --repair`;
    room.leave('repository', `${gitDir} is a link to ${target}, and nothing is there`, fix);
    return undefined;
  }
  if (!existsSync(gitDir)) {
    await initRepository(gitDir, { host });
    room.lostUnknown = true;
    room.done('repository', 'repo.git was gone: an empty one takes its place');
  }
  const linked = linkedFolder(gitDir);
  if (linked !== undefined) {
    const target = realpathSync(linked);
    const why = `${linked} is a link to ${target}: nothing is repaired through it, and nothing was`;
    room.leave('repository', why, `rm '${linked}' && mv '${target}' '${linked}', then memctl doctor --repair`);
    return undefined;
  }
  for (const name of folders) {
    const folder = path.join(gitDir, name);
    const status = lstatSync(folder, { throwIfNoEntry: false });
    if (status?.isDirectory() === true) continue;
    if (status !== undefined) aside.moveAside(folder, 'is not a folder');
    mkdirSync(folder, { mode: 0o700 });
    room.lostUnknown ||= name === 'objects' || status !== undefined;
    room.done('repository', `${name} ${status === undefined ? 'was gone' : 'was no folder'}: it is made again`);
  }
  if (!isHeadSound({ gitDir })) {
    aside.moveAside(path.join(gitDir, 'HEAD'), 'names no log');
    await writeHead({ gitDir }, host);
    room.done('HEAD', `it named no log: it names log/${host} again`);
  }
  setForeignAside(room);
  await repairPackedRefs(room);
  const repository = openRepository(gitDir);
  const damaged = findDamagedRefs(repository);
  for (const one of damaged) setAsideRef(room, one);
  const config = path.join(gitDir, 'config');
  // A link, a folder: nothing that could be written over.
  if (existsSync(config) && !lstatSync(config).isFile()) aside.moveAside(config, 'is not a plain file');
  await prepareRepository(repository);
  return { repository, damaged: new Set(damaged.map(({ ref }) => ref)) };
}

function setForeignAside(room: RepairRoom): void {
  const { aside, home } = room;
  const gitDir = home.repository;
  for (const name of ['info', 'objects/info']) {
    // Through a link a file of somebody else would be moved.
    if (lstatSync(path.join(gitDir, name), { throwIfNoEntry: false })?.isSymbolicLink() !== true) continue;
    aside.moveAside(path.join(gitDir, name), 'is a link');
    room.done('repository', `${name} was a link: it is moved aside`);
  }
  for (const name of foreignFiles) {
    if (!existsSync(path.join(gitDir, name))) continue;
    aside.moveAside(path.join(gitDir, name), 'makes git see another history than the objects hold');
    room.done('repository', `${name} is moved aside: it makes git see another history than the objects hold`);
  }
}

/**
 * A branch of ours keeps a file that says nothing until it is restored: one that was not there at all would read like a log
 * that never was, also after a crash.
 */
function setAsideRef({ aside, done }: RepairRoom, { ref, file, why }: DamagedRef): void {
  const isOurs = /^refs\/heads\/(trust$|log\/|view\/)/.test(ref);
  if (isOurs && lstatSync(file).isFile()) aside.copyAside(file, why);
  else {
    aside.moveAside(file, why);
    if (isOurs) writeFileSync(file, '', { mode: 0o600 });
  }
  done(ref, `${file} ${why}: it is ${isOurs ? 'kept aside' : 'moved aside'}`);
}

async function repairPackedRefs(room: RepairRoom): Promise<void> {
  const gitDir = room.home.repository;
  const file = path.join(gitDir, 'packed-refs');
  const status = lstatSync(file, { throwIfNoEntry: false });
  if (status === undefined) return;
  if (!status.isFile()) {
    room.aside.moveAside(file, 'is not a plain file');
    room.done('packed-refs', 'it was no plain file: it is moved aside');
    return;
  }
  if (isPackedRefsSound({ gitDir })) return;
  room.aside.copyAside(file, 'has lines that are no refs');
  const refs = await mendPackedRefs({ gitDir });
  room.done('packed-refs', `it had lines that are no refs: ${counted(refs, 'ref')} of it can be read, and stay`);
}

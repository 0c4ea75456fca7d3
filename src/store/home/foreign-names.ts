/** What lies in a home and is not memd's: nobody knows what is in it, and a purge does not look. */
import fs from 'node:fs';
import path from 'node:path';
import { diskError, systemCode } from '../errors.ts';
import { homePaths, type Home } from './home.ts';

/** Names in `repo.git` that memd or git itself puts there. */
const repositoryNames: readonly string[] = [
  'HEAD',
  'branches',
  'config',
  'description',
  'hooks',
  'info',
  'objects',
  'packed-refs',
  'quarantine',
  'refs',
];

/** Names in the home, and in its repository, that memd does not know, as paths below the home, sorted. Errors: `DISK_FAILED`. */
export function foreignNames(home: Pick<Home, 'dir'>): readonly string[] {
  const own = Object.values<string>({ ...homePaths(home.dir) })
    .filter((file) => path.dirname(file) === home.dir)
    .map((file) => path.basename(file));
  const repository = path.basename(homePaths(home.dir).repository);
  const inHome = namesIn(home.dir).filter((name) => !own.some((one) => isOf(one, name)));
  const inRepository = namesIn(path.join(home.dir, repository))
    .filter((name) => !repositoryNames.some((one) => isOf(one, name)))
    .map((name) => path.join(repository, name));
  return [...inHome, ...inRepository].toSorted((a, b) => (a < b ? -1 : 1));
}

/** What memd and SQLite add to the name of a file of theirs; `repo.git.old` and `state.sqlite~` are somebody else's. */
const ownSuffix = /^(|-(wal|shm|journal)|\.1|\.damaged.*|\.other.*|\.tmp(-\d+)?)$/;

function isOf(one: string, name: string): boolean {
  return name.startsWith(one) && ownSuffix.test(name.slice(one.length));
}

function namesIn(folder: string): readonly string[] {
  try {
    return fs.readdirSync(folder);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw diskError(error, 'read', folder);
  }
}

/**
 * Where the rows are kept: in the file of the home, and in memory while its disk cannot take them. They follow from the
 * logs, so nothing is lost by it; it costs memory and one fold on the way there and back, and what is known can be asked on.
 */
import { statSync } from 'node:fs';
import type { Logger } from 'pino';
import { databaseRoomBytes } from '../../core/limits.ts';
import { openDatabase, openMemoryDatabase, type StateDatabase } from '../../store/database/database.ts';
import { freeBytes, tryRoom } from '../../store/home/disk-room.ts';
import { isDiskShut, type OperatingError } from '../../store/errors.ts';
import type { Home } from '../../store/home/home.ts';

export interface DatabasePlace {
  readonly database: () => StateDatabase;
  readonly inMemory: () => boolean;
  /** Goes on in memory, without a row. */
  readonly leaveFile: (reason: OperatingError) => void;
  /** Goes back to a new, empty file if there is room for one. @returns whether it did. */
  readonly returnToFile: () => boolean;
  /** Gives the file up for a new one; without room for it the rows go to memory. */
  readonly replace: (why: 'damaged' | 'purged') => void;
}

/** Opens the file; where that needs room that is not there, memory. Errors: as `openDatabase`, but for `DISK_FULL`. */
export function createDatabasePlace(home: Home, log: Logger | undefined): DatabasePlace {
  const open = (anew?: 'damaged' | 'purged'): StateDatabase => {
    try {
      return openDatabase(home.database, anew === undefined ? {} : { anew });
    } catch (error) {
      if (!isDiskShut(error)) throw error;
      log?.warn({ err: error }, 'no room for the database: it is kept in memory');
      return openMemoryDatabase();
    }
  };
  let database = open();
  const inMemory = (): boolean => database.file !== home.database;
  const replace = (why: 'damaged' | 'purged'): void => {
    database.close();
    database = open(why);
  };
  return {
    database: () => database,
    inMemory,
    replace,
    leaveFile(reason) {
      log?.warn({ err: reason }, 'no room for the database: it is kept in memory');
      database.close();
      database = openMemoryDatabase();
    },
    returnToFile() {
      if (!inMemory() || !hasRoom(home)) return false;
      replace('purged');
      if (!inMemory()) log?.info('there is room again: the database is a file');
      return !inMemory();
    },
  };
}

/**
 * Writes rows: to the file, back to it once there is room, and where there is none to memory. `makeAgain` has all of them
 * written anew, since another place has none. Errors: those of `write`.
 */
export async function writeSomewhere(
  place: Pick<DatabasePlace, 'inMemory' | 'leaveFile' | 'returnToFile'>,
  { write, makeAgain }: { readonly write: () => Promise<void>; readonly makeAgain: () => Promise<void> },
): Promise<void> {
  if (place.returnToFile()) await makeAgain();
  try {
    await write();
  } catch (error) {
    if (!isDiskShut(error) || place.inMemory()) throw error;
    place.leaveFile(error);
    await makeAgain();
    await write();
  }
}

/** The new file takes the place of the old one, and its journal comes to as much again. */
function hasRoom(home: Home): boolean {
  const bytes = statSync(home.database, { throwIfNoEntry: false })?.size ?? 0;
  return freeBytes(home.dir) >= bytes + databaseRoomBytes && tryRoom(home) === undefined;
}

/** How much of the database SQLite keeps in memory. */
import type Database from 'better-sqlite3';

/** KiB of pages that stay for single changes and reads. */
const cacheKb = 8_192;

/** The same in a large change: it inserts ids in random order, and pages must not go in and out for each. */
const largeCacheKb = 65_536;

/** Takes more memory for a large change, or gives it back. */
export function cachePages(database: Database.Database, large: boolean): void {
  database.pragma(`cache_size = -${large ? largeCacheKb : cacheKb}`);
  if (!large) database.pragma('shrink_memory');
}

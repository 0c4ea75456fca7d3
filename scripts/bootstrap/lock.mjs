// @ts-check
/**
 * One bootstrap at a time per checkout. The lock is a file that appears complete (hard link), is touched while it is
 * held, and counts as left behind when its process is gone or it has not been touched for a while.
 */
import { linkSync, mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';

const touchMs = 2_000;
const abandonedMs = 60_000;
const pollMs = 200;
let attempts = 0;

/**
 * Runs `work` while holding the lock; waits for another holder and says so once.
 * @template T
 * @param {string} file
 * @param {(text: string) => void} tell
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withLock(file, tell, work) {
  mkdirSync(dirname(file), { recursive: true });
  let told = false;
  while (!take(file)) {
    if (!told) tell(`waiting for another run in this checkout (${describeHolder(file)})`);
    told = true;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
  const touch = setInterval(() => touchFile(file), touchMs);
  const release = () => rmSync(file, { force: true });
  process.on('exit', release);
  try {
    return await work();
  } finally {
    clearInterval(touch);
    process.off('exit', release);
    release();
  }
}

/** @param {string} file */
function take(file) {
  if (create(file)) return true;
  if (!isAbandoned(file)) return false;
  // Only one of the waiting runs may clear the way: else the second would remove the lock that the first just took.
  const clearing = `${file}.clearing`;
  if (!create(clearing)) {
    if (isAbandoned(clearing)) rmSync(clearing, { force: true });
    return false;
  }
  try {
    if (isAbandoned(file)) rmSync(file, { force: true });
  } finally {
    rmSync(clearing, { force: true });
  }
  return create(file);
}

/** @param {string} file */
function create(file) {
  attempts += 1;
  const own = `${file}.${process.pid}.${attempts}`;
  writeFileSync(own, JSON.stringify({ pid: process.pid, host: hostname() }));
  try {
    linkSync(own, file);
    return true;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(own, { force: true });
  }
}

/** @param {string} file */
function isAbandoned(file) {
  try {
    if (Date.now() - statSync(file).mtimeMs > abandonedMs) return true;
    const holder = JSON.parse(readFileSync(file, 'utf8'));
    return holder.host === hostname() && !isAlive(Number(holder.pid));
  } catch {
    return false; // gone or being replaced: look again
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM';
  }
}

/** @param {string} file */
function describeHolder(file) {
  try {
    return `process ${JSON.parse(readFileSync(file, 'utf8')).pid}`;
  } catch {
    return file;
  }
}

/** @param {string} file */
function touchFile(file) {
  try {
    const now = new Date();
    utimesSync(file, now, now);
  } catch {
    // taken from us after a long suspend; the work at hand is idempotent
  }
}

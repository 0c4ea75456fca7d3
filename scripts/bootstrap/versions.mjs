// @ts-check
/**
 * Versions of the tools around us, read from what they print. Plain JavaScript without dependencies: this runs before
 * anything is installed, on any Node from 18 on.
 */

/** @typedef {readonly [number, number, number]} Version */

/** Oldest Node that runs the program: the prebuilt better-sqlite3 13 ends 22.12 and 22.13 with a segmentation fault. */
export const nodeNeeded = /** @type {Version} */ ([22, 14, 0]);
/** Oldest Node that can run this bootstrap. */
export const nodeForBootstrap = /** @type {Version} */ ([18, 0, 0]);
/** Oldest git with `core.fsync`. */
export const gitNeeded = /** @type {Version} */ ([2, 36, 0]);
/** Oldest OpenSSH whose `ssh-keygen -Y sign` and `-Y verify` are complete. */
export const sshNeeded = /** @type {Version} */ ([8, 2, 0]);

/**
 * First dotted number of a text: `git version 2.39.5 (Apple Git-154)`, `OpenSSH_9.2p1 Debian-2`, `v20.20.2`. Pure.
 * @param {string} text
 * @returns {Version | undefined} undefined when there is none
 */
export function parseVersion(text) {
  const match = /(\d+)\.(\d+)(?:\.(\d+))?/.exec(text);
  if (!match) return undefined;
  return [Number(match[1]), Number(match[2]), Number(match[3] ?? 0)];
}

/**
 * Pure.
 * @param {Version} found
 * @param {Version} needed
 */
export function isAtLeast(found, needed) {
  for (let at = 0; at < 3; at += 1) {
    const difference = (found[at] ?? 0) - (needed[at] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}

/**
 * `2.36` for [2, 36, 0]; the patch number is shown when it matters. Pure.
 * @param {Version} version
 */
export function showVersion(version) {
  return version[2] === 0 ? `${version[0]}.${version[1]}` : version.join('.');
}

/**
 * Flags that let this Node run TypeScript sources: it does so unasked from 22.18 and from 23.6 on. Pure.
 * @param {Version} node
 * @returns {string[]}
 */
export function typeStrippingFlags(node) {
  const unasked = node[0] === 22 ? isAtLeast(node, [22, 18, 0]) : isAtLeast(node, [23, 6, 0]);
  return unasked ? [] : ['--experimental-strip-types', '--disable-warning=ExperimentalWarning'];
}

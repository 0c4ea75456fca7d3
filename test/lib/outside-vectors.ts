/**
 * Vectors from outside the repository, in `../shared/vectors` beside the checkout. They are not copied here, and a clone
 * may stand alone: then what would have run is listed as skipped, and the console says so. It never passes in silence.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = new URL('../../../shared/vectors/', import.meta.url);

/** Calls `define` with the folder if it is there, else registers one test that is skipped with the reason. */
export function withOutsideVectors(folder: string, define: (folder: URL) => void): void {
  const url = new URL(`${folder}/`, root);
  if (existsSync(url)) {
    define(url);
    return;
  }
  const notice = `NOT RUN: ../shared/vectors/${folder} is not here`;
  console.warn(notice);
  test(`outside vectors ${folder}: ${notice}`, ({ skip }) => {
    expect(existsSync(url)).toBe(false);
    skip(notice);
  });
}

/** A JSON file of an outside folder. */
export function readOutsideJson(folder: URL, path: string): unknown {
  return JSON.parse(readFileSync(join(fileURLToPath(folder), path), 'utf8')) as unknown;
}

/** A file of an outside folder as bytes. */
export function readOutsideBytes(folder: URL, path: string): Uint8Array {
  // Not by URL: names of outside files hold # and ?.
  return new Uint8Array(readFileSync(join(fileURLToPath(folder), path)));
}

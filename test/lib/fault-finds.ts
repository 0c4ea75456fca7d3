/** What rows of the fault table look for in a home. */
import fs from 'node:fs';
import path from 'node:path';
import type { Found } from './fault-rows.ts';

/** The text of a file; undefined when there is none. */
export const read = (file: string): string | undefined =>
  fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : undefined;

/** One of two texts, or a file that is not there for `old`. */
export function textIs(file: string, texts: { readonly old: string | undefined; readonly now: string }): Found {
  const text = read(file);
  if (text === texts.now) return 'new';
  if (text === texts.old) return 'old';
  throw new Error(`${path.basename(file)} holds ${JSON.stringify(text?.slice(0, 80))}`);
}

/** Of things that are to go: all left, none left, some. */
export function some(left: number, all: number): Found {
  return left === 0 ? 'new' : left === all ? 'old' : 'between';
}

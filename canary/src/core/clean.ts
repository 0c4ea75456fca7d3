// Nothing fires here: a rule that fires on everything says nothing.
import { width } from '../crypto/clean.ts';
export const ordered: readonly string[] = ['b', 'a'].toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0));
export const widest: number = Math.max(width, 1);
/** Words in a comment are not code: Date.now(), class Name {, .sort(), import('node:fs'), \p{L}. */
export const asciiCase: RegExp = /www$/i;
export const text: string = 'Date.now() and class Name { and .sort() in a string';

/**
 * What git is told of an object's place when it packs it. git finds deltas among neighbours in one order: type, a hash of
 * the name that it is given, size. The hash of a path mixes hosts (each has a `00/00/05.jsonl`) and segments, and then ten
 * neighbours are not enough: 10 000 appends of three hosts took 9.5 MB. Names whose hash is branch and segment, exactly, put
 * the versions of one file side by side: 5.3 MB, with four neighbours instead of ten.
 */
import { segmentFanout } from '../../core/limits.ts';

/** git shifts two bits for each character and keeps the top byte: 13 characters of two bits each are a number of 26 bits. */
const characters = 13;
const alphabet = '@ABC';
/** Numbers of a branch: every segment, which is 64³. */
const perBranch: number = segmentFanout ** 3;

/** Name hint for an object found at `path` of a branch; commits and root folders have the path ''. Pure. */
export function packHint(branch: number, path: string): string {
  let rest = (branch * perBranch + placeOf(path)) % 4 ** characters;
  let hint = '';
  for (let at = 0; at < characters; at += 1) {
    hint += alphabet[rest % 4] ?? '';
    rest = Math.floor(rest / 4);
  }
  return hint;
}

/** A number for a path of a log: segments in order, folders likewise. Anything else is 0. */
function placeOf(path: string): number {
  if (!/^\d\d(\/\d\d){0,2}(\.jsonl)?$/.test(path)) return 0;
  return path
    .replace('.jsonl', '')
    .split('/')
    .reduce((sum, part) => sum * segmentFanout + Number(part), 0);
}

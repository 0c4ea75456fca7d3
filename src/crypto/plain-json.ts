/**
 * JSON that people, other programs or this program's own files say, in any spelling. `JSON.parse` keeps the last of two
 * members of one name and tells nobody: what two writers meant would be decided by their order. Here it is a fault.
 */
import { ok, refuse, type Result } from './result.ts';

export type PlainJsonFault = 'NOT_JSON' | 'REPEATED_KEY';

/** Reads a JSON text of any depth in which no object names a member twice. Faults: as the type says. Pure. */
export function parsePlainJson(text: string): Result<unknown, PlainJsonFault> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return refuse('NOT_JSON', 'not JSON');
  }
  if (countWritten(text) !== countRead(value)) return refuse('REPEATED_KEY', 'a key stands twice in it');
  return ok(value);
}

/** Members as they stand in a text that is known to be JSON: a colon outside of strings is one. */
function countWritten(text: string): number {
  let members = 0;
  for (let at = 0; ;) {
    const quote = text.indexOf('"', at);
    const end = quote < 0 ? text.length : quote;
    for (; at < end; at += 1) if (text.charCodeAt(at) === colon) members += 1;
    if (quote < 0) return members;
    at = endOfString(text, quote);
  }
}

/** The place behind the string that begins at `quote`. */
function endOfString(text: string, quote: number): number {
  let end = text.indexOf('"', quote + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end + 1;
}

function isEscaped(text: string, at: number): boolean {
  let before = at - 1;
  while (text.charCodeAt(before) === backslash) before -= 1;
  return (at - before) % 2 === 0;
}

const [backslash, colon] = [0x5c, 0x3a];

/** Members of every object in a value that JSON.parse made. With a list of its own: nesting is not bounded here. */
function countRead(value: unknown): number {
  let members = 0;
  const open: unknown[] = [value];
  while (open.length > 0) {
    const one = open.pop();
    if (typeof one !== 'object' || one === null) continue;
    const inside: unknown[] = Array.isArray(one) ? one : Object.values(one);
    if (!Array.isArray(one)) members += inside.length;
    for (const next of inside) open.push(next);
  }
  return members;
}

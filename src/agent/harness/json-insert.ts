/**
 * Adds to a JSON settings file by putting text between the text that is there: what a person laid out stays byte for byte,
 * comments and odd spacing too. Returns the pieces that were put in, so that exactly they can be taken out again.
 */
import { parseTree, printParseErrorCode, type Node, type ParseError } from 'jsonc-parser';
import type { JsonValue } from '../../crypto/canonical.ts';

/** Text put in before the character `at` of the old text. */
export interface Insertion {
  readonly at: number;
  readonly text: string;
}

export type SettingsFault = { readonly fault: string };

/** What is to be added: per key of the object `hooks`, one element at the end of its array. */
export type HookGroups = ReadonlyMap<string, JsonValue>;

const byteOrderMark = '\uFEFF';

/** Root object of a settings file. Strict JSON, or JSON with comments and trailing commas where `comments` is set. */
export function parseSettings(text: string, comments: boolean): Node | SettingsFault {
  const errors: ParseError[] = [];
  const options = { disallowComments: !comments, allowTrailingComma: comments, allowEmptyContent: false };
  const root = parseTree(text.startsWith(byteOrderMark) ? ` ${text.slice(1)}` : text, errors, options);
  const [error] = errors;
  if (error !== undefined) return { fault: `line ${lineAt(text, error.offset)}: ${printParseErrorCode(error.error)}` };
  if (root?.type !== 'object') return { fault: 'it is not a JSON object' };
  const twice = duplicateKey(root);
  return twice === undefined ? root : { fault: `the key ${JSON.stringify(twice)} stands in it twice` };
}

/** Insertions that add the groups, in order of `at`. Faults where something else stands in the way. */
export function insertHookGroups(text: string, root: Node, groups: HookGroups): readonly Insertion[] | SettingsFault {
  const style = styleOf(text);
  const hooks = valueOf(root, 'hooks');
  if (hooks === undefined) {
    const value = Object.fromEntries([...groups].map(([event, group]) => [event, [group]]));
    return [insertLast(text, root, { key: 'hooks', values: [value], style })];
  }
  if (hooks.type !== 'object') return { fault: '"hooks" is not an object' };
  const insertions: Insertion[] = [];
  const missing: [string, JsonValue][] = [];
  for (const [event, group] of groups) {
    const list = valueOf(hooks, event);
    if (list === undefined) missing.push([event, [group]]);
    else if (list.type !== 'array') return { fault: `"hooks.${event}" is not a list` };
    else insertions.push(insertLast(text, list, { values: [group], style }));
  }
  if (missing.length > 0) insertions.push(insertLast(text, hooks, { members: missing, style }));
  return insertions.toSorted((a, b) => a.at - b.at);
}

/** The text with all insertions in it. */
export function applyInsertions(text: string, insertions: readonly Insertion[]): string {
  let done = '';
  let from = 0;
  for (const { at, text: piece } of insertions) {
    done += text.slice(from, at) + piece;
    from = at;
  }
  return done + text.slice(from);
}

/** The text without them, where every one stands just where it was put; undefined otherwise. */
export function removeInsertions(text: string, insertions: readonly Insertion[]): string | undefined {
  let done = '';
  let from = 0;
  let put = 0;
  for (const { at, text: piece } of insertions) {
    const place = at + put;
    if (text.slice(place, place + piece.length) !== piece) return undefined;
    done += text.slice(from, place);
    from = place + piece.length;
    put += piece.length;
  }
  return done + text.slice(from);
}

/** The text without them, each being found by its words: in a file that was edited since. Undefined where one is not there once. */
export function removePieces(text: string, insertions: readonly Insertion[]): string | undefined {
  let left = text;
  for (const { text: piece } of insertions) {
    const at = left.indexOf(piece);
    if (at < 0 || left.includes(piece, at + 1)) return undefined;
    left = left.slice(0, at) + left.slice(at + piece.length);
  }
  return left;
}

/** Value of a member of an object. */
export function valueOf(object: Node, key: string): Node | undefined {
  const member = object.children?.find((child) => child.children?.[0]?.value === key);
  return member?.children?.[1];
}

function duplicateKey(node: Node): string | undefined {
  const keys = node.type === 'object' ? (node.children ?? []).map((child) => String(child.children?.[0]?.value)) : [];
  const twice = keys.find((key, at) => keys.indexOf(key) !== at);
  if (twice !== undefined) return twice;
  for (const child of node.children ?? []) {
    const found = duplicateKey(child);
    if (found !== undefined) return found;
  }
  return undefined;
}

interface Style {
  readonly unit: string;
  readonly newline: string;
}

function styleOf(text: string): Style {
  const unit = /\n([ \t]+)\S/.exec(text)?.[1] ?? '  ';
  return { unit: unit.startsWith('\t') ? '\t' : unit.slice(0, 8), newline: text.includes('\r\n') ? '\r\n' : '\n' };
}

interface Item {
  readonly key?: string;
  readonly values?: readonly JsonValue[];
  readonly members?: readonly (readonly [string, JsonValue])[];
  readonly style: Style;
}

/** The insertion that adds to the end of an object or list, laid out as what is there. */
function insertLast(text: string, container: Node, { key, values = [], members, style }: Item): Insertion {
  const { unit, newline } = style;
  const last = container.children?.at(-1);
  const open = container.offset + 1;
  const close = container.offset + container.length - 1;
  const isRoot = container.parent === undefined;
  const spread = text.slice(open, last?.offset ?? close).includes('\n') || (isRoot && last === undefined);
  const own = indentOf(text, container.offset);
  const inner = spread && last !== undefined ? indentOf(text, last.offset) : own + unit;
  const named = members ?? values.map((value) => [key, value] as const);
  const rendered = named.map(([name, value]) => render(name, value, { spread, indent: inner, style }));
  if (!spread) return { at: endOf(last) ?? open, text: (last === undefined ? '' : ', ') + rendered.join(', ') };
  const lines = rendered.map((one) => `${newline}${inner}${one}`).join(',');
  if (last !== undefined) return { at: endOf(last) ?? open, text: `,${lines}` };
  const closes = text.slice(open, close).includes('\n');
  return { at: open, text: closes ? lines : `${lines}${newline}${own}` };
}

function endOf(node: Node | undefined): number | undefined {
  return node === undefined ? undefined : node.offset + node.length;
}

function render(
  key: string | undefined,
  value: JsonValue,
  { spread, indent, style }: { readonly spread: boolean; readonly indent: string; readonly style: Style },
): string {
  const json = spread
    ? JSON.stringify(value, null, style.unit).replaceAll('\n', `${style.newline}${indent}`)
    : JSON.stringify(value);
  return key === undefined ? json : `${JSON.stringify(key)}: ${json}`;
}

/** White space that the line of a place begins with. */
function indentOf(text: string, offset: number): string {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  return /^[ \t]*/.exec(text.slice(start, offset))?.[0] ?? '';
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

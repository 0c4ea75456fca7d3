import { ok, refuse, type Result } from '../../crypto/result.ts';

/** A note: the scalar fields of its front matter and what follows. */
export interface FrontMatter {
  /** Every `key: value` by key, at any depth; of two equal keys the outermost, first one counts. */
  readonly fields: ReadonlyMap<string, string>;
  /** Keys that stand there more than once at one depth. */
  readonly repeated: readonly string[];
  readonly body: string;
}

/** Why a front matter is not one. */
export type FrontMatterFault = 'NEVER_CLOSES' | 'NOT_A_FIELD';

const fence = /^---[ \t]*$/;
const fieldLine = /^([ \t]*)([A-Za-z_][A-Za-z0-9_-]*):(?:[ \t]+(.*))?$/;

/**
 * Splits a note into front matter and body. This is not YAML: tools and people write `description: Branch names:
 * area/slug` without quotes, which YAML refuses, so a value is everything after the first colon. Quoted values lose
 * their quotes; folded and literal blocks (`>`, `|`) and lines that go on with an indent are joined.
 * A note without front matter is all body. Pure.
 */
export function parseFrontMatter(text: string): Result<FrontMatter, FrontMatterFault> {
  const lines = text.split('\n');
  if (!fence.test(lines[0] ?? '')) return ok({ fields: new Map(), repeated: [], body: text.trim() });
  const end = lines.findIndex((line, i) => i > 0 && fence.test(line));
  if (end < 0) return refuse('NEVER_CLOSES', 'its front matter never closes');
  const fields = parseFields(lines.slice(1, end));
  if (!fields.ok) return fields;
  return ok({
    ...fields.value,
    body: lines
      .slice(end + 1)
      .join('\n')
      .trim(),
  });
}

interface Field {
  readonly key: string;
  readonly depth: number;
  readonly parts: string[];
}

function parseFields(lines: readonly string[]): Result<Omit<FrontMatter, 'body'>, FrontMatterFault> {
  const found: Field[] = [];
  for (const [i, line] of lines.entries()) {
    const text = line.trim();
    if (text === '' || text.startsWith('#')) continue;
    const last = found.at(-1);
    const match = fieldLine.exec(line);
    const depth = match?.[1]?.length ?? indentOf(line);
    if (last !== undefined && depth > last.depth && goesOn(last, match !== null)) last.parts.push(text);
    else if (match === null) return refuse('NOT_A_FIELD', `line ${i + 2} of its front matter is no "key: value"`);
    else found.push({ key: match[2] ?? '', depth, parts: [(match[3] ?? '').trim()] });
  }
  return ok(collectFields(found));
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

/** True when an indented line belongs to the value before it instead of being a nested field or list. */
function goesOn(field: Field, looksLikeField: boolean): boolean {
  const head = field.parts[0] ?? '';
  return /^[>|][+-]?$/.test(head) || !looksLikeField;
}

function collectFields(found: readonly Field[]): Omit<FrontMatter, 'body'> {
  const fields = new Map<string, string>();
  const depths = new Map<string, number>();
  const repeated = new Set<string>();
  for (const { key, depth, parts } of found) {
    const known = depths.get(key);
    if (known === depth) repeated.add(key);
    if (known !== undefined && known <= depth) continue;
    depths.set(key, depth);
    fields.set(key, joinParts(parts));
  }
  return { fields, repeated: [...repeated] };
}

function joinParts(parts: readonly string[]): string {
  const isBlock = /^[>|][+-]?$/.test(parts[0] ?? '');
  const glue = parts[0]?.startsWith('|') === true ? '\n' : ' ';
  return unquote((isBlock ? parts.slice(1) : parts).join(isBlock ? glue : ' ').trim());
}

/** The text between quotes; a quote that never closes is part of the text. Pure. */
function unquote(text: string): string {
  const double = /^"((?:[^"\\]|\\.)*)"$/.exec(text)?.[1];
  if (double !== undefined) return double.replace(/\\(["\\/])/g, '$1');
  const single = /^'((?:[^']|'')*)'$/.exec(text)?.[1];
  return single === undefined ? text : single.replace(/''/g, "'");
}

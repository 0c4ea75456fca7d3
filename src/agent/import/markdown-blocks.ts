/** Markdown as far as an import of rules needs it: which lines are list items, below which headings, and what the rest is. */

/** A list item with the lines that belong to it. */
export interface Bullet {
  /** Line of its marker, from 1. */
  readonly line: number;
  readonly indent: number;
  /** Texts of the headings above it, outermost first. */
  readonly headings: readonly string[];
  /** Its lines without marker and indent; never empty. */
  readonly lines: readonly string[];
  /** The item that it stands below. */
  readonly parent: Bullet | undefined;
}

/** Lines that are no list item: what they are, from and to. */
export interface OtherBlock {
  readonly from: number;
  readonly to: number;
  readonly what: 'a comment' | 'code' | 'a table' | 'text' | 'front matter';
}

export interface MarkdownBlocks {
  readonly bullets: readonly Bullet[];
  readonly others: readonly OtherBlock[];
}

interface OpenBullet extends Bullet {
  readonly lines: string[];
}

interface Reading {
  readonly bullets: OpenBullet[];
  readonly others: OtherBlock[];
  readonly headings: { readonly depth: number; readonly text: string }[];
  /** The item that an indented line goes on; none after a line that is not indented. */
  open: OpenBullet | undefined;
  /** Ends the block that is under way: a fence or a comment. */
  until: ((line: string) => boolean) | undefined;
}

const bulletLine = /^([ \t]*)(?:[-*+]|\d{1,3}[.)])[ \t]+(\S.*)$/;
const fenceLine = /^[ \t]*(`{3,}|~{3,})/;

/** Reads the blocks of a file. Pure. */
export function readBlocks(text: string): MarkdownBlocks {
  const reading: Reading = { bullets: [], others: [], headings: [], open: undefined, until: undefined };
  for (const [index, line] of text.split('\n').entries()) readLine(line, index + 1, reading);
  return { bullets: reading.bullets, others: reading.others };
}

function readLine(line: string, number: number, reading: Reading): void {
  if (reading.until !== undefined) return goOn(line, number, reading);
  if (number === 1 && line.trim() === '---')
    return start('front matter', number, reading, (next) => next.trim() === '---');
  const fence = fenceLine.exec(line)?.[1];
  if (fence !== undefined) return start('code', number, reading, (next) => next.trim().startsWith(fence));
  if (line.trim().startsWith('<!--')) {
    const ends = (next: string): boolean => next.includes('-->');
    return start('a comment', number, reading, ends(line.trim().slice(4)) ? undefined : ends);
  }
  if (line.trim() === '') return;
  const heading = /^(#{1,6})[ \t]+(.*?)[ \t]*#*$/.exec(line);
  if (heading !== null) return openHeading(heading[1]?.length ?? 1, heading[2] ?? '', reading);
  const bullet = bulletLine.exec(line);
  if (bullet !== null) return openBullet(line, bullet, number, reading);
  if (reading.open !== undefined && indentOf(line) > reading.open.indent) {
    reading.open.lines.push(line.trim());
    return;
  }
  reading.open = undefined;
  if (/^(?:-{3,}|\*{3,}|_{3,}|={3,})$/.test(line.trim())) return;
  addOther(line.trim().startsWith('|') ? 'a table' : 'text', number, reading);
}

function goOn(line: string, number: number, reading: Reading): void {
  const last = reading.others.at(-1);
  if (last !== undefined) reading.others[reading.others.length - 1] = { ...last, to: number };
  if (reading.until?.(line) === true) reading.until = undefined;
}

function start(what: OtherBlock['what'], number: number, reading: Reading, until: Reading['until']): void {
  reading.others.push({ from: number, to: number, what });
  reading.until = until;
}

/** A line more of the block before it, or a new one. */
function addOther(what: OtherBlock['what'], number: number, { others }: Reading): void {
  const last = others.at(-1);
  if (last?.what === what && last.to === number - 1) others[others.length - 1] = { ...last, to: number };
  else others.push({ from: number, to: number, what });
}

function openHeading(depth: number, text: string, reading: Reading): void {
  while ((reading.headings.at(-1)?.depth ?? 0) >= depth) reading.headings.pop();
  reading.headings.push({ depth, text });
  reading.open = undefined;
}

function openBullet(line: string, match: RegExpExecArray, number: number, reading: Reading): void {
  const indent = indentOf(line);
  let parent: Bullet | undefined = reading.open;
  while (parent !== undefined && parent.indent >= indent) parent = parent.parent;
  const bullet: OpenBullet = {
    line: number,
    indent,
    headings: reading.headings.map(({ text }) => text),
    lines: [(match[2] ?? '').trim()],
    parent,
  };
  reading.bullets.push(bullet);
  reading.open = bullet;
}

/** Columns before the text; a tab counts as four. */
function indentOf(line: string): number {
  return (/^[ \t]*/.exec(line)?.[0] ?? '').replaceAll('\t', '    ').length;
}

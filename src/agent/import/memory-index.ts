import type { ImportRemark } from './types.ts';

/** Name of the index in a Claude Code memory folder. */
export const memoryIndexName = 'MEMORY.md';

/** One row of the index: `- [title](file) — hook`. */
export interface MemoryRow {
  readonly line: number;
  readonly title: string;
  /** File name inside the folder, decoded. */
  readonly file: string;
  /** What stands behind the link, '' when nothing does. */
  readonly hook: string;
}

/** The rows in order, and the lines that are not rows. */
export interface MemoryIndex {
  readonly rows: readonly MemoryRow[];
  readonly skipped: readonly ImportRemark[];
}

const rowLine = /^[-*+][ \t]+\[(.*)\]\(<?([^()<>]+)>?\)[ \t]*(?:(?:—|–|--?|:)[ \t]*)?(.*)$/;

/** Reads the index. Headings and blank lines carry nothing; any other line that is not a row is named. Pure. */
export function parseMemoryIndex(text: string): MemoryIndex {
  const rows: MemoryRow[] = [];
  const skipped: ImportRemark[] = [];
  const strays: number[] = [];
  const seen = new Map<string, number>();
  for (const [i, raw] of text.split('\n').entries()) {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) continue;
    const row = parseRow(line, i + 1);
    if (row === undefined) {
      strays.push(i + 1);
      continue;
    }
    const first = seen.get(row.file);
    const why = first === undefined ? rowFault(row) : `a second row for ${row.file}; line ${first} counts`;
    if (why === '') rows.push(row);
    else skipped.push({ what: `${memoryIndexName} line ${row.line}`, why });
    if (first === undefined) seen.set(row.file, row.line);
  }
  return { rows, skipped: [...skipped, ...strayRemarks(strays)] };
}

function parseRow(line: string, number: number): MemoryRow | undefined {
  const match = rowLine.exec(line);
  if (match === null) return undefined;
  const [, title = '', target = '', hook = ''] = match;
  return { line: number, title: title.trim(), file: decodeTarget(target.trim()), hook: hook.trim() };
}

function decodeTarget(target: string): string {
  const plain = target.replace(/^\.\//, '').replace(/#.*$/, '');
  try {
    return decodeURIComponent(plain);
  } catch {
    return plain;
  }
}

/** Why a row cannot name a note of this folder, '' when it can. */
function rowFault(row: MemoryRow): string {
  if (row.file === '' || /^[a-z][a-z0-9+.-]*:/i.test(row.file)) return 'its link is not a file of this folder';
  if (/[/\\]/.test(row.file) || row.file === '..' || row.file.includes('\0')) return 'its link leaves the folder';
  if (row.file === memoryIndexName) return 'its link is the index itself';
  return '';
}

/** One remark for each run of lines, so that an index written as prose does not make hundreds. */
function strayRemarks(lines: readonly number[]): ImportRemark[] {
  const runs: [number, number][] = [];
  for (const line of lines) {
    const last = runs.at(-1);
    if (last !== undefined && last[1] === line - 1) last[1] = line;
    else runs.push([line, line]);
  }
  return runs.map(([from, upto]) => ({
    what: from === upto ? `${memoryIndexName} line ${from}` : `${memoryIndexName} lines ${from}-${upto}`,
    why: 'not a row that links to a note: write it as a note to import it',
  }));
}

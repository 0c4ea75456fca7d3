/** A change of a text file as people read it: the lines that come and go, with a little around them. */

export interface TextChange {
  readonly file: string;
  /** Undefined: there was no such file. */
  readonly before: string | undefined;
  /** Undefined: the file goes. */
  readonly after: string | undefined;
}

const contextLines = 2;
const shownLinesMax = 80;

/** `--- file`, then one hunk from the first to the last line that differs. Whole files are not shown line by line. Pure. */
export function changeLines({ file, before, after }: TextChange): readonly string[] {
  if (after === undefined) return [`--- ${file}`, '    (removed: it was made by memctl)'];
  const old = linesOf(before ?? '');
  const now = linesOf(after);
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  const from = Math.max(0, head - contextLines);
  const hunk = [
    ...old.slice(from, head).map((line) => `    ${line}`),
    ...old.slice(head, old.length - tail).map((line) => `  - ${line}`),
    ...now.slice(head, now.length - tail).map((line) => `  + ${line}`),
    ...old.slice(old.length - tail, old.length - tail + contextLines).map((line) => `    ${line}`),
  ];
  const shown = hunk.slice(0, shownLinesMax);
  const rest = hunk.length - shown.length;
  return [
    `--- ${file}${before === undefined ? ' (new)' : `, line ${from + 1}`}`,
    ...shown,
    ...(rest > 0 ? [`    … ${rest} more lines`] : []),
  ];
}

function linesOf(text: string): readonly string[] {
  const lines = text.split('\n').map((line) => line.replace(/\r$/, ''));
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}

/**
 * A TypeScript source apart: code with comments and strings blanked (same length, same lines), its comments, and its
 * regular expressions. A scanner, not a parser: enough for rules that the linter cannot express.
 */

/** A piece of a source and the line that it starts on (from 1). */
export interface Piece {
  readonly text: string;
  readonly line: number;
}

/** What {@link scanSource} returns. */
export interface ScannedSource {
  /** The source with comments, strings, templates and regular expressions replaced by blanks. */
  readonly code: string;
  readonly comments: readonly Piece[];
  readonly regexes: readonly Piece[];
}

const tokens = new RegExp(
  [
    String.raw`(?<comment>\/\/[^\n]*|\/\*[\s\S]*?\*\/)`,
    String.raw`(?<string>'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|` + '`(?:\\\\[\\s\\S]|[^`\\\\])*`)',
    // A slash starts a regular expression where a value may start: after an operator, an opening bracket or a keyword.
    String.raw`(?<=(?:^|[=(,:;!&|?{}[\]+\-*%<>~^]|\breturn|\btypeof|\bcase|\bof|\bin|=>)\s*)(?<regex>\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*)`,
  ].join('|'),
  'gm',
);

/** Pure. */
export function scanSource(text: string): ScannedSource {
  const comments: Piece[] = [];
  const regexes: Piece[] = [];
  const code = text.replace(tokens, (match: string, ...rest: unknown[]) => {
    const groups = rest.at(-1) as Record<string, string | undefined>;
    const piece = { text: match, line: lineAt(text, rest.at(-3) as number) };
    if (groups['comment'] !== undefined) comments.push(piece);
    if (groups['regex'] !== undefined) regexes.push(piece);
    return match.replace(/[^\n]/g, ' ');
  });
  return { code, comments, regexes };
}

/** Line number (from 1) of a position. Pure. */
export function lineAt(text: string, position: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < position; at = text.indexOf('\n', at + 1)) line += 1;
  return line;
}

/** What a person or a script sees. Human text goes to stdout, diagnostics to stderr; with --json stdout is JSON alone. */
import type { ApiError } from '../daemon/api/protocol.ts';
import { terminalJson, terminalText } from './terminal-text.ts';

export interface Output {
  readonly json: boolean;
  /** The result: one JSON document with --json, else the lines. */
  result(value: unknown, lines: () => readonly string[]): void;
  /** Several results: JSON lines with --json, else the lines. */
  results(values: readonly unknown[], lines: () => readonly string[]): void;
  /** A generated file shown whole: its JSON with --json, else its text. */
  file(text: string): void;
  /** A diagnostic for a person; silent with --quiet. */
  note(text: string): void;
  /** Progress of long work: only where stderr is a terminal. */
  progress(text: string): void;
  error(error: ApiError): void;
  /** Bold on a terminal, plain elsewhere. */
  strong(text: string): string;
}

export interface OutputOptions {
  readonly json: boolean;
  readonly quiet: boolean;
  readonly color: boolean;
}

/** Output on this process's streams. */
export function openOutput(options: OutputOptions): Output {
  const { json, quiet } = options;
  const color = options.color && process.stdout.isTTY && !process.env['NO_COLOR'];
  let progressing = false;
  // Whatever comes next begins on a clean line; stderr and stdout are one screen.
  const endProgress = (): void => {
    if (progressing) process.stderr.write('\r\u001B[K');
    progressing = false;
  };
  const write = (lines: readonly string[]): void => {
    endProgress();
    if (lines.length > 0) process.stdout.write(`${lines.join('\n')}\n`);
  };
  const say = (lines: readonly string[]): void => write(lines.map((line) => shownLine(line, color)));
  const print = (...values: readonly unknown[]): void =>
    write(values.map((value) => terminalJson(JSON.stringify(value))));
  const complain = (text: string): void => {
    endProgress();
    process.stderr.write(`${terminalText(text)}\n`);
  };
  return {
    json,
    result: (value, lines) => (json ? print(value) : say(lines())),
    results: (values, lines) => (json ? print(...values) : say(lines())),
    file: (text) => {
      endProgress();
      process.stdout.write(json ? terminalJson(text) : terminalText(text));
    },
    note: (text) => {
      if (!quiet) complain(text);
    },
    progress: (text) => {
      if (quiet || json || !process.stderr.isTTY) return;
      process.stderr.write(`\r\u001B[K${text}`);
      progressing = true;
    },
    error: ({ code, message, hint }) => {
      if (json) return print({ error: { code, message, hint: hint ?? null } });
      complain(`memctl: ${message}`);
      if (hint) complain(`  next: ${hint}`);
    },
    strong: (text) => (color ? `\u001B[1m${text}\u001B[22m` : text),
  };
}

/** A line as a terminal gets it. Bold on and off are the only control characters that are ours. */
function shownLine(line: string, color: boolean): string {
  if (!color) return terminalText(line);
  return line
    .split(/(\u001B\[(?:1|22)m)/)
    .map((part, at) => (at % 2 === 1 ? part : terminalText(part)))
    .join('');
}

/** Time that has gone since `at`, in the largest fitting unit: `4 min ago`. Claimed times in the future say so. */
export function ago(at: string, now: number): string {
  const seconds = Math.round((now - Date.parse(at)) / 1_000);
  if (Number.isNaN(seconds)) return at;
  if (seconds < -60) return `claims ${at}, in the future`;
  const units = [
    [86_400, 'd'],
    [3_600, 'h'],
    [60, 'min'],
  ] as const;
  for (const [size, name] of units) if (seconds >= size) return `${Math.floor(seconds / size)} ${name} ago`;
  return `${Math.max(seconds, 0)} s ago`;
}

/** First 12 digits of an id, as people see it. */
export function shortId(id: string): string {
  return id.slice(0, 12);
}

/** The last line of each log, as `alpha:42 beta:7`; '' where there is none. Pure. */
export function headsText(heads: Readonly<Record<string, { readonly seq: number }>>): string {
  return Object.entries(heads)
    .map(([log, { seq }]) => `${log}:${seq}`)
    .join(' ');
}

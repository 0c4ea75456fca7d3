/**
 * A session start without memd: the index file as it was last written, with a first line that says so. No lock, no fold,
 * nothing written but a record of what was told.
 */
import fs from 'node:fs';
import path from 'node:path';
import type { Home } from '../../store/home/home.ts';

export interface OfflineStart {
  /** How memd did not answer, for the first line: `NOT RUNNING`, `NOT ANSWERING (…)`. */
  readonly state: string;
  readonly notes: readonly string[];
  readonly bytes: number;
  readonly now: number;
}

export interface OfflineText {
  readonly head: readonly string[];
  readonly text: string;
  /** Why there is no index in it; undefined when there is one. */
  readonly fault?: string;
}

/** Most that is read of an index file: it is at most 25 KB by default, and a config may allow more. */
const indexFileBytesMax = 262_144;

/** The text out of the files of one audience. Never throws. */
export function offlineStart(home: Home, audience: string, options: OfflineStart): OfflineText {
  const { state, notes, bytes, now } = options;
  try {
    const { markdown, writtenAt } = readIndexFile(path.join(home.views, audience, 'INDEX.md'));
    const head = [`memd: ${state}, index is ${ageOf(now - writtenAt)} old`, ...notes, introduction];
    return { head, text: fit([...head, '', ...mostImportantFirst(markdown)], bytes) };
  } catch (error) {
    const fault = faultOf(error, home);
    const head = [`memd: ${state}, no index can be read: ${fault}`, ...notes];
    const after = 'Shared memory is not available in this session. The operator finds out more with `memctl doctor`.';
    return { head, text: `${[...head, after].join('\n')}\n`, fault };
  }
}

const introduction =
  'Shared memory as it was last written here; rows of every project are listed, and each names its own. Rows are data that sessions wrote down; the brackets before a text say who stands behind it. A fact is a pointer: what holds now is in its home (→).';

function readIndexFile(file: string): { markdown: string; writtenAt: number } {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
  const descriptor = fs.openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const status = fs.fstatSync(descriptor);
    if (!status.isFile()) throw new Error(`${file} is not a plain file`);
    const buffer = Buffer.alloc(Math.min(status.size, indexFileBytesMax));
    const length = fs.readSync(descriptor, buffer, 0, buffer.length, 0);
    return { markdown: buffer.toString('utf8', 0, length), writtenAt: status.mtimeMs };
  } finally {
    fs.closeSync(descriptor);
  }
}

function faultOf(error: unknown, home: Home): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ENOENT') {
    return fs.existsSync(home.dir) ? `${home.views} has no index yet` : `there is no memd home at ${home.dir}`;
  }
  return code === '' && error instanceof Error ? error.message : `${home.views}: ${code}`;
}

/** Sections of INDEX.md in the order in which a short text needs them; its own introduction is left out. */
function mostImportantFirst(markdown: string): readonly string[] {
  const sections = new Map<string, string[]>();
  let lines: string[] = [];
  for (const line of markdown.split('\n')) {
    if (line.startsWith('## ')) sections.set(line.slice(3), (lines = []));
    else if (line !== '') lines.push(line);
  }
  const rows = (name: string): readonly string[] => (sections.get(name) ?? []).filter((line) => line.startsWith('- '));
  const under = (name: string): readonly string[] => (rows(name).length === 0 ? [] : [`${name}:`, ...rows(name)]);
  return [...under('Unresolved'), ...under('Rules'), ...under('Facts')];
}

/** Whole lines up to the room; the last line says what is left out and how to ask. */
function fit(lines: readonly string[], bytes: number): string {
  const isRow = (line: string): boolean => line.startsWith('- ');
  const rows = lines.filter(isRow).length;
  const tail = (left: number): string =>
    left === 0
      ? 'Nothing of the index file is left out.'
      : `${left} more: \`memctl index\`, \`memctl recall SUBJECT\`.`;
  let room = bytes - Buffer.byteLength(tail(rows)) - 1;
  const shown: string[] = [];
  for (const line of lines) {
    room -= Buffer.byteLength(line) + 1;
    if (room < 0) break;
    shown.push(line);
  }
  return `${[...shown, tail(rows - shown.filter(isRow).length)].join('\n')}\n`;
}

/** `4 min`, `3 h`, `2 d`. */
function ageOf(milliseconds: number): string {
  const minutes = Math.max(0, Math.round(milliseconds / 60_000));
  if (minutes < 120) return `${minutes} min`;
  return minutes < 2_880 ? `${Math.round(minutes / 60)} h` : `${Math.round(minutes / 1_440)} d`;
}

/**
 * Every line of one log that anything holds, once. Damage can leave as many ends of a log as it had commits, and they share
 * all files but the last: so a file is read once, and what is held does not grow with the number of ends.
 */
import { fetchDeadlineMs } from '../../core/limits.ts';
import { isDamage } from '../../store/errors.ts';
import { openReader, type ObjectReader } from '../../store/git/reader.ts';
import type { ObjectView } from '../../store/git/repository.ts';
import { readLogLayout, readSegment, type LogLayout } from '../../store/logs/log-tree.ts';
import type { LineList } from './assemble.ts';

export interface LinePool {
  readonly add: (lines: LineList) => void;
  /** Adds what can be read of a log at commits. @returns how many lines each has, as far as it can be read. */
  readonly addCommits: (view: ObjectView, oids: readonly string[]) => Promise<readonly CommitLines[]>;
  readonly lines: () => LineList;
}

export interface CommitLines {
  readonly oid: string;
  readonly lines: number;
}

/** Commits read in one session: it tells damage apart object by object only so many times. */
const commitsAtATime = 64;

export function createLinePool(): LinePool {
  const texts = new Set<string>();
  const others: Uint8Array[] = [];
  /** How many lines a file has that was read to its end. */
  const files = new Map<string, number>();
  const add = (lines: LineList): void => {
    for (const line of lines)
      if (typeof line === 'string') texts.add(line);
      else others.push(line);
  };
  const addFile = async (reader: ObjectReader, layout: LogLayout, index: number): Promise<number> => {
    const oid = layout.segments[index]?.oid ?? '';
    const known = files.get(oid);
    if (known !== undefined) return known;
    const part = await readSegment(reader, layout, index);
    const lines = (part.ok ? part.value.lines : part.before) ?? [];
    add(lines);
    if (part.ok) files.set(oid, lines.length);
    return lines.length;
  };
  const addCommit = async (reader: ObjectReader, oid: string): Promise<CommitLines> => {
    let lines = 0;
    try {
      const layout = await readLogLayout(reader, oid);
      if (!layout.ok) return { oid, lines };
      for (const index of layout.value.segments.keys()) lines += await addFile(reader, layout.value, index);
    } catch (error) {
      // What git cannot read at all: the other sources have a say.
      if (!isDamage(error)) throw error;
    }
    return { oid, lines };
  };
  return {
    add,
    async addCommits(view, oids) {
      const found: CommitLines[] = [];
      for (let start = 0; start < oids.length; start += commitsAtATime) {
        const reader = openReader(view, { deadlineMs: fetchDeadlineMs });
        try {
          for (const oid of oids.slice(start, start + commitsAtATime)) found.push(await addCommit(reader, oid));
        } finally {
          await reader.close();
        }
      }
      return found;
    },
    lines: () => [...texts, ...others],
  };
}

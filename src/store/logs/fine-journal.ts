/**
 * `journal.jsonl`: what this host believed, at most a second apart. It stays at home. Its lines are view lines outside the
 * chain: n 1, after nothing, without views. Not flushed: a line that a crash took is one instant less.
 */
import { fineJournalBytesMax, viewBytesMax } from '../../core/limits.ts';
import { parseViewLine, type ViewLine } from '../../core/view-line.ts';
import { appendBounded, readBounded, readTail } from '../notes/bounded-log.ts';
import { diskError } from '../errors.ts';
import type { Home } from '../home/home.ts';

/** Appends a line. Errors: `DISK_FAILED`, `DISK_FULL`. */
export function noteFineLine({ fineJournal }: Pick<Home, 'fineJournal'>, line: ViewLine): void {
  try {
    appendBounded(fineJournal, line.text, fineJournalBytesMax);
  } catch (error) {
    throw diskError(error, 'append to', fineJournal);
  }
}

/** The lines, newest first; torn and foreign ones are left out. */
export function* readFineLines({ fineJournal }: Pick<Home, 'fineJournal'>): Generator<ViewLine> {
  for (const text of readBounded(fineJournal).toReversed()) {
    const line = parseViewLine(text);
    if (line.ok) yield line.value;
  }
}

/** The newest line, by reading the end of the file alone; undefined: none. */
export function newestFineLine({ fineJournal }: Pick<Home, 'fineJournal'>): ViewLine | undefined {
  for (const file of [fineJournal, `${fineJournal}.1`]) {
    // A torn line after the last whole one at most.
    for (const text of readTail(file, 2 * viewBytesMax).toReversed()) {
      const line = parseViewLine(text);
      if (line.ok) return line.value;
    }
  }
  return undefined;
}

/**
 * What the ssh server notes, as the log gets it. Strangers cause most of it, as often as they like: one line for each code
 * and address at once, what repeats within a minute in one more line with its count.
 */
import { noteAddressesMax, noteWindowMs } from '../../core/limits.ts';
import type { ServerNote } from '../../mesh/ssh/ssh-server.ts';

/** A note for the log; `count`: how many like it, the newest of which it is. */
export type LoggedNote = ServerNote & { readonly count?: number };

export interface NoteLog {
  readonly note: (note: ServerNote) => void;
  /** Logs what is counted and not yet logged. */
  readonly close: () => void;
}

interface Window {
  repeats: number;
  newest: ServerNote;
  readonly timer: NodeJS.Timeout;
}

/** `write`: logs one line. */
export function createNoteLog(write: (note: LoggedNote) => void): NoteLog {
  const windows = new Map<string, Window>();
  const end = (key: string): void => {
    const window = windows.get(key);
    if (window === undefined) return;
    clearTimeout(window.timer);
    windows.delete(key);
    if (window.repeats > 0) write({ ...window.newest, count: window.repeats });
  };
  return {
    note(note) {
      // Who can come from any number of addresses must not fill the log, nor memory, either.
      const own = `${note.code} ${note.address}`;
      const crowded = windows.size >= noteAddressesMax && !windows.has(own);
      const key = crowded ? note.code : own;
      const window = windows.get(key);
      if (window !== undefined) {
        window.repeats += 1;
        window.newest = note;
        return;
      }
      const timer = setTimeout(() => end(key), noteWindowMs).unref();
      windows.set(key, { repeats: 0, newest: note, timer });
      write(note);
    },
    close: () => [...windows.keys()].forEach(end),
  };
}

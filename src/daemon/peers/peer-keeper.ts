/** Keeps what is known of peers over a restart: at most once a minute, and at the end. */
import type { Logger } from 'pino';
import { peerMemoryMs } from '../../core/limits.ts';
import type { Home } from '../../store/home/home.ts';
import { readPeerMemory, writePeerMemory } from '../../store/notes/peer-memory.ts';
import { createPeerBook, type PeerBook } from './peer-book.ts';

export interface PeerKeeper {
  readonly peerBook: PeerBook;
  /** Something of it may have changed. */
  readonly noted: () => void;
  /** Writes what is not written yet. Never rejects: it is a convenience. */
  readonly close: () => Promise<void>;
}

/** The book as an earlier process left it. `isEnrolled`: as for the book. */
export function openPeerKeeper(home: Home, isEnrolled: (host: string) => boolean, log: Logger | undefined): PeerKeeper {
  const peerBook = createPeerBook(isEnrolled, readPeerMemory(home));
  let writing: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let written = '';
  const write = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    const now = peerBook.remembered();
    const text = JSON.stringify([...now]);
    if (text === written || now.size === 0) return writing;
    written = text;
    writing = writing
      .then(() => writePeerMemory(home, now))
      .catch((error: unknown) => {
        // Not written: the next note writes it, also when nothing has changed since.
        written = '';
        log?.warn({ err: error }, 'cannot write peers.json');
      });
    return writing;
  };
  return {
    peerBook,
    noted: () => void (timer ??= setTimeout(() => void write(), peerMemoryMs).unref()),
    close: write,
  };
}

/**
 * `memd watch`: a peer that asks once is told again whenever what this host holds has changed. However fast it changes, a
 * line is sent every 50 ms at most, and a peer that reads slowly gets the newest line when it comes to it, none between.
 */
import type { Duplex, Writable } from 'node:stream';
import { socketBacklogBytesMax, watchIntervalMs } from '../../core/limits.ts';

/** The stream under a channel: what waits there is not read yet. */
export type Beneath = Pick<Duplex, 'writableLength' | 'once' | 'off'>;

export interface Watchers {
  /** What this host holds may have changed: whoever watches is told soon, if it did. */
  tell(): void;
  /** The same, and it is told whether or not it changed: who was turned away meanwhile asks again. */
  repeat(): void;
  /** Sends the line as it is now, and again at every change, until the channel closes. */
  add(channel: Writable, beneath: Beneath): void;
  /** Channels that watch. */
  size(): number;
  /** Tells nobody any more. */
  close(): void;
}

interface Watcher {
  readonly channel: Writable;
  readonly beneath: Beneath;
  /** The news that were sent last. */
  sent: string;
  /** The line before is not taken yet. */
  busy: boolean;
  /** There is something newer than what is on its way. */
  due: boolean;
}

interface Told {
  readonly news: string;
  readonly line: string;
}

/**
 * `line`: what this host holds now, without newline; what it throws is told to `onFault`, and nothing is sent. `news`: what
 * of it is worth a line; a view journal is not, or each of its lines would cause the next fetch.
 */
export function createWatchers(
  line: () => string,
  onFault: (error: unknown) => void,
  news: () => string = line,
): Watchers {
  const watchers = new Set<Watcher>();
  let timer: NodeJS.Timeout | undefined;
  let last = -Infinity;

  const now = (): Told | undefined => {
    try {
      return { news: news(), line: line() };
    } catch (error) {
      onFault(error);
      return undefined;
    }
  };

  function send(watcher: Watcher, told: Told | undefined): void {
    if (told === undefined || told.news === watcher.sent) return;
    if (watcher.busy) {
      watcher.due = true;
      return;
    }
    watcher.sent = told.news;
    watcher.busy = true;
    watcher.channel.write(`${told.line}\n`, () => whenTaken(watcher.beneath, () => taken(watcher)));
  }

  function taken(watcher: Watcher): void {
    watcher.busy = false;
    if (!watcher.due || !watchers.has(watcher)) return;
    watcher.due = false;
    send(watcher, now());
  }

  function tellAll(): void {
    timer = undefined;
    last = performance.now();
    const told = watchers.size === 0 ? undefined : now();
    for (const watcher of watchers) send(watcher, told);
  }

  function tell(): void {
    if (timer !== undefined || watchers.size === 0) return;
    const wait = last + watchIntervalMs - performance.now();
    // Never within the call: whoever says so is in the middle of the change.
    timer = setTimeout(tellAll, Math.max(0, wait));
  }

  return {
    tell,
    repeat() {
      for (const watcher of watchers) watcher.sent = '';
      tell();
    },
    add(channel, beneath) {
      const watcher: Watcher = { channel, beneath, sent: '', busy: false, due: false };
      watchers.add(watcher);
      const leave = (): void => void watchers.delete(watcher);
      channel.once('close', leave);
      // A connection that breaks while nothing is read never closes its channels.
      beneath.once('close', leave);
      send(watcher, now());
    },
    size: () => watchers.size,
    close() {
      clearTimeout(timer);
      watchers.clear();
    },
  };
}

/** ssh2 hands to the socket what its window allows, and heeds no backlog there. */
function whenTaken(beneath: Beneath, then: () => void): void {
  if (beneath.writableLength <= socketBacklogBytesMax) return then();
  beneath.once('drain', () => whenTaken(beneath, then));
}

/**
 * `memd watch`, the end that tells: the heads once, and again whenever they say something else. A peer that reads slowly
 * gets the newest ones when it has read what was sent, never a backlog.
 */
import type { ServerChannel } from 'ssh2';

export interface Watchers {
  /** Serves a channel until it closes. */
  add(channel: ServerChannel): void;
  /** Tells whoever watches, if there is anything new. */
  tell(): void;
  size(): number;
}

interface Watcher {
  readonly channel: ServerChannel;
  /** The line that was sent last. */
  sent: string;
  /** It has not read yet what was sent. */
  behind: boolean;
}

/** `heads`: the answer of `memd heads`, without newline; while it fails nothing is told. */
export function createWatchers(heads: () => string): Watchers {
  const watchers = new Set<Watcher>();
  const line = (): string | undefined => {
    try {
      return heads();
    } catch {
      return undefined;
    }
  };
  const send = (watcher: Watcher, now: string | undefined): void => {
    if (now === undefined || watcher.behind || watcher.sent === now) return;
    watcher.sent = now;
    watcher.behind = !watcher.channel.write(`${now}\n`);
  };
  return {
    add(channel) {
      const watcher: Watcher = { channel, sent: '', behind: false };
      watchers.add(watcher);
      channel.resume();
      channel.on('close', () => watchers.delete(watcher));
      channel.on('drain', () => {
        watcher.behind = false;
        send(watcher, line());
      });
      send(watcher, line());
    },
    tell() {
      if (watchers.size === 0) return;
      const now = line();
      for (const watcher of watchers) send(watcher, now);
    },
    size: () => watchers.size,
  };
}

/**
 * What is kept open over the connection to each peer while it lives: a watch, so that news come at once, and an offer to
 * be asked back over the same connection, which is how a host that nobody can dial is heard.
 */
import type { Duplex } from 'node:stream';
import type { ClientChannel } from 'ssh2';
import { headsDeadlineMs } from '../core/limits.ts';
import type { MeshAlarm } from '../core/sync/peer.ts';
import type { Heads } from './heads.ts';
import { serveWhenAsked } from './serve/serve-back.ts';
import type { RoutedConnection } from './ssh/routes.ts';
import { readWatch } from './serve/watch-read.ts';

export interface AttendantOptions {
  readonly onNews: (peer: string, heads: Heads) => void;
  readonly onAlarm: (alarm: MeshAlarm) => void;
  /** The watch of a peer ended. `refused`: it is not to be asked for one at once again. */
  readonly onUnwatched: (peer: string, refused: boolean) => void;
  /** It ended with the connection, and nobody here ended that. */
  readonly onLost: (peer: string) => void;
  /** Serves what is asked over a channel; undefined while this host serves nobody. */
  readonly serve: () => ((stream: Duplex) => void) | undefined;
}

export interface Attendant {
  /** Opens the watch, and the offer to be asked back, over a live connection. */
  attend(peer: string, connection: RoutedConnection | undefined): void;
  /** There is a new connection to the peer: what was kept open over the one before is over, whenever that is noticed. */
  renewed(peer: string): void;
  /** Whatever happens to a connection from now on is not told as lost. */
  close(): void;
  /** Resolves when nothing is watched any more. */
  ended(): Promise<unknown>;
}

/** How long a watch, or an offer, must have lasted for its end to be news. A peer that hangs up again and again waits for the schedule. */
const lastingMs = 5_000;

/** Opens nothing yet. */
export function createAttendant(options: AttendantOptions): Attendant {
  const watches = new Set<Promise<void>>();
  /** The watch that counts, by peer. */
  const current = new Map<string, symbol>();
  const offering = new Set<string>();
  const over = new AbortController();

  async function watch(peer: string, connection: RoutedConnection): Promise<void> {
    const own = Symbol(peer);
    current.set(peer, own);
    const started = await connection.start('memd watch', { deadlineMs: headsDeadlineMs });
    const since = performance.now();
    const { lost, refused } = started.ok
      ? await listen(peer, started.value.stream, options)
      : { lost: false, refused: started.code === 'REFUSED_COMMAND' };
    if (current.get(peer) !== own) return;
    current.delete(peer);
    options.onUnwatched(peer, refused);
    if (lost && !over.signal.aborted && performance.now() - since > lastingMs) options.onLost(peer);
  }

  /** Offers to be asked, and again when that was used up, as long as the connection lasts. */
  async function offer(peer: string, connection: RoutedConnection): Promise<void> {
    const route = connection.route();
    // Who opened the connection to us asks over it anyway.
    if (offering.has(peer) || typeof route?.to === 'function') return;
    offering.add(peer);
    try {
      while (!over.signal.aborted && options.serve() !== undefined && connection.route() === route) {
        const since = performance.now();
        const ended = await offerOnce(connection, (inner) => options.serve()?.(inner));
        if (ended !== 'used' || performance.now() - since < lastingMs) return;
      }
    } finally {
      offering.delete(peer);
    }
  }

  return {
    attend(peer, connection) {
      if (over.signal.aborted || connection?.isOpen() !== true) return options.onUnwatched(peer, false);
      const done = watch(peer, connection).finally(() => watches.delete(done));
      watches.add(done);
      void offer(peer, connection);
    },
    renewed(peer) {
      if (current.delete(peer)) options.onUnwatched(peer, false);
    },
    close: () => over.abort(),
    ended: () => Promise.allSettled(watches),
  };
}

/** `lost`: the channel ended without a word. `refused`: it was refused, or abused. */
function listen(
  peer: string,
  stream: ClientChannel,
  { onNews, onAlarm }: AttendantOptions,
): Promise<{ readonly lost: boolean; readonly refused: boolean }> {
  return new Promise((resolve) => {
    let faulty = false;
    const reader = readWatch(stream, {
      onHeads: (heads) => onNews(peer, heads),
      onFault: ({ code, detail }) => {
        faulty = true;
        if (code === 'WATCH_FLOOD') onAlarm({ code, peer, detail });
        stream.close();
      },
    });
    stream.once('close', (status: number | null | undefined) => {
      reader.stop();
      // It ended with a status: it was refused, by an older version perhaps.
      const refused = faulty || typeof status === 'number';
      resolve({ lost: !refused, refused });
    });
  });
}

/** Resolves when the channel has ended. */
async function offerOnce(
  connection: RoutedConnection,
  serve: (stream: Duplex) => void,
): Promise<'refused' | 'unused' | 'used'> {
  const started = await connection.start('memd serve-back', { deadlineMs: headsDeadlineMs });
  if (!started.ok) return 'refused';
  const { stream } = started.value;
  let used = false;
  serveWhenAsked(stream, (inner) => {
    used = true;
    serve(inner);
  });
  return new Promise((resolve) => {
    stream.once('close', (status: number | null | undefined) =>
      resolve(typeof status === 'number' ? 'refused' : used ? 'used' : 'unused'),
    );
  });
}

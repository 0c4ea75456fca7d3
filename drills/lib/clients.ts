/** Clients that append and write down what was acknowledged; they live in the drill, outside every group that is killed. */
import { openApi, type ApiConnection } from './api.ts';
import { pause } from './process.ts';
import type { Random } from '../../test/lib/random.ts';

/** Every event that was sent, by its marker, and what was heard of it. */
export interface Ledger {
  /** Marker -> id and seq. */
  readonly acknowledged: Map<string, { readonly id: string; readonly seq: number }>;
  /** Markers whose request got an error, or no answer: they may be in the log or not. */
  readonly unknown: Set<string>;
  /** What the last error said, for the report of a drill that cannot go on. */
  lastRefusal: string;
}

export interface Clients {
  readonly ledger: Ledger;
  /** Requests sent and not answered. */
  inFlight(): number;
  /** Sends one request of `count` events beside the others and resolves when it is answered or lost. */
  bulk(count: number): Promise<'acknowledged' | 'refused' | 'lost'>;
  /** Ends the loops after their running request. */
  stop(): Promise<void>;
}

interface ClientState {
  readonly ledger: Ledger;
  inFlight: number;
  stopped: boolean;
}

function makeEvents(marker: string, count: number): { events: object[]; markers: string[] } {
  const markers = Array.from({ length: count }, (_, index) => `${marker}-${index}`);
  return { markers, events: markers.map((content) => ({ kind: 'lesson', subject: `lesson/${content}`, content })) };
}

async function send(
  state: ClientState,
  connection: ApiConnection,
  request: { marker: string; count: number },
): Promise<'acknowledged' | 'refused' | 'lost'> {
  const { events, markers } = makeEvents(request.marker, request.count);
  for (const marker of markers) state.ledger.unknown.add(marker);
  state.inFlight += 1;
  try {
    const reply = await connection.call('append', { events });
    if (reply.error !== undefined) {
      state.ledger.lastRefusal = `${reply.error.code}: ${reply.error.message}`;
      return 'refused';
    }
    const { results } = reply.result as { results: { id: string; seq: number }[] };
    markers.forEach((marker, index) => {
      const result = results[index];
      if (result === undefined) throw new Error('an answer names fewer events than were sent');
      state.ledger.unknown.delete(marker);
      state.ledger.acknowledged.set(marker, { id: result.id, seq: result.seq });
    });
    return 'acknowledged';
  } catch {
    return 'lost';
  } finally {
    state.inFlight -= 1;
  }
}

/** One client: connects, sends one request after the other, connects again when the other side dies. */
async function loop(
  state: ClientState,
  options: { socket: string; name: string; random: Random; everyMs: number },
): Promise<void> {
  let n = 0;
  while (!state.stopped) {
    const connection = await openApi(options.socket).catch(() => undefined);
    if (connection === undefined) {
      await pause(5);
      continue;
    }
    for (let alive = true; alive && !state.stopped;) {
      n += 1;
      alive =
        (await send(state, connection, { marker: `${options.name}-${n}`, count: 1 + options.random.below(4) })) !==
        'lost';
      if (options.everyMs > 0) await pause(options.everyMs);
    }
    connection.close();
  }
}

/** Starts `count` clients against a socket. `name`: what their markers begin with; `everyMs`: between two requests of one. */
export function startClients(options: {
  readonly socket: string;
  readonly count: number;
  readonly random: Random;
  readonly name?: string;
  readonly everyMs?: number;
}): Clients {
  const { socket, random, name = 'c', everyMs = 0 } = options;
  const state: ClientState = {
    ledger: { acknowledged: new Map(), unknown: new Set(), lastRefusal: 'none' },
    inFlight: 0,
    stopped: false,
  };
  const loops = Array.from({ length: options.count }, (_, index) =>
    loop(state, { socket, name: `${name}${index}`, random, everyMs }),
  );
  let bulks = 0;
  return {
    ledger: state.ledger,
    inFlight: () => state.inFlight,
    bulk: async (count) => {
      const connection = await openApi(socket).catch(() => undefined);
      if (connection === undefined) return 'lost';
      bulks += 1;
      const outcome = await send(state, connection, { marker: `${name}-bulk-${bulks}`, count });
      connection.close();
      return outcome;
    },
    stop: async () => {
      state.stopped = true;
      await Promise.all(loops);
    },
  };
}

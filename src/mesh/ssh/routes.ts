/**
 * The connection to one host that may be reached in several ways: its addresses in their order, and a connection that it
 * opened to us. An address is a hint, so one that fails costs a moment and the next is tried; who answers proves itself.
 */
import type { Duplex } from 'node:stream';
import { dialDeadlineMs, dialForgetMs, dialOtherMs } from '../../core/limits.ts';
import type { ConnectionFault } from '../../core/sync/peer.ts';
import { ok, refuse, type Result } from '../../crypto/result.ts';
import type { PeerAddress } from './address.ts';
import type { PeerConnection } from './ssh-client.ts';

export interface Route {
  /** `ssh://host:port`, or how it is called. */
  readonly name: string;
  /** An address, or what gives the stream that is there already; undefined when it is there no more. */
  readonly to: PeerAddress | (() => Duplex | undefined);
}

export interface RoutesOptions {
  /** Asked at every attempt, best first. */
  readonly routes: () => readonly Route[];
  readonly connect: (to: PeerAddress | Duplex, deadlineMs: number) => PeerConnection;
  /** Somebody else answers there. @returns who, as a sentence. */
  readonly onStranger: (route: Route, key: Uint8Array | undefined) => string;
  /** It was reached; `stranger`: who answered instead at a route before. */
  readonly onReached: (route: Route, stranger: string | undefined) => void;
}

export interface RoutedConnection extends PeerConnection {
  /** The route of the live connection. */
  route(): Route | undefined;
}

type Refused = Extract<Result<never, ConnectionFault>, { readonly ok: false }>;

interface Attempt {
  readonly route: Route;
  readonly fault: Refused;
}

/** Dials nothing yet. */
export function routedConnection(options: RoutesOptions): RoutedConnection {
  let current: { readonly route: Route; readonly connection: PeerConnection } | undefined;
  let attempt: { readonly done: Promise<Result<PeerConnection, ConnectionFault>>; giveUp: () => void } | undefined;
  const failedAt = new Map<string, number>();

  const isOpen = (): boolean => current?.connection.isOpen() === true;

  function reach(): Promise<Result<PeerConnection, ConnectionFault>> {
    if (current !== undefined && isOpen()) return Promise.resolve(ok(current.connection));
    if (attempt !== undefined) return attempt.done;
    const giveUp = new AbortController();
    const entry = { done: tryRoutes(giveUp.signal), giveUp: () => giveUp.abort() };
    attempt = entry;
    const over = (): void => {
      if (attempt === entry) attempt = undefined;
    };
    entry.done.then(over, over);
    return entry.done;
  }

  async function tryRoutes(signal: AbortSignal): Promise<Result<PeerConnection, ConnectionFault>> {
    current?.connection.close();
    current = undefined;
    const routes = worthTrying(options.routes(), failedAt);
    const failed: Attempt[] = [];
    for (const [index, route] of routes.entries()) {
      const to = typeof route.to === 'function' ? route.to() : route.to;
      if (to === undefined) continue;
      const connection = options.connect(to, deadlineOf(to, index === routes.length - 1));
      const opened = await openUnless(signal, connection);
      if (signal.aborted) return refuse('CLOSED', 'the connection was given up');
      if (opened.ok) {
        failedAt.delete(route.name);
        current = { route, connection };
        options.onReached(route, failed.findLast(isStranger)?.fault.detail);
        return ok(connection);
      }
      failedAt.set(route.name, performance.now());
      failed.push({ route, fault: faultAt(options, { route, fault: opened }, connection) });
      connection.close();
    }
    return summarise(failed);
  }

  async function run(...[command, how]: Parameters<PeerConnection['run']>): ReturnType<PeerConnection['run']> {
    const reused = isOpen();
    const once = async (): ReturnType<PeerConnection['run']> => {
      const reached = await reach();
      return reached.ok ? reached.value.run(command, how) : reached;
    };
    const first = await once();
    // A kept connection shows only now that it is dead, and the host may be elsewhere meanwhile.
    return reused && !first.ok && !isOpen() && lostCodes.has(first.code) ? once() : first;
  }

  return {
    async open() {
      const reached = await reach();
      return reached.ok ? ok(true) : reached;
    },
    isOpen,
    async start(command, how) {
      const reached = await reach();
      return reached.ok ? reached.value.start(command, how) : reached;
    },
    run,
    serverKey: () => current?.connection.serverKey(),
    route: () => (isOpen() ? current?.route : undefined),
    close() {
      attempt?.giveUp();
      attempt = undefined;
      current?.connection.close();
      current = undefined;
    },
  };
}

/** The system's ssh logs in and starts a program before the first word of the peer: it has its time even where there is another way. */
function deadlineOf(to: PeerAddress | Duplex, last: boolean): number {
  return last || ('port' in to && to.sshd !== undefined) ? dialDeadlineMs : dialOtherMs;
}

async function openUnless(signal: AbortSignal, connection: PeerConnection): ReturnType<PeerConnection['open']> {
  const leave = (): void => connection.close();
  signal.addEventListener('abort', leave);
  try {
    return await connection.open();
  } finally {
    signal.removeEventListener('abort', leave);
  }
}

const lostCodes: ReadonlySet<ConnectionFault> = new Set(['CLOSED', 'UNREACHABLE', 'HOST_KEY_MISMATCH']);

/** An address that just failed is left out while the host itself keeps a connection open to us. Pure but for the clock. */
function worthTrying(routes: readonly Route[], failedAt: ReadonlyMap<string, number>): readonly Route[] {
  if (!routes.some(({ to }) => typeof to === 'function')) return routes;
  const recently = performance.now() - dialForgetMs;
  return routes.filter(({ name, to }) => typeof to === 'function' || (failedAt.get(name) ?? -Infinity) < recently);
}

function isStranger({ fault }: Attempt): boolean {
  return fault.code === 'HOST_KEY_MISMATCH';
}

function faultAt({ onStranger }: RoutesOptions, attempt: Attempt, connection: PeerConnection): Refused {
  // A plain sshd with another key has said so; no host of the mesh has shown any.
  if (!isStranger(attempt) || connection.serverKey() === undefined) return attempt.fault;
  return refuse('HOST_KEY_MISMATCH', onStranger(attempt.route, connection.serverKey()));
}

/** What tells most: somebody else answers, else our key is not known there, else what came of the best address. */
function summarise(failed: readonly Attempt[]): Refused {
  const telling = failed.find(isStranger) ?? failed.find(({ fault }) => fault.code === 'REFUSED_KEY') ?? failed[0];
  if (telling === undefined) return refuse('UNREACHABLE', 'no way to it is known');
  const { fault } = telling;
  const others = failed.length - 1;
  if (others === 0) return fault;
  return refuse(
    fault.code,
    `${fault.detail} (at ${telling.route.name}; ${others} other ${others === 1 ? 'way' : 'ways'} failed too)`,
  );
}

/**
 * Notifications as memd runs them: the pure machine, a clock, what stands here, the notes of other hosts, and the ways to
 * reach a person. Nothing waits for any of it, and what fails here is told in `status`.
 */
import type { Logger } from 'pino';
import { notifyRankMs } from '../../core/limits.ts';
import { readNotesText, printNotes } from '../../core/notify/notes.ts';
import {
  openNotify,
  type NotifyEffect,
  type NotifyEvent,
  type NotifyState,
  type PeerNotes,
  type Standing,
} from '../../core/notify/state.ts';
import { nextTime, step } from '../../core/notify/step.ts';
import type { Told } from '../../core/notify/told.ts';
import { signEd25519 } from '../../crypto/ed25519.ts';
import { peersOf } from '../../mesh/node.ts';
import { createStepDriver } from '../../mesh/step-driver.ts';
import { printable } from '../../store/errors.ts';
import type { NotifierConfig } from '../config/config-file.ts';
import type { Engine, LocalFault } from '../engine.ts';
import { messageOf, type Details } from './message.ts';
import type { Send } from './send.ts';
import { detailsOf, standingNow } from './standing.ts';

/** Where notes are kept and come from. */
export interface NotesPort {
  /** Text of a host's notes as they are here; null: its journal is here and has none; undefined: nothing is known of it. */
  readonly read: (host: string) => Promise<string | null | undefined>;
  /** Publishes this host's notes, durably. */
  readonly write: (text: string) => Promise<void>;
  /** Fetches what peers have, as far as they answer in time. Never rejects because of a peer. */
  readonly refresh: () => Promise<void>;
}

export interface NotifyingOptions {
  readonly engine: Engine;
  readonly notifiers: readonly NotifierConfig[];
  readonly notes: NotesPort;
  readonly send: Send;
  readonly log: Logger | undefined;
  /** Milliseconds on a clock that never runs backwards, and the time of day. */
  readonly clock?: () => number;
  readonly now?: () => Date;
}

export interface Notifying {
  /** Reads what was told before; afterwards alarms are looked at whenever something may have changed. */
  readonly start: () => Promise<void>;
  /** Something may stand that did not, or the other way round. */
  readonly look: () => void;
  /** Peers have been asked after a start or a sleep; or have to be, first. */
  readonly ready: () => void;
  readonly asleep: () => void;
  /** Notifiers that fail. */
  readonly faults: () => readonly LocalFault[];
  /** Resolves when nothing is under way any more. */
  readonly close: () => Promise<void>;
}

/** Changes that come together are looked at once. */
const gatherMs = 50;

export function createNotifying(options: NotifyingOptions): Notifying {
  const { engine, notifiers, notes, log } = options;
  const { host } = engine.identity;
  const notifies = notifiers.length > 0;
  const work = openWork(log);
  const begun = (told: Told): NotifyState => openNotify({ host, notifiers: notifiers.map(({ name }) => name), told });
  const machine = createStepDriver<NotifyState, NotifyEvent, NotifyEffect>({
    state: begun(new Map()),
    step: (state, at, event) => step(state, { at, event }),
    nextTime,
    time: { kind: 'time' },
    carry: (effect) => carry(effect),
    onFault: (error) => log?.error({ err: error }, 'cannot notify'),
    ...(options.clock === undefined ? {} : { clock: options.clock }),
  });
  const tell = (event: NotifyEvent): void => {
    if (!closed) machine.tell(event);
  };
  let lookTimer: NodeJS.Timeout | undefined;
  let [started, closed] = [false, false];

  const carry = (effect: NotifyEffect): void => {
    switch (effect.kind) {
      case 'read-notes':
        return work.run('cannot read the notes of peers', () => readPeers(options, tell));
      case 'write-notes':
        return work.run('cannot write what was told', () => publish(options, { notifies, told: effect.told }));
      case 'send':
        return work.run('a notifier failed', async () => tell(await deliver(options, effect)));
    }
  };
  const lookNow = async (): Promise<void> => {
    const fold = await engine.beliefs.fold();
    const standing = standingNow(engine, fold, machine.state().told);
    tell({ kind: 'standing', standing, hosts: peersOf(engine.charter(), host), ...policyOf(engine) });
  };
  const look = (): void => {
    if (!started || closed || !notifies) return;
    lookTimer ??= setTimeout(() => {
      lookTimer = undefined;
      work.run('cannot look at what stands', lookNow);
    }, gatherMs);
  };
  return {
    async start() {
      const own = await readNotes(engine, notes, host).catch(() => undefined);
      machine.open(begun(own?.told ?? new Map()));
      if ((own?.notifies ?? false) !== notifies)
        work.run('cannot write notes', () => publish(options, { notifies, told: machine.state().told }));
      started = true;
      engine.beliefs.onChanged(look);
      look();
    },
    look,
    // What stands is known before it is told.
    ready: () =>
      work.run('cannot look at what stands', async () => {
        if (notifies) await lookNow();
        tell({ kind: 'ready' });
      }),
    asleep: () => tell({ kind: 'asleep' }),
    faults: () => faultsOf(machine.state()),
    async close() {
      closed = true;
      machine.stop();
      clearTimeout(lookTimer);
      await work.done();
    },
  };
}

interface Work {
  /** Does it in the background; a failure is logged as `what`. */
  readonly run: (what: string, work: () => Promise<void>) => void;
  readonly done: () => Promise<void>;
}

function openWork(log: Logger | undefined): Work {
  const busy = new Set<Promise<void>>();
  return {
    run(what, work) {
      const run: Promise<void> = work()
        .catch((error: unknown) => log?.error({ err: error }, what))
        .finally(() => busy.delete(run));
      busy.add(run);
    },
    async done() {
      await Promise.all(busy);
    },
  };
}

async function readPeers({ engine, notes }: NotifyingOptions, tell: (event: NotifyEvent) => void): Promise<void> {
  try {
    await notes.refresh();
    for (const peer of peersOf(engine.charter(), engine.identity.host)) {
      const read = await readNotes(engine, notes, peer);
      if (read !== undefined) tell({ kind: 'notes', host: peer, notes: read });
    }
  } finally {
    tell({ kind: 'read' });
  }
}

function publish({ engine, notes }: NotifyingOptions, said: PeerNotes): Promise<void> {
  const of = { mesh: engine.meshId, host: engine.identity.host };
  return notes.write(printNotes(of, said, (text) => signEd25519(engine.keys.sign.key, text)));
}

/** Sends one message. @returns what came of it. */
async function deliver(
  { engine, notifiers, send, log, now = () => new Date() }: NotifyingOptions,
  { notifier, tellings, dropped }: Extract<NotifyEffect, { readonly kind: 'send' }>,
): Promise<NotifyEvent> {
  const config = notifiers.find(({ name }) => name === notifier) as NotifierConfig;
  try {
    const fold = await engine.beliefs.fold();
    const about = { mesh: engine.meshId, host: engine.identity.host, at: now().toISOString() };
    const details = (standing: Standing): Details => detailsOf(engine, fold, standing);
    await send(config, messageOf({ tellings, dropped }, { ...about, details }));
    log?.info({ notifier, told: tellings.map(({ key, n }) => `${n} ${key}`) }, 'notified');
    return { kind: 'sent', notifier, ok: true };
  } catch (error) {
    const detail = printable(error instanceof Error ? error.message : String(error), 200);
    log?.warn({ notifier, detail }, 'a notifier failed');
    return { kind: 'sent', notifier, ok: false, detail };
  }
}

function faultsOf({ notifiers }: NotifyState): readonly LocalFault[] {
  return [...notifiers.values()].flatMap(({ name, fault, failures }) =>
    fault === undefined
      ? []
      : [{ kind: 'NOTIFIER_FAILED', detail: `notifier ${name}: ${fault} (${failures} in a row; it is tried again)` }],
  );
}

/**
 * Policy `notify.order`: names, separated by commas, that tell before all others, in this order. `notify.wait`: seconds
 * that each further host waits.
 */
function policyOf(engine: Engine): { readonly order: readonly string[]; readonly rankMs: number } {
  const { policy } = engine.charter();
  const [order, wait] = ['notify.order', 'notify.wait'].map((key) => policy.get(key)?.value);
  const seconds = typeof wait === 'number' && wait >= 1 && wait <= waitMaxSeconds ? wait : notifyRankMs / 1_000;
  return {
    order: typeof order === 'string' ? order.split(',').map((name) => name.trim()) : [],
    rankMs: seconds * 1_000,
  };
}

/** A day: a host that waits longer notifies nobody. */
const waitMaxSeconds = 86_400;

/** What a host's notes say; undefined when nothing is known of them. Notes that do not verify are none. */
async function readNotes(engine: Engine, notes: NotesPort, host: string): Promise<PeerNotes | undefined> {
  const text = await notes.read(host);
  if (text === undefined) return undefined;
  const keys = engine.charter().hosts.get(host)?.keys ?? [];
  const read = text === null ? undefined : readNotesText(text, { mesh: engine.meshId, host }, keys);
  return read ?? { notifies: false, told: new Map() };
}

/** What the notifying machine remembers, is told and asks for. Source: docs/operations.md, Notifications. */
import { notifyRankMs } from '../limits.ts';
import type { Told } from './told.ts';

/** Something that a person must hear of: it stands now. `key` is its identity, the same on every host. */
export interface Standing {
  readonly key: string;
  readonly kind: string;
  /** Subject, log or item that it is about; '' for none. */
  readonly about: string;
  /** The host that is to blame: its word that others were told does not count. */
  readonly host: string | null;
}

/** What one message is about: the n-th change of an alarm. Odd: it was raised; even: it was cleared. */
export interface Telling {
  readonly key: string;
  readonly n: number;
  readonly standing: Standing;
  /** Another notifier of this host has told it already; this one is to tell it all the same. */
  readonly told: boolean;
}

/** One message. `dropped`: things that it leaves out for good, because more waited than are kept. */
export interface Message {
  readonly tellings: readonly Telling[];
  readonly dropped: number;
}

export interface Item {
  readonly standing: Standing;
  /** It stands now. False: it stood here, and its clearing is to be told. */
  readonly raised: boolean;
  /** When this host tells it if nobody else has; undefined: there is nothing to tell. */
  readonly dueAt: number | undefined;
  /** When it was raised or cleared here. */
  readonly changedAt: number;
  /** The change that is being told; 0 for none. */
  readonly telling: number;
}

/** One way to reach a person. */
export interface NotifierState {
  readonly name: string;
  /** What is being told now; null for nothing. */
  readonly flight: Message | null;
  readonly waiting: readonly Telling[];
  /** How many were left out of `waiting`. */
  readonly dropped: number;
  /** Failed attempts in a row, and why the last one failed. */
  readonly failures: number;
  readonly fault: string | undefined;
  /** Nothing is told before. */
  readonly notBefore: number;
}

/** What is known of another host's notes. `undefined` in the map: nothing, so it may have a notifier. */
export interface PeerNotes {
  readonly notifies: boolean;
  readonly told: Told;
}

export interface NotifyState {
  /** Slug of this host. */
  readonly host: string;
  readonly notifiers: ReadonlyMap<string, NotifierState>;
  /** Peers have been asked since the start or the last sleep. */
  readonly ready: boolean;
  /** Other hosts of the mesh; and names in the order in which they are to notify, before all others. */
  readonly hosts: readonly string[];
  readonly order: readonly string[];
  /** How much longer each further host waits. Milliseconds. */
  readonly rankMs: number;
  readonly items: ReadonlyMap<string, Item>;
  /** How often each alarm was told as raised or cleared, as far as this host took part or saw it. */
  readonly told: Told;
  readonly peers: ReadonlyMap<string, PeerNotes>;
  /** Until when the notes of peers are waited for; undefined: nobody asked. */
  readonly readingUntil: number | undefined;
  /** When they are to be read next, whether or not something is due; undefined: nothing new to learn. */
  readonly learnAt: number | undefined;
  /** When they were read last; -Infinity: never. */
  readonly readAt: number;
}

export type NotifyEvent =
  /** Everything that stands here now, the other hosts of the mesh, and what policy says. */
  | {
      readonly kind: 'standing';
      readonly standing: readonly Standing[];
      readonly hosts: readonly string[];
      readonly order: readonly string[];
      readonly rankMs?: number;
    }
  /** Peers have been asked, after a start or a sleep. `asleep`: they have to be asked anew. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'asleep' }
  /** What another host's notes say. */
  | { readonly kind: 'notes'; readonly host: string; readonly notes: PeerNotes }
  /** The notes have been read, as far as they could be. */
  | { readonly kind: 'read' }
  | { readonly kind: 'sent'; readonly notifier: string; readonly ok: true }
  | { readonly kind: 'sent'; readonly notifier: string; readonly ok: false; readonly detail: string }
  | { readonly kind: 'time' };

export interface NotifyInput {
  /** Milliseconds on a clock that never runs backwards; only differences count. */
  readonly at: number;
  readonly event: NotifyEvent;
}

export type NotifyEffect =
  /** Ask peers for their notes now; answered by `notes` for each and then `read`. */
  | { readonly kind: 'read-notes' }
  | ({ readonly kind: 'send'; readonly notifier: string } & Message)
  /** Publish what was told, so that other hosts need not. */
  | { readonly kind: 'write-notes'; readonly told: Told };

/** A machine that has been told nothing. `told`: what this host's own notes say. Pure. */
export function openNotify(start: {
  readonly host: string;
  readonly notifiers: readonly string[];
  readonly told: Told;
}): NotifyState {
  const fresh = { flight: null, waiting: [], dropped: 0, failures: 0, fault: undefined, notBefore: 0 };
  return {
    host: start.host,
    notifiers: new Map(start.notifiers.map((name) => [name, { name, ...fresh }])),
    ready: false,
    hosts: [],
    order: [],
    rankMs: notifyRankMs,
    items: new Map(),
    told: start.told,
    peers: new Map(),
    readingUntil: undefined,
    learnAt: undefined,
    readAt: -Infinity,
  };
}

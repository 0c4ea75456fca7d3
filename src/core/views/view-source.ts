import { audienceOf } from '../event.ts';
import { eventsOf, eventView, readState, type Fold } from '../fold/fold.ts';
import type { EventView, State } from '../fold/state.ts';
import type { Charter } from '../trust/charter.ts';

/** All that a view may read. Nothing in it knows which host renders, when, where or for which person. */
export interface ViewSource {
  readonly charter: Charter;
  readonly state: Pick<State, 'records' | 'alarms'>;
  /** Undefined for an id that no usable line carries. */
  readonly eventView: (id: string) => EventView | undefined;
  /** Sorted ids of the events on a subject; those of `''` have no readable subject. */
  readonly eventsOf: (subject: string) => readonly string[];
}

/** The fold as views read it: as it is at each call. */
export function viewSourceOf(fold: Fold): ViewSource {
  return {
    charter: fold.charter,
    state: readState(fold),
    eventView: (id) => eventView(fold, id),
    eventsOf: (subject) => eventsOf(fold, subject),
  };
}

/** Views of every event on a subject, in order of id. */
export function eventViewsOf(source: ViewSource, subject: string): readonly EventView[] {
  return source.eventsOf(subject).flatMap((id) => source.eventView(id) ?? []);
}

/**
 * True when an event is for a reader who sees these audiences. A body that cannot be read, or that names an audience that
 * nobody declared, is for `operator`: an event that nobody sees would be absent. Pure.
 */
export function isVisible(view: EventView, audiences: ReadonlySet<string>): boolean {
  if (view.purge !== null) return audiences.has(view.purge.target.audience);
  const addressed = view.body !== null && view.reason !== 'UNDECLARED_AUDIENCE';
  return audiences.has(addressed && view.body !== null ? audienceOf(view.body) : 'operator');
}

/** Log and seq where an event stands: where its level is proved, else its first line. Pure. */
export function placeOf(view: EventView): { readonly log: string; readonly seq: number } {
  const place = view.place ?? view.lines[0];
  return { log: place?.log ?? '', seq: place?.seq ?? 0 };
}

/** What stands here and a person should hear of, and what is known of it. */
import { eventsOf, eventView, readState, type Fold } from '../../core/fold/fold.ts';
import { alarmKey, standingOf } from '../../core/notify/notes.ts';
import type { Standing } from '../../core/notify/state.ts';
import { isRaised, type Told } from '../../core/notify/told.ts';
import type { Engine } from '../engine.ts';
import { localAlarms } from '../queries/local-alarms.ts';
import type { Details } from './message.ts';

/** Everything that stands, sorted by key, each once. `told`: what this host remembers to have been told. */
export function standingNow(engine: Engine, fold: Fold, told: Told): readonly Standing[] {
  const all = new Map<string, Standing>();
  const add = (kind: string, about: string, host: string | null): void => {
    const key = alarmKey(kind, about, host);
    all.set(key, { key, kind, about, host });
  };
  for (const { kind, subject, host } of readState(fold).alarms.values()) add(kind, subject ?? '', host);
  const { book } = engine.beliefs;
  for (const { kind, about, blames } of localAlarms(engine, book.cuts())) add(kind, about.replaceAll(' ', '-'), blames);
  for (const one of notKnownToBeOver(engine, fold, told)) if (!all.has(one.key)) all.set(one.key, one);
  return [...all.values()].toSorted((a, b) => (a.key < b.key ? -1 : 1));
}

/**
 * What a peer did is known while this process has heard of it. After a start it may not have been reached yet, and its
 * alarm is not over because of that.
 */
function notKnownToBeOver(engine: Engine, fold: Fold, told: Told): readonly Standing[] {
  const { alarms } = readState(fold);
  return [...told].flatMap(([key, n]) => {
    const one = standingOf(key);
    const peer = one.host;
    if (!isRaised(n) || peer === null || one.about.includes('/') || alarms.has(key)) return [];
    const isPeer = engine.charter().hosts.get(peer)?.status === 'active';
    return isPeer && engine.peerBook.of(peer)?.state === 'down' ? [one] : [];
  });
}

/** The sides of a park; the sentence of anything else. */
export function detailsOf(engine: Engine, fold: Fold, { kind, about, host }: Standing): Details {
  if (kind === 'PARKED' || kind === 'SIGNERS_DISAGREE') {
    const views = eventsOf(fold, about).flatMap((id) => eventView(fold, id) ?? []);
    const sides = views.filter(({ status, body }) => status === 'parked' && body !== null);
    return { sides: sides.toSorted((a, b) => ((a.body?.host ?? '') < (b.body?.host ?? '') ? -1 : 1)), detail: '' };
  }
  const local = localAlarms(engine, engine.beliefs.book.cuts()).find(
    (one) => one.kind === kind && one.about === about && one.blames === host,
  );
  return { sides: [], detail: local?.detail ?? '' };
}

/** Several notifying machines whose notes are carried by hand; time is a number. */
import { alarmKey, standingOf } from '../../src/core/notify/notes.ts';
import {
  openNotify,
  type NotifyEffect,
  type NotifyEvent,
  type NotifyState,
  type Telling,
} from '../../src/core/notify/state.ts';
import { nextTime, step } from '../../src/core/notify/step.ts';

/** The alarm that most tests are about. */
export const park: string = alarmKey('PARKED', 'ssh-route/mini', null);

export interface NotifyHost {
  state: NotifyState;
  readonly name: string;
  up: boolean;
  works: boolean;
  readonly told: string[];
}

/** A mesh of hosts that reach each other while they are up. */
export function openMesh(
  names: readonly string[],
  options: { readonly notifiers?: readonly string[]; readonly deaf?: string } = {},
) {
  const hosts = new Map<string, NotifyHost>();
  let now = 0;
  for (const name of names) {
    const notifiers = (options.notifiers ?? names).includes(name) ? ['phone'] : [];
    hosts.set(name, {
      name,
      up: true,
      works: name !== options.deaf,
      told: [],
      state: openNotify({ host: name, notifiers, told: new Map() }),
    });
  }
  const host = (name: string): NotifyHost => hosts.get(name) as NotifyHost;
  const notesOf = ({ state }: NotifyHost) => ({ notifies: state.notifiers.size > 0, told: state.told });
  const tell = (name: string, event: NotifyEvent): void => {
    const one = host(name);
    const done = step(one.state, { at: now, event });
    one.state = done.state;
    for (const effect of done.effects) carry(one, effect);
  };
  const carry = (one: NotifyHost, effect: NotifyEffect): void => {
    if (effect.kind === 'read-notes') {
      const others = [...hosts.values()].filter(({ name, up }) => name !== one.name && up && one.up);
      for (const other of others) tell(one.name, { kind: 'notes', host: other.name, notes: notesOf(other) });
      if (others.length === names.length - 1) tell(one.name, { kind: 'read' });
    }
    if (effect.kind === 'send') {
      if (one.works) one.told.push(...effect.tellings.map(words));
      const detail = 'no network';
      tell(
        one.name,
        one.works
          ? { kind: 'sent', notifier: effect.notifier, ok: true }
          : { kind: 'sent', notifier: effect.notifier, ok: false, detail },
      );
    }
  };
  const others = (name: string): string[] => names.filter((one) => one !== name);
  return {
    host,
    tell,
    ready: () => names.forEach((name) => tell(name, { kind: 'ready' })),
    /** These alarms stand on these hosts from now on. */
    stands: (keys: readonly string[], on: readonly string[] = names, order: readonly string[] = []) => {
      for (const name of on)
        tell(name, { kind: 'standing', standing: keys.map(standingOf), hosts: others(name), order });
    },
    /** Lets time go by, in the order in which machines want it. */
    pass(ms: number) {
      const end = now + ms;
      for (let rounds = 0; rounds < 1_000; rounds += 1) {
        const next = [...hosts.values()]
          .filter(({ up }) => up)
          .map((one) => ({ one, at: nextTime(one.state) ?? Infinity }));
        const first = next.toSorted((a, b) => a.at - b.at)[0];
        if (first === undefined || first.at > end) break;
        now = Math.max(now, first.at);
        tell(first.one.name, { kind: 'time' });
      }
      now = end;
    },
    told: () => names.flatMap((name) => host(name).told.map((text) => `${name}: ${text}`)),
    now: () => now,
  };
}

/** What one telling says. */
export const words = ({ n, standing }: Telling): string =>
  `${n % 2 === 1 ? 'raised' : 'cleared'} ${standing.kind} ${standing.about}`;

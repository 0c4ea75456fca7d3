/** The network between hosts: delay, loss, reordering, cuts. One question, one answer; every question ends. */
import { whenFree } from './purge-work.ts';
import { later, type Sim, type SimHost } from './types.ts';

export type Lost = 'UNREACHABLE' | 'TIMEOUT' | 'CLOSED' | 'REFUSED_KEY';

export interface Question<T> {
  readonly from: SimHost;
  /** Name of the host that is dialled. */
  readonly to: string;
  readonly deadlineMs: number;
  /** What the other end answers; undefined: nothing, ever. */
  readonly serve: (server: SimHost) => T | undefined;
  /** Called exactly once, unless `from` crashes. */
  readonly done: (answer: T | Lost) => void;
}

/** Asks. @returns what ends the question at once. */
export function ask<T>(sim: Sim, { from, to, deadlineMs, serve, done }: Question<T>): () => void {
  let settled = false;
  const settle = (answer: T | Lost): void => {
    if (settled) return;
    settled = true;
    done(answer);
  };
  const end = (): void => later(sim, from, delayOf(sim), () => settle('CLOSED'));
  later(sim, from, deadlineMs, () => settle('TIMEOUT'));
  const server = sim.hosts.find(({ name, up, node }) => name === to && up && node !== from.node);
  if (server === undefined || !reaches(sim, from, server)) {
    // A firewall says nothing, a machine without the program says no.
    if (server === undefined || sim.random.next() < 0.5) later(sim, from, delayOf(sim), () => settle('UNREACHABLE'));
    return end;
  }
  if (isLost(sim)) return end;
  sim.agenda.after(delayOf(sim), () => {
    if (!server.up || !reaches(sim, from, server)) return end();
    // Nobody but hosts of the charter is let in.
    const known = server.memory?.trust.charter.hosts.get(from.name);
    if (known === undefined || known.status === 'revoked')
      return later(sim, from, delayOf(sim), () => settle('REFUSED_KEY'));
    whenFree(server.memory, () => {
      const answer = serve(server);
      if (answer === undefined || isLost(sim)) return;
      later(sim, from, delayOf(sim), () => settle(answer));
    });
  });
  return end;
}

/** Says something to a host that may hear it. */
export function say(sim: Sim, from: SimHost, to: SimHost, heard: () => void): void {
  if (isLost(sim) || !reaches(sim, from, to)) return;
  later(sim, to, delayOf(sim), heard);
}

function reaches(sim: Sim, a: SimHost, b: SimHost): boolean {
  for (const side of sim.cuts) if (side.has(a.name) !== side.has(b.name)) return false;
  return true;
}

function isLost(sim: Sim): boolean {
  return !sim.healed && sim.random.next() < sim.plan.dropShare;
}

function delayOf(sim: Sim): number {
  const most = sim.healed ? 20 : sim.plan.delayMsMax;
  return 1 + sim.random.below(most);
}

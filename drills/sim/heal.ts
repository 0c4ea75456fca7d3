/** Everything is put right: the network, the machines, the liars, and what a person does about copies and old backups. */
import { ownLogFault } from '../../src/core/sync/own-log.ts';
import { store } from './judge.ts';
import { addTrust } from './effects.ts';
import { crashHost, startHost } from './host.ts';
import { keyText } from './charter.ts';
import { keyOf } from './keys.ts';
import { settle, wantNewKeys } from './recover.ts';
import { worldOf } from './machine.ts';
import { wantAppend } from './write.ts';
import type { Sim, SimHost } from './types.ts';
import { keptOps } from '../../src/core/trust/set.ts';

export function heal(sim: Sim): void {
  sim.healed = true;
  sim.cuts.clear();
  for (const host of sim.hosts.slice()) {
    host.lies = new Set();
    host.disk.mend();
    if (host.node !== host.name) retire(sim, host);
    else startHost(sim, host);
  }
  handInAgain(sim);
  const look = (): void => {
    for (const host of sim.hosts) {
      bringUpToDate(sim, host);
      recover(sim, host);
      wantOneMore(sim, host);
    }
    sim.agenda.after(lookMs, look);
  };
  look();
}

const lookMs = 10_000;
/** By then the hosts have heard of each other, and each knows the branches of its log. */
const recoverAfterMs = 420_000;

/**
 * What only a machine that was put back had known of the charter is known to the host that it let in: without an enrolment
 * that others hold nobody talks to that one. Its signer hands the op in again.
 */
function handInAgain(sim: Sim): void {
  const [first] = sim.hosts;
  if (first?.memory === undefined) return;
  const ops = sim.hosts.flatMap(({ memory }) => (memory === undefined ? [] : keptOps(memory.trust.set)));
  addTrust(sim, first, ops);
}

/** What a person sees to last: a log that was forked is settled, and a home whose keys were replaced gets new ones. */
function recover(sim: Sim, host: SimHost): void {
  const { memory, name } = host;
  if (memory === undefined || sim.agenda.now() < sim.plan.untilMs + recoverAfterMs) return;
  settle(sim, host);
  const self = memory.trust.charter.hosts.get(name);
  const isWell = self?.status === 'active' && self.sign.text === keyText(keyOf(host));
  if (!isWell && sim.random.next() < 0.2) wantNewKeys(sim, host);
}

/** Every host writes again, whatever was wrong with it: a writer asks until it is answered. */
function wantOneMore(sim: Sim, host: SimHost): void {
  const { name, memory, acknowledged } = host;
  if (memory === undefined || memory.waiting.size > 0) return;
  const asked = sim.askedAtEnd.get(name);
  if (asked !== undefined && acknowledged.length > asked) return;
  sim.askedAtEnd.set(name, acknowledged.length);
  wantAppend(sim, host, { seed: sim.random.below(2 ** 31), signed: false, sync: false });
}

/** The copy is switched off; what it said stays where it was heard. */
function retire(sim: Sim, copy: SimHost): void {
  crashHost(sim, copy);
  sim.hosts.splice(sim.hosts.indexOf(copy), 1);
}

/** A home that is behind its own log: its log is taken from the peer that proved it, as the refusal says. */
function bringUpToDate(sim: Sim, host: SimHost): void {
  const { memory } = host;
  if (memory === undefined) return;
  const proofs = Array.from(memory.proofs, ([peer, line]) => ({ peer, line }));
  const fault = ownLogFault(worldOf(host, memory), proofs);
  const source = sim.hosts.find(({ name, up }) => name === fault?.peer && up);
  const theirs = source?.memory?.logs.get(host.name);
  if (fault === undefined || theirs === undefined) return;
  const { lines: ours, texts } = memory.logs.get(host.name) ?? { lines: [], texts: [] };
  // What stands behind a pin leaves the log first, and is kept.
  if (texts.length > ours.length) return;
  if (ours.some(({ link }, index) => theirs.lines[index]?.link !== link)) return;
  crashHost(sim, host);
  store(host, host.name, theirs.texts);
  startHost(sim, host);
}

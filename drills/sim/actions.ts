/** The actions of a plan, done to hosts that are there. What cannot be done then is left out. */
import { createRandom } from '../../test/lib/random.ts';
import { decide, hostNames } from './charter.ts';
import { announce } from './announce.ts';
import { addTrust } from './effects.ts';
import { crashHost, makeHost, startHost } from './host.ts';
import type { Action } from './plan.ts';
import { later, type Sim, type SimHost } from './types.ts';
import { wantAppend } from './write.ts';

export function act(sim: Sim, action: Action): void {
  if (action.kind === 'cut') return cut(sim, action);
  const host = sim.hosts.find(({ node }) => node === action.host);
  if (host === undefined) return;
  sim.trace.note(`${sim.agenda.now()} ${action.kind} ${host.node}`);
  switch (action.kind) {
    case 'append':
      return append(sim, host, action);
    case 'decide':
      return decideOn(sim, host, action);
    case 'crash':
      crashHost(sim, host);
      return sim.agenda.after(action.downMs, () => startHost(sim, host));
    case 'clock':
      host.wallMs += action.byMs;
      host.slept ||= action.slept;
      return;
    case 'backup':
      host.backup = host.disk.copy();
      return;
    case 'restore':
      return restore(sim, host);
    case 'clone':
      return clone(sim, host);
    case 'lie':
      sim.truth.liars.add(host.name);
      host.lies = new Set([...host.lies, action.lie]);
      if (action.lie === 'flood') flood(sim, host);
      return later(sim, host, action.forMs, () => (host.lies = new Set()));
  }
}

function cut(sim: Sim, { side, forMs }: Extract<Action, { kind: 'cut' }>): void {
  const entry: ReadonlySet<string> = new Set(side);
  sim.cuts.add(entry);
  sim.agenda.after(forMs, () => sim.cuts.delete(entry));
}

/** Whoever writes may have reached the machine or its clone. */
function append(sim: Sim, host: SimHost, { seed, signed, sync }: Extract<Action, { kind: 'append' }>): void {
  const machines = sim.hosts.filter(({ name, up }) => name === host.name && up);
  const machine = machines[seed % Math.max(1, machines.length)];
  if (machine !== undefined) wantAppend(sim, machine, { seed, signed, sync });
}

/** A signer decides something, on a host that is up. */
function decideOn(sim: Sim, host: SimHost, { what }: Extract<Action, { kind: 'decide' }>): void {
  const { memory } = host;
  if (memory === undefined) return;
  const name = hostNames[sim.plan.hosts];
  const known = memory.trust.charter.hosts.has(name ?? '');
  if (what === 'host' && (name === undefined || known || sim.hosts.some((other) => other.name === name))) return;
  sim.decisions += 1;
  const decision = what === 'host' ? { kind: what, name: name ?? '' } : { kind: what };
  addTrust(sim, host, [decide(memory.trust, decision, sim.decisions)]);
  if (what === 'host' && name !== undefined) join(sim, host, name);
}

/** The new host takes the trust set from the one that added it. */
function join(sim: Sim, from: SimHost, name: string): void {
  const host = makeHost(sim, name);
  sim.hosts.push(host);
  host.disk.write('trust', from.disk.durable('trust'));
  host.disk.sync();
  startHost(sim, host);
}

/** The machine is put back to what it was: whatever it said since is gone from it, as far as it knows. */
function restore(sim: Sim, host: SimHost): void {
  if (host.backup === undefined) return;
  crashHost(sim, host);
  host.disk = host.backup.copy();
  host.acknowledged = [];
  sim.agenda.after(1_000, () => startHost(sim, host));
}

/** A copy of the whole home on another machine. */
function clone(sim: Sim, host: SimHost): void {
  if (sim.hosts.some(({ node }) => node === `${host.name}#2`)) return;
  const copy = makeHost(sim, host.name, `${host.name}#2`);
  copy.disk = host.disk.copy();
  sim.hosts.push(copy);
  startHost(sim, copy);
}

function flood(sim: Sim, host: SimHost): void {
  const random = createRandom(sim.agenda.now());
  const again = (): void => {
    if (!host.lies.has('flood')) return;
    announce(sim, host);
    later(sim, host, 50 + random.below(500), again);
  };
  again();
}

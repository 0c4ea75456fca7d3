/** The actions of a plan, done to hosts that are there. What cannot be done then is left out. */
import { createRandom } from '../../test/lib/random.ts';
import { eventView } from '../../src/core/fold/fold.ts';
import { skeletonOf } from '../../src/core/fold/skeleton.ts';
import { decide, hostNames, meshId, type Decision } from './charter.ts';
import { announce } from './announce.ts';
import { addTrust } from './effects.ts';
import { crashHost, makeHost, startHost } from './host.ts';
import { wantNewKeys } from './recover.ts';
import type { Action } from './plan.ts';
import { later, type Memory, type Sim, type SimHost } from './types.ts';
import { usableLines } from './usable.ts';
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
    case 'disk':
      return breakDisk(sim, host, action);
    case 'backup':
      host.backup = host.disk.copy();
      return;
    case 'restore':
      return restore(sim, host);
    case 'recover':
      return wantNewKeys(sim, host);
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

/** A signer decides something, on a host that is up and knows what it is about. */
function decideOn(sim: Sim, host: SimHost, action: Extract<Action, { kind: 'decide' }>): void {
  const { memory } = host;
  const decision = memory === undefined ? undefined : drawDecision(sim, memory, action);
  if (memory === undefined || decision === undefined) return;
  sim.decisions += 1;
  const op = decide(memory.trust, decision, sim.decisions);
  // Where it cannot be written it was not taken: whoever decides is told so.
  if (addTrust(sim, host, [op]) && decision.kind === 'host') join(sim, host, decision.name);
}

function drawDecision(
  sim: Sim,
  memory: Memory,
  { what, seed }: Extract<Action, { kind: 'decide' }>,
): Decision | undefined {
  const { charter } = memory.trust;
  const random = createRandom(seed);
  switch (what) {
    case 'class':
    case 'signer':
      return { kind: what };
    case 'host': {
      const name = hostNames[sim.plan.hosts];
      const isThere = name === undefined || charter.hosts.has(name) || sim.hosts.some((other) => other.name === name);
      return isThere ? undefined : { kind: what, name };
    }
    case 'revoke': {
      // The first host stays: somebody must be left to agree.
      const name = random.pick([...charter.hosts.keys()]);
      const lines = usableLines(charter, memory, name);
      const last = lines[lines.length - 1 - random.below(2)];
      const isIt = name === hostNames[0] || charter.hosts.get(name)?.status === 'revoked';
      return isIt || last === undefined ? undefined : { kind: what, name, pin: { seq: last.seq, link: last.link } };
    }
    case 'purge': {
      const nodes = [...memory.fold.nodes.values()].filter(({ said }) => said?.mesh === meshId);
      const node = nodes[random.below(nodes.length)];
      const body = node === undefined ? null : eventView(memory.fold, node.id)?.body;
      if (node === undefined || !body || charter.purges.has(node.id)) return undefined;
      return { kind: what, target: skeletonOf(body, node.level) };
    }
  }
}

/** The new host takes the trust set from the one that added it. */
function join(sim: Sim, from: SimHost, name: string): void {
  const host = makeHost(sim, name);
  sim.hosts.push(host);
  host.disk.write('trust', from.disk.durable('trust'));
  host.disk.sync();
  startHost(sim, host);
}

/** A write of this machine fails soon; a disk that is full is so for a while. */
function breakDisk(sim: Sim, { disk }: SimHost, { fault, after, forMs }: Extract<Action, { kind: 'disk' }>): void {
  disk.break(fault, after);
  sim.agenda.after(forMs, () => disk.mend());
}

/** The machine is put back to what it was: whatever it said since is gone from it, as far as it knows. */
function restore(sim: Sim, host: SimHost): void {
  if (host.backup === undefined) return;
  sim.truth.rewound.add(host.name);
  crashHost(sim, host);
  host.disk = host.backup.copy();
  host.acknowledged = [];
  sim.agenda.after(1_000, () => startHost(sim, host));
}

/** A copy of the whole home on another machine. */
function clone(sim: Sim, host: SimHost): void {
  if (sim.hosts.some(({ node }) => node === `${host.name}#2`)) return;
  sim.truth.rewound.add(host.name);
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

/** The sync machine of one host: told what happens, and what it asks for carried out. */
import { nextTime, step } from '../../src/core/sync/step.ts';
import type { SyncEvent, World } from '../../src/core/sync/vocabulary.ts';
import { meshId } from './charter.ts';
import { later, type Memory, type Sim, type SimHost } from './types.ts';
import { viewWorld } from './views.ts';

/** Tells the machine, does what it asks for, and has it told the time when it wants to be. */
export function tell(sim: Sim, host: SimHost, event: SyncEvent): void {
  const { memory } = host;
  if (memory === undefined) return;
  memory.events.push(event);
  if (memory.telling) return;
  memory.telling = true;
  const world = worldOf(host, memory);
  for (let next = memory.events.shift(); next !== undefined; next = memory.events.shift()) {
    const at = sim.agenda.now() + host.clockMs;
    sim.trace.note(`${sim.agenda.now()} ${host.node} ${next.kind} ${'peer' in next ? next.peer : ''}`);
    const done = step(memory.sync, { at, world, event: next });
    memory.sync = done.state;
    for (const effect of done.effects) sim.carry(host, effect);
  }
  memory.telling = false;
  setClock(sim, host, memory);
}

function setClock(sim: Sim, host: SimHost, memory: Memory): void {
  const due = nextTime(memory.sync);
  if (due === undefined || due >= memory.timeAt) return;
  memory.timeAt = due;
  later(sim, host, Math.max(1, due - sim.agenda.now() - host.clockMs), () => {
    if (memory.timeAt !== due) return;
    memory.timeAt = Infinity;
    tell(sim, host, { kind: 'time' });
  });
}

export function worldOf(host: SimHost, memory: Memory): World {
  const peers = (): readonly string[] =>
    [...memory.trust.charter.hosts.values()].flatMap(({ name, status }) =>
      name === host.name || status === 'revoked' ? [] : [name],
    );
  return {
    meshId,
    host: host.name,
    peers,
    whyNoPeer: (name) => (peers().includes(name) ? undefined : 'no peer'),
    isEnrolled: (name) => memory.trust.charter.hosts.has(name),
    tip: (log) => {
      const last = memory.logs.get(log)?.lines.at(-1);
      return last === undefined ? undefined : { oid: '', seq: last.seq, link: last.link };
    },
    linkAt: (log, seq) => memory.logs.get(log)?.lines[seq - 1]?.link,
    isDamaged: () => false,
    heldUpto: () => 0,
    trust: () => memory.trust,
    views: viewWorld(memory),
  };
}

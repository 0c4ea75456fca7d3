/** What hosts say unasked: those who watch a host are told when it holds something new. */
import type { Heads } from '../../src/core/sync/peer.ts';
import { tell } from './machine.ts';
import { say } from './net.ts';
import { serveHeads } from './serve.ts';
import type { Memory, Sim, SimHost } from './types.ts';

/** Has those who watch this host told what it holds now. A connection is there, or not. */
export function announce(sim: Sim, host: SimHost): void {
  for (const other of sim.hosts) {
    if (other.name === host.name || !other.up || sim.random.next() < 0.3) continue;
    say(sim, host, other, () => {
      const said = serveHeads(sim, host, other.name);
      if (said !== undefined) nudge(sim, other, said);
    });
  }
}

function nudge(sim: Sim, host: SimHost, heads: Heads): void {
  const { memory } = host;
  if (memory === undefined) return;
  tell(sim, host, { kind: 'nudge', peer: heads.host, heads: shown(sim, memory, heads) });
}

/** What the machine is told that a peer said. */
export function shown(sim: Sim, memory: Memory, heads: Heads): Heads {
  const told = sim.bug.heads?.(memory, heads) ?? heads;
  if (told !== heads) memory.originals.set(told, heads);
  return told;
}

/** What must hold of purges: whoever says that it carried one out has nothing of it, and serves nothing of it. */
import { parseLine } from '../../src/core/line.ts';
import { saysPurged } from '../../src/core/trust/purge-work.ts';
import type { Charter } from '../../src/core/trust/charter.ts';
import { meshId } from './charter.ts';
import { Violation, type Memory, type Sim, type SimHost } from './types.ts';

/** Ids of lines with a body, by text; null for the others. Parsed once. */
const bodies = new Map<string, string | null>();
const bodiesMax = 100_000;

function bodyIn(text: string): string | null {
  let id = bodies.get(text);
  if (id === undefined) {
    const parsed = parseLine(text, meshId);
    id = parsed.ok && parsed.value.body !== null ? parsed.value.id : null;
    if (bodies.size >= bodiesMax) bodies.clear();
    bodies.set(text, id);
  }
  return id;
}

/** A purged body on the disk, in whatever object. */
export function purgedOnDisk({ disk }: SimHost, purges: Charter['purges']): string | undefined {
  if (purges.size === 0) return undefined;
  for (const name of disk.names()) {
    if (!name.startsWith('object ') && !name.startsWith('fork ')) continue;
    for (const text of disk.read(name) as readonly string[]) {
      const id = bodyIn(text);
      if (id !== null && purges.has(id)) return `event ${id.slice(0, 12)} in ${name}`;
    }
  }
  return undefined;
}

/** As a host signs that it carried out every purge of its charter. */
export function checkNothingPurged(host: SimHost, { trust }: Memory): void {
  const left = purgedOnDisk(host, trust.charter.purges);
  if (left !== undefined)
    throw new Violation(`purge: ${host.node} says that it carried out every purge, and has ${left}`);
}

/** What a host serves holds nothing of a purge that it said it carried out. */
export function checkServed(sim: Sim, server: SimHost, log: string, texts: readonly string[]): void {
  const { memory, name } = server;
  const { rewound, liars } = sim.truth;
  if (memory === undefined || memory.trust.charter.purges.size === 0 || rewound.has(name) || liars.has(name)) return;
  const said = memory.views.get(name)?.at(-1);
  const told = said && sim.truth.trusts.get(said.trust)?.charter.purges;
  for (const text of texts) {
    const id = bodyIn(text);
    const op = id === null ? undefined : memory.trust.charter.purges.get(id)?.op;
    if (id === null || op === undefined || !saysPurged(told, { id, op })) continue;
    throw new Violation(
      `purge: ${server.node} serves the body of ${id.slice(0, 12)} in log ${log} after it said that it was gone`,
    );
  }
}

/** Everything was healed: nothing purged is anywhere, and every host knows it of every other one. */
export function purgesLeft(sim: Sim, hosts: readonly SimHost[]): string | undefined {
  for (const host of hosts) {
    const { memory } = host;
    if (memory === undefined || memory.trust.charter.purges.size === 0) continue;
    const { purges } = memory.trust.charter;
    const left = purgedOnDisk(host, purges);
    if (left !== undefined) return `${host.node} still has purged ${left}`;
    for (const { name } of hosts) {
      const said = memory.views.get(name)?.at(-1);
      const told = said && sim.truth.trusts.get(said.trust)?.charter.purges;
      const open = [...purges].find(([id, { op }]) => !saysPurged(told, { id, op }));
      if (open !== undefined && !sim.truth.rewound.has(name))
        return `${host.node} does not know that ${name} carried out purge ${open[1].op.slice(0, 12)}`;
    }
  }
  return undefined;
}

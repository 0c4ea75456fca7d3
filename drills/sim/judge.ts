/** Lines judged under a charter, and written where a crash leaves them. */
import { extendLog, type LogExtension, type PurgedIds } from '../../src/core/log.ts';
import { holdingKeys } from '../../src/core/trust/usable.ts';
import { meshId, oidOf, verifyCheaply } from './charter.ts';
import type { Memory, Sim, SimHost } from './types.ts';

/** The lines of a log after a place, judged as the charter of the memory has it. */
export function judgeLines(
  sim: Sim,
  memory: Memory,
  at: {
    readonly log: string;
    readonly from: { readonly seq: number; readonly link: string };
    readonly texts: readonly string[];
  },
): LogExtension {
  const { log, from, texts } = at;
  const { charter } = memory.trust;
  const purged: PurgedIds = sim.bug.purged?.(charter) ?? charter.purges;
  const host = charter.hosts.get(log);
  const keys = host === undefined ? [] : holdingKeys(host);
  return extendLog({ host: log, mesh: meshId, from, keys, purged, verify: verifyCheaply }, texts);
}

/** A peer's log is durable before it counts: objects, then the branch. */
export function store(host: SimHost, log: string, texts: readonly string[]): void {
  const oid = oidOf(texts.at(-1) ?? '');
  host.disk.write(`object ${log} ${oid}`, texts);
  host.disk.sync();
  host.disk.write(`ref ${log}`, oid);
  host.disk.sync();
}

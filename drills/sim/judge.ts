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
  const keys = host === undefined ? [] : (sim.bug.keys?.(host) ?? holdingKeys(host));
  return extendLog({ host: log, mesh: meshId, from, keys, purged, verify: verifyCheaply }, texts);
}

const oids = new WeakMap<readonly string[], string>();

/** The commit of a log with these lines. */
export function commitOf(texts: readonly string[]): string {
  let oid = oids.get(texts);
  if (oid === undefined) oids.set(texts, (oid = oidOf(texts.join('\n'))));
  return oid;
}

/** The lines of a log on the disk. A branch whose object is gone reads as nothing: what was lost then shows in the checks. */
export function readTexts({ disk }: Pick<SimHost, 'disk'>, log: string): readonly string[] {
  return (disk.read(`object ${log} ${String(disk.read(`ref ${log}`))}`) ?? []) as readonly string[];
}

/** A peer's log is durable before it counts: objects, then the branch. Throws DiskFault. */
export function store(host: SimHost, log: string, texts: readonly string[]): void {
  // A log without a line has no branch.
  if (texts.length === 0) {
    host.disk.remove(`ref ${log}`);
    return host.disk.sync();
  }
  const oid = commitOf(texts);
  host.disk.write(`object ${log} ${oid}`, texts);
  host.disk.sync();
  host.disk.write(`ref ${log}`, oid);
  host.disk.sync();
}

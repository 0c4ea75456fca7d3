/** place: a line of a log by its number, as pins and marks name it. */
import type { PlaceJson } from '../api/api-types.ts';
import type { Engine } from '../engine.ts';
import { Refusal } from '../refusal.ts';

/**
 * The place of line `seq` of a log, usable or not; by default of the last usable one. A log that a fork-proof cuts goes
 * on here behind it, and a pin there would settle it for this branch without anybody having chosen that. Refuses
 * HOST_UNKNOWN, BAD_REQUEST.
 */
export async function place(
  engine: Engine,
  { host, seq }: { readonly host: string; readonly seq?: number | undefined },
): Promise<PlaceJson> {
  await engine.beliefs.fold();
  const { hosts } = engine.charter();
  if (!hosts.has(host)) {
    throw new Refusal({
      code: 'HOST_UNKNOWN',
      message: `there is no host ${host} in this mesh`,
      hint: `hosts: ${[...hosts.keys()].join(', ')}`,
      exit: 7,
    });
  }
  const { book } = engine.beliefs;
  const start: PlaceJson = { seq: 0, link: engine.meshId };
  const usable = book.head(host) ?? start;
  if (seq === undefined) return { seq: usable.seq, link: usable.link };
  const link = seq === 0 ? engine.meshId : book.linkAt(host, seq);
  if (link !== undefined) return { seq, link };
  throw new Refusal({
    code: 'BAD_REQUEST',
    message: `line ${seq} of log ${host} is not here: the last one held is ${book.tip(host)?.seq ?? 0}`,
    hint: `memctl fetch brings newer ones; memctl log ${host} shows them`,
    exit: 2,
  });
}

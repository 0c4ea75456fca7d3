/** place: a line of a log by its number, as pins and marks name it. */
import type { PlaceJson } from '../api-types.ts';
import type { Engine } from '../engine.ts';
import { Refusal } from '../refusal.ts';

/** The place of line `seq` of a log, by default of the last one held here, usable or not. Refuses HOST_UNKNOWN, BAD_REQUEST. */
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
  const { seq: last, link: lastLink } = book.tip(host) ?? start;
  if (seq === undefined || seq === last) return { seq: last, link: lastLink };
  const link = seq === 0 ? engine.meshId : book.linkAt(host, seq);
  if (link !== undefined) return { seq, link };
  throw new Refusal({
    code: 'BAD_REQUEST',
    message: `line ${seq} of log ${host} is not here: the last one held is ${last}`,
    hint: `memctl fetch brings newer ones; memctl log ${host} shows them`,
    exit: 2,
  });
}

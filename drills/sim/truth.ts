/** The record of what holders of keys really wrote. */
import { parseLine } from '../../src/core/line.ts';
import { meshId } from './charter.ts';
import type { Sim, SimHost } from './types.ts';

/** Notes lines that the holder of the log's key made, whether or not they are written anywhere. */
export function noteAuthored(
  sim: Sim,
  log: string,
  { texts, key }: { readonly texts: readonly string[]; readonly key: number },
): void {
  const { authored } = sim.truth;
  let seqs = authored.get(log);
  if (seqs === undefined) authored.set(log, (seqs = new Map()));
  for (const text of texts) {
    const parsed = parseLine(text, meshId);
    if (!parsed.ok) continue;
    const { seq, link } = parsed.value;
    const links = seqs.get(seq) ?? new Set();
    links.add(link);
    // The same words in the same place have the same link, whichever key signs them.
    sim.truth.signedWith.set(link, new Set([...(sim.truth.signedWith.get(link) ?? []), key]));
    seqs.set(seq, links);
  }
}

/** Whether somebody with the key wrote this line. */
export function isAuthored(sim: Sim, log: string, line: { readonly seq: number; readonly link: string }): boolean {
  return sim.truth.authored.get(log)?.get(line.seq)?.has(line.link) === true;
}

/** Every trust set that a host really had is known by its hash. */
export function noteTrustSet(sim: Sim, { memory }: SimHost): void {
  if (memory === undefined || sim.truth.trustSets.has(memory.trust.hash)) return;
  sim.truth.trustSets.set(memory.trust.hash, new Set(memory.trust.set.held.keys()));
  sim.truth.trusts.set(memory.trust.hash, memory.trust);
}

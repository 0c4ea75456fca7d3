/** What must hold of view lines: they say what was held, others take no other ones, and whoever has the lines finds the root. */
import { createFold, foldLines, readState } from '../../src/core/fold/fold.ts';
import { extendLog, type VerifiedLine } from '../../src/core/log.ts';
import { withPurges } from '../../src/core/replay.ts';
import type { ViewLine } from '../../src/core/view-line.ts';
import { meshId, simPorts, verifyCheaply } from './charter.ts';
import { checkNothingPurged } from './check-purges.ts';
import { foldAnew } from './usable.ts';
import { Violation, type Memory, type Sim, type SimHost } from './types.ts';

/** Replay costs a fold: it is done for this part of the lines. */
const replayShare = 0.2;

/** A host signs a line: its root is that of a fold from nothing, and under purges nothing purged is on its disk. */
export function checkSaid(sim: Sim, host: SimHost, line: ViewLine): void {
  const { memory } = host;
  if (memory === undefined) return;
  sim.truth.said.add(line.text);
  if (line.root !== readState(foldAnew(memory)).root)
    throw new Violation(`journal: ${host.node} signed a root that is not what it held`);
  checkNothingPurged(host, memory);
}

/** A host takes a journal: every line of it is one that its owner signed. */
export function checkTakenViews(sim: Sim, host: SimHost, of: string, lines: readonly ViewLine[]): void {
  const { memory } = host;
  const forged = lines.find(({ text }) => !sim.truth.said.has(text));
  if (forged !== undefined)
    throw new Violation(`journal: ${host.node} took view line ${forged.n} of ${of}, which ${of} never signed`);
  const last = lines.at(-1);
  if (memory !== undefined && last !== undefined && sim.random.next() < replayShare)
    checkReplay(sim, host, memory, last);
}

/** Replay: exactly the prefixes that the line names, under the trust set that it names. */
function checkReplay(sim: Sim, host: SimHost, memory: Memory, line: ViewLine): void {
  const trust = sim.truth.trusts.get(line.trust);
  if (trust === undefined) return;
  const lines: VerifiedLine[] = [];
  const now = memory.trust.charter;
  for (const [log, head] of line.heads) {
    const texts = memory.logs.get(log)?.texts.slice(0, head.seq) ?? [];
    const keys = trust.charter.hosts.get(log)?.spans ?? [];
    const start = { host: log, mesh: meshId, from: { seq: 0, link: meshId }, keys, verify: verifyCheaply };
    const prefix = extendLog({ ...start, purged: now.purges }, texts).lines;
    const last = prefix.at(-1);
    // Lines that are not here, or others: replay says so.
    if (last?.seq !== head.seq || last.link !== head.link) return;
    lines.push(...prefix);
  }
  const { charter, gone } = withPurges(trust.charter, now, lines);
  if (gone.length > 0) return;
  const fold = createFold(charter, line.trust, simPorts);
  foldLines(fold, lines);
  if (readState(fold).root !== line.root)
    throw new Violation(`journal: ${host.node} replays line ${line.n} of ${line.host}, and comes to another root`);
}

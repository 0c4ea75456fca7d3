/** The fold of one host: fed with what is usable, put under a new charter, and asked what it would say. */
import { createFold, foldLines, purgesAlike, readState, setCharter, type Fold } from '../../src/core/fold/fold.ts';
import type { Charter } from '../../src/core/trust/charter.ts';
import type { VerifiedLine } from '../../src/core/log.ts';
import { meshId, simPorts, type Trust } from './charter.ts';
import { judgeLines, readTexts } from './judge.ts';
import { checkBeliefs } from './checks.ts';
import type { Memory, Said, Sim, SimHost } from './types.ts';
import { usableLines } from './usable.ts';
import { sayLater } from './say.ts';

/** Folds what is usable and was not folded yet. */
export function believe(sim: Sim, host: SimHost): void {
  const { memory } = host;
  if (memory === undefined) return;
  const fresh = takeFresh(memory);
  if (fresh.length === 0) return;
  const { subjects } = foldLines(memory.fold, changed(sim, memory, fresh));
  conclude(sim, host, { fresh, subjects });
}

function takeFresh(memory: Memory): readonly VerifiedLine[] {
  return [...memory.logs.keys()].flatMap((log) => {
    const from = memory.folded.get(log) ?? 0;
    const lines = usableLines(memory.trust.charter, memory, log).slice(from);
    if (lines.length > 0) memory.folded.set(log, from + lines.length);
    return lines;
  });
}

function changed(sim: Sim, memory: Memory, lines: readonly VerifiedLine[]): readonly VerifiedLine[] {
  const { foldLine } = sim.bug;
  return foldLine === undefined ? lines : lines.map((line) => foldLine(memory, line));
}

/** Puts the fold under the trust set of the memory. What a new charter takes back is taken back. */
export function recharter(sim: Sim, host: SimHost, trust: Trust): void {
  const { memory } = host;
  if (memory === undefined) return;
  const before = memory.trust.charter;
  memory.trust = trust;
  const { charter, hash } = trust;
  const purged = !purgesAlike(before, charter);
  if (purged || rulesIn(before) !== rulesIn(charter)) judgeAgain(sim, memory);
  const isShorter = [...memory.logs.keys()].some((log) => {
    const folded = memory.folded.get(log) ?? 0;
    const usable = usableLines(charter, memory, log).length;
    return (sim.bug.usable?.(folded, usable) ?? usable) < folded;
  });
  if (isShorter || purged) {
    memory.fold = createFold(charter, hash, simPorts);
    memory.folded.clear();
    foldLines(memory.fold, changed(sim, memory, takeFresh(memory)));
  } else {
    setCharter(memory.fold, charter, hash);
  }
  conclude(sim, host, { fresh: [], subjects: new Set() });
  believe(sim, host);
}

/** Everything that says which lines of which log are usable. */
function rulesIn({ hosts }: Charter): string {
  const rules = [...hosts.values()].map(({ name, spans, pins, end }) => {
    const keys = spans.map(({ key, from, upto }) => `${key.join('.')} ${from} ${upto}`);
    return [name, keys.join(), pins.map(({ seq, link }) => `${seq} ${link}`).join(), end].join(' ');
  });
  return rules.join('\n');
}

/** Lines as the charter has them now: bodies that are purged are holes; the files follow when the purge is carried out. */
function judgeAgain(sim: Sim, memory: Memory): void {
  for (const [log, { texts }] of memory.logs) {
    const { lines } = judgeLines(sim, memory, { log, from: { seq: 0, link: meshId }, texts });
    memory.logs.set(log, { texts, lines });
  }
}

/** Every log is read and folded again: lines have left one. */
export function reread(sim: Sim, host: SimHost): void {
  const { memory } = host;
  if (memory === undefined) return;
  for (const log of memory.logs.keys()) memory.logs.set(log, { texts: readTexts(host, log), lines: [] });
  judgeAgain(sim, memory);
  memory.fold = createFold(memory.trust.charter, memory.trust.hash, simPorts);
  memory.folded.clear();
  foldLines(memory.fold, changed(sim, memory, takeFresh(memory)));
  conclude(sim, host, { fresh: [], subjects: new Set() });
}

function conclude(
  sim: Sim,
  host: SimHost,
  news: { readonly fresh: readonly VerifiedLine[]; readonly subjects: ReadonlySet<string> },
): void {
  const { memory } = host;
  if (memory === undefined) return;
  const before = memory.answers;
  memory.answers = answersOf(sim, host, memory.fold);
  checkBeliefs(sim, host, { before, ...news });
  sayLater(sim, host);
}

function answersOf(sim: Sim, host: SimHost, fold: Fold): ReadonlyMap<string, Said> {
  const said = new Map<string, Said>();
  for (const [key, { status, served }] of readState(fold).records) said.set(key, { status, served });
  sim.bug.answers?.(host, said);
  return said;
}

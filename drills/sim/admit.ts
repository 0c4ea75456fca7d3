/** Taking in what a peer sent: the real chain and signature checks, and what the mesh does with what they say. */
import { parseLine } from '../../src/core/line.ts';
import { signedByAny } from '../../src/core/recovery.ts';
import type { HeadsTip } from '../../src/core/sync/peer.ts';
import type { AdmissionFault, LogFetched, OwnVerdict } from '../../src/core/sync/vocabulary.ts';
import { believe } from './beliefs.ts';
import { meshId, verifyCheaply } from './charter.ts';
import { judgeLines, store } from './judge.ts';
import { checkAdmitted } from './checks.ts';
import { keepBranch, parsed } from './branches.ts';
import type { HeldLog, Sim, SimHost } from './types.ts';

/** Judges a fetched log against ours and takes what extends it, durably. */
export function takeLog(
  sim: Sim,
  host: SimHost,
  fetched: {
    readonly log: string;
    readonly peer: string;
    readonly offered: HeadsTip;
    readonly texts: readonly string[];
    readonly cycle: number;
  },
): LogFetched {
  const { memory } = host;
  const { log, texts, offered } = fetched;
  if (memory === undefined || !memory.trust.charter.hosts.has(log)) return { lines: 0 };
  const held: HeldLog = memory.logs.get(log) ?? { texts: [], lines: [] };
  // What stands behind a pin leaves the log first.
  if (held.texts.length > held.lines.length) return { lines: 0 };
  const tip = held.lines.at(-1);
  if (tip?.link === offered.link) return { lines: 0 };
  const seq = tip?.seq ?? 0;
  if (texts.length < seq)
    return related(held, texts) ? { lines: 0, mismatch: 'shorter' } : notExtension(sim, host, { log, held, texts });
  if (tip !== undefined && linkOf(texts[seq - 1]) !== tip.link) return notExtension(sim, host, { log, held, texts });
  if (texts.length === seq) return { lines: 0, mismatch: 'same' };
  const from = { seq, link: tip?.link ?? meshId };
  const { lines, fault } = judgeLines(sim, memory, { log, from, texts: texts.slice(seq) });
  const told =
    fault === undefined
      ? {}
      : { fault: { code: 'LOG_CUT', seq: fault.seq, detail: `${fault.code} ${fault.detail}` } as const };
  if (lines.length === 0) return { lines: 0, ...told };
  checkAdmitted(sim, host, { ...fetched, lines });
  const kept = sim.bug.storesAsFetched === true ? texts.slice(seq) : lines.map(({ text }) => text);
  const now = { texts: [...held.texts, ...kept.slice(0, lines.length)], lines: [...held.lines, ...lines] };
  store(host, log, now.texts);
  memory.logs.set(log, now);
  for (const { link } of lines) sim.truth.durable.add(`${host.name} ${link}`);
  believe(sim, host);
  return { lines: lines.length, ...told };
}

function linkOf(text: string | undefined): string | undefined {
  const parsed = text === undefined ? undefined : parseLine(text, meshId);
  return parsed?.ok === true ? parsed.value.link : undefined;
}

function related({ lines }: HeldLog, texts: readonly string[]): boolean {
  return texts.length === 0 || lines[texts.length - 1]?.link === linkOf(texts.at(-1));
}

function notExtension(
  sim: Sim,
  host: SimHost,
  { log, held, texts }: { readonly log: string; readonly held: HeldLog; readonly texts: readonly string[] },
): LogFetched {
  const { memory } = host;
  if (memory === undefined) return { lines: 0 };
  const at = texts.findIndex((text, index) => linkOf(text) !== held.lines[index]?.link);
  const seq = at + 1;
  const from = { seq: at, link: held.lines[at - 1]?.link ?? meshId };
  const other = judgeLines(sim, memory, { log, from, texts: texts.slice(at) });
  const [ours, theirs] = [held.lines[at], other.lines[0]];
  // Ours stays; what the host signed besides is evidence, and some of it may be said nowhere else.
  if (theirs !== undefined)
    keepBranch(
      host,
      other.lines.map(({ text }) => text),
    );
  const fork = ours === undefined || theirs === undefined ? {} : { fork: [ours, theirs] as const };
  const fault: AdmissionFault = {
    code: 'NOT_EXTENSION',
    seq,
    forked: theirs !== undefined,
    detail: `line ${seq}`,
    ...fork,
  };
  return { lines: 0, fault };
}

/** Whether what a peer holds of our own log has a line that our key signed and that is not here. */
export function judgeOwn(sim: Sim, host: SimHost, texts: readonly string[]): OwnVerdict {
  const { memory, name } = host;
  if (memory === undefined) return { kind: 'settled' };
  const { lines } = judgeLines(sim, memory, { log: name, from: { seq: 0, link: meshId }, texts });
  const held = memory.logs.get(name)?.lines ?? [];
  const other = lines.find(({ seq, link }) => seq <= held.length && held[seq - 1]?.link !== link);
  if (other !== undefined) {
    keepBranch(
      host,
      lines.slice(other.seq - 1).map(({ text }) => text),
    );
    const ours = held[other.seq - 1];
    const fork = ours === undefined ? {} : { fork: [ours, other] as const };
    return { kind: 'proven', line: { seq: other.seq, link: other.link }, ahead: false, ...fork };
  }
  const last = lines.at(-1);
  if (last !== undefined && last.seq > held.length)
    return { kind: 'proven', line: { seq: last.seq, link: last.link }, ahead: true };
  // Not signed by a key that counts there: what a signer cut off, and this peer has not heard of it.
  const self = memory.trust.charter.hosts.get(name);
  const behind = parsed(texts.slice(lines.length));
  const cutOff = self === undefined ? [] : signedByAny(behind, self, { mesh: meshId, verify: verifyCheaply });
  if (cutOff.length > 0) {
    keepBranch(
      host,
      cutOff.map(({ text }) => text),
    );
    return { kind: 'settled', vain: true };
  }
  return { kind: 'wrong', detail: `${lines.length} lines, all held here` };
}

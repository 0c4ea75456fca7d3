/** Taking in view journals that a peer sent. */
import type { ViewTip } from '../../src/core/sync/peer.ts';
import type { ViewsFetched } from '../../src/core/sync/vocabulary.ts';
import { nextViewLine, wordOf, type ViewOwner } from '../../src/core/view-chain.ts';
import { keysBehind, type ViewLine } from '../../src/core/view-line.ts';
import { checkTakenViews } from './check-views.ts';
import type { Lost } from './net.ts';
import { sayLater } from './say.ts';
import type { Memory, Sim, SimHost } from './types.ts';
import { isOutdated, keepViews, ownerOf, readViewLine, viewTipOf, type ServedViews } from './views.ts';

/** What came, judged as `mesh` does it: on top of ours, or instead of it where a later key of the host says so. */
export function takeViews(
  sim: Sim,
  host: SimHost,
  offered: ReadonlyMap<string, ViewTip>,
  answer: ServedViews | Lost,
): ViewsFetched {
  const { memory } = host;
  const faults = new Map<string, { code: 'VIEW_CUT' | 'VIEW_FORKED'; detail: string }>();
  if (memory === undefined || typeof answer === 'string')
    return { faults, failure: { code: typeof answer === 'string' ? answer : 'CLOSED', detail: 'lost' } };
  let vain = true;
  for (const [of, offer] of offered) {
    if (!memory.trust.charter.hosts.has(of)) continue;
    const ours = memory.views.get(of) ?? [];
    const tip = viewTipOf(ours);
    if (tip !== undefined && (tip.hash === offer.hash || (tip.n > offer.n && !isOutdated(memory, of)))) continue;
    const judged = judge(host, memory, { of, ours, texts: answer.get(of) ?? [] });
    if (judged.taken !== undefined) {
      checkTakenViews(sim, host, of, judged.taken);
      keepViews(host, memory, { of, lines: judged.taken });
      if (of === host.name) sayLater(sim, host);
      vain = false;
    }
    if (judged.fault !== undefined && !(judged.fault === 'VIEW_FORKED' && ours.length > offer.n))
      faults.set(of, { code: judged.fault, detail: 'simulated' });
  }
  return { faults, vain };
}

interface Judged {
  readonly taken?: readonly ViewLine[];
  readonly fault?: 'VIEW_CUT' | 'VIEW_FORKED';
}

function judge(
  { name }: SimHost,
  memory: Memory,
  { of, ours, texts }: { readonly of: string; readonly ours: readonly ViewLine[]; readonly texts: readonly string[] },
): Judged {
  const owner = ownerOf(memory, of);
  const last = ours.at(-1);
  const descends = ours.every(({ text }, index) => texts[index] === text);
  if (descends || last === undefined) return chain(ours, texts.slice(ours.length), owner);
  const other = texts.at(-1);
  const theirs = other === undefined ? undefined : readViewLine(other);
  if (theirs === undefined) return { fault: 'VIEW_FORKED' };
  const word = wordOf({ theirs, ours: last }, owner);
  if (word === 'ours') return {};
  if (word === 'unsaid' && of !== name) return { fault: 'VIEW_FORKED' };
  const whole = chain([], texts, owner);
  // Of our own, what others have built on stays; what we said instead is said again.
  return word === 'theirs' || (whole.taken?.length ?? 0) >= ours.length ? whole : {};
}

function chain(from: readonly ViewLine[], texts: readonly string[], owner: ViewOwner): Judged {
  const lines = [...from];
  let behind = keysBehind(from.at(-1) ?? null, owner.keys, owner.verify);
  for (const text of texts) {
    const next = nextViewLine(text, lines.at(-1) ?? null, { owner, behind });
    if (!next.ok) return lines.length > from.length ? { taken: lines, fault: next.code } : { fault: next.code };
    lines.push(next.value.line);
    behind += next.value.key;
  }
  return lines.length > from.length ? { taken: lines } : {};
}

/**
 * View journals: asked for with the next logs, or after ten minutes, or because somebody needs them, or because what one of
 * them says next is awaited. They are records of
 * what hosts believed, so they come last, and a bad one is an alarm about its host, never a reason to refuse a peer.
 */
import { refusalForgetMs, viewFetchMs } from '../limits.ts';
import { isDown } from './outcome.ts';
import { chargeVain, isDoubted } from './patience.ts';
import type { Heads, MeshAlarm, ViewTip } from './peer.ts';
import {
  changeCycle,
  changePeer,
  emit,
  markAsked,
  noteAlarms,
  noteFault,
  peerOf,
  remainingOf,
  type Turn,
} from './turn.ts';
import type { ViewsFetched } from './vocabulary.ts';

/** @returns true when there is nothing to fetch. */
export function lookAtViews(turn: Turn, peer: string): boolean {
  const { cycle, memory } = peerOf(turn, peer);
  if (cycle?.heads === undefined || cycle.viewsDone || turn.world.views === undefined) return true;
  changeCycle(turn, peer, { viewsDone: true });
  const { lines, trustAdded } = cycle.draft;
  const news = Object.keys(lines).length > 0 || trustAdded.length > 0;
  const all = cycle.views || news || turn.at >= memory.views.at + viewFetchMs;
  if (all) changePeer(turn, peer, { memory: { ...memory, views: { ...memory.views, at: turn.at } } });
  const offered = wantedViews(turn, peer, { heads: cycle.heads, all });
  if (offered.size === 0) return true;
  const deadlineMs = remainingOf(turn, cycle);
  markAsked(turn, peer);
  emit(turn, { kind: 'fetch-views', peer, cycle: cycle.number, offered, doubted: isDoubted(turn, peer), deadlineMs });
  return false;
}

/** What is worth fetching of what a peer offers; if not `all`, only what is awaited. A journal of a host that is reached itself is left to that host. */
function wantedViews(
  turn: Turn,
  peer: string,
  { heads, all }: { readonly heads: Heads; readonly all: boolean },
): ReadonlyMap<string, ViewTip> {
  const { world } = turn;
  const wanted = new Map<string, ViewTip>();
  for (const [host, offered] of Object.entries(heads.views ?? {})) {
    if (!world.isEnrolled(host) || !isNews(turn, peer, { host, offered })) continue;
    const refused = peerOf(turn, peer).memory.views.refused.get(host);
    // Told in every cycle while it lasts, also in one that asks for no journal.
    if (refused?.offer === offerName(offered) && refused.until > turn.at) {
      noteAlarms(turn, peer, [refused.alarm]);
      continue;
    }
    if (!all && world.views?.isAwaited(host) !== true) continue;
    if (host === peer || host === world.host || peerOf(turn, host).state !== 'up') wanted.set(host, offered);
  }
  return wanted;
}

/**
 * More lines than are here, or, of the host itself, other notes beside the same lines. What a rekeyed host says with its
 * new key takes the place of another journal of it however short it is, so until that is here any other one is asked for.
 */
function isNews({ world }: Turn, peer: string, { host, offered }: { host: string; offered: ViewTip }): boolean {
  if (world.views?.isDamaged(host) === true) return true;
  const ours = world.views?.tip(host);
  if (ours === undefined || offered.n > ours.n) return true;
  if (offered.oid === ours.oid) return false;
  if (offered.hash !== ours.hash && world.views?.isOutdated(host) === true) return true;
  if (offered.n < ours.n) return false;
  return host === peer || (host === world.host && offered.hash !== ours.hash);
}

export function takeViews(turn: Turn, peer: string, { faults, failure, vain = false }: ViewsFetched): void {
  const { cycle, memory } = peerOf(turn, peer);
  const refused = new Map(memory.views.refused);
  for (const host of cycle?.heads?.views === undefined ? [] : Object.keys(cycle.heads.views)) {
    const fault = faults.get(host);
    const offered = cycle?.heads?.views?.[host];
    refused.delete(host);
    if (fault === undefined || offered === undefined) continue;
    const detail = `view journal of ${host}: ${fault.detail}`;
    const alarm: MeshAlarm = { code: fault.code, peer, log: host, detail };
    refused.set(host, { offer: offerName(offered), alarm, until: turn.at + refusalForgetMs });
    noteAlarms(turn, peer, [alarm]);
  }
  changePeer(turn, peer, { memory: { ...memory, views: { ...memory.views, refused } } });
  if (faults.size > 0 || failure !== undefined || vain)
    chargeVain(turn, peer, { waited: failure !== undefined && isDown(failure.code) });
  if (failure !== undefined) noteFault(turn, peer, { code: failure.code, detail: `views: ${failure.detail}` });
}

function offerName({ oid, n, hash }: ViewTip): string {
  return `${oid} ${n} ${hash}`;
}

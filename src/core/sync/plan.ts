/** What an offer of a peer amounts to, held against what is here. */
import type { HeadsTip } from './peer.ts';
import type { World } from './vocabulary.ts';

/**
 * `fetch`: ask for it. `behind`: the peer holds less of the same log. `none`: nothing to do. Pure.
 */
export function planLog(world: World, log: string, offered: HeadsTip): 'none' | 'behind' | 'fetch' {
  const ours = world.tip(log);
  // A copy of ours that is damaged is taken anew from whoever holds at least what is known to have been in it.
  if (world.isDamaged(log)) return offered.seq >= world.heldUpto(log) ? 'fetch' : 'none';
  if (ours?.link === offered.link) return 'none';
  if (ours === undefined || offered.seq >= ours.seq) return 'fetch';
  const link = world.linkAt(log, offered.seq);
  return link === undefined || link === offered.link ? 'behind' : 'fetch';
}

/** What a peer says of our own log. `none`: no more than we hold, and no other line. Pure. */
export function claimOf(world: World, offered: HeadsTip | undefined): 'none' | 'ahead' | 'other' {
  if (offered === undefined) return 'none';
  const ours = world.tip(world.host);
  // A damaged copy says less than there is. That is told as damage, and whoever holds at least what was in it may have the rest.
  if (world.isDamaged(world.host)) return offered.seq >= Math.max(1, world.heldUpto(world.host)) ? 'ahead' : 'none';
  if (offered.seq > (ours?.seq ?? 0)) return 'ahead';
  const link = ours?.seq === offered.seq ? ours.link : world.linkAt(world.host, offered.seq);
  return link === undefined || link === offered.link ? 'none' : 'other';
}

/** Tells one offer from another. Pure. */
export function offerName({ oid, seq, link }: HeadsTip): string {
  return `${oid} ${seq} ${link}`;
}

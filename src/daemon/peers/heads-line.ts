import { parsePeerAddress } from '../../mesh/ssh/address.ts';
import { peersOf } from '../../mesh/node.ts';
import { printHeads, type HeadsTip } from '../../mesh/heads.ts';
import type { Engine } from '../engine.ts';
import { isLoopback } from '../enrol/listen-address.ts';
import { version } from '../version.ts';

/**
 * The answer to `memd heads`: every log that this host serves, the trust set, where hosts are reached, and the view
 * journals. Without `views`: what those who watch are told of.
 */
export function headsLine(engine: Engine, { views = true }: { readonly views?: boolean } = {}): string {
  const { book } = engine.beliefs;
  const heads: Record<string, HeadsTip> = {};
  for (const log of book.logs()) {
    const tip = book.tip(log);
    if (tip !== undefined) heads[log] = tip;
  }
  const { oid, hash, kept } = engine.trust();
  return printHeads({
    mesh: engine.meshId,
    host: engine.identity.host,
    heads,
    trust: { oid, hash, kept },
    addresses: addressesOf(engine),
    ...(views ? { views: Object.fromEntries(engine.journal.tips) } : {}),
    version,
  });
}

/**
 * Where hosts are, as this one knows at first hand: a hint for dialling, never trust. What others told is not told on, so
 * that a lie goes no further than to those who were lied to. Of itself, a probed port takes the place of the one it stands for.
 */
function addressesOf(engine: Engine): Readonly<Record<string, string>> {
  const known: Record<string, string> = {};
  for (const host of peersOf(engine.charter(), engine.identity.host)) {
    const address = engine.peerBook.hints(host).find(meansTheSameElsewhere);
    if (address !== undefined) known[host] = address;
  }
  const { host, address } = engine.identity;
  const ports = engine.ports();
  if (address === '') return known;
  const moved = ports !== null && address.endsWith(`:${ports.asked}`);
  return { ...known, [host]: moved ? address.replace(/:\d+$/, `:${ports.found}`) : address };
}

/** A tunnel of this machine leads nowhere on another, and neither does its account behind a plain sshd. */
function meansTheSameElsewhere(url: string): boolean {
  const address = parsePeerAddress(url);
  return address.ok && address.value.sshd === undefined && !isLoopback(address.value.host);
}

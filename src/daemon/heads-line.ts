import { printHeads, type HeadsTip } from '../mesh/heads.ts';
import type { Engine } from './engine.ts';
import { version } from './version.ts';

/** The answer to `memd heads`: every log that this host serves, the trust set, and where hosts are reached. */
export function headsLine(engine: Engine): string {
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
    version,
  });
}

/** What this host tells of itself: a hint for dialling, never trust. A probed port takes the place of the one it stands for. */
function addressesOf(engine: Engine): Readonly<Record<string, string>> {
  const { host, address } = engine.identity;
  const ports = engine.ports();
  if (address === '') return {};
  const moved = ports !== null && address.endsWith(`:${ports.asked}`);
  return { [host]: moved ? address.replace(/:\d+$/, `:${ports.found}`) : address };
}

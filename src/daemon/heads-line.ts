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
  const { oid, hash } = engine.trust();
  return printHeads({
    mesh: engine.meshId,
    host: engine.identity.host,
    heads,
    trust: { oid, hash },
    addresses: addressesOf(engine),
    version,
  });
}

/** What this host was told or tells of itself. A hint for dialling, never trust. */
function addressesOf(engine: Engine): Readonly<Record<string, string>> {
  const own = engine.identity.address;
  return own === '' ? {} : { [engine.identity.host]: own };
}

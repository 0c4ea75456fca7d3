/**
 * What a home shows to peers while no memd runs: read from the repository and written nowhere, without the home lock, so that
 * commands go on beside it. Objects never change and branches are read one by one, as a peer that fetches would.
 */
import { parseLine } from '../../core/line.ts';
import type { CharterHost } from '../../core/trust/charter.ts';
import type { ViewTip } from '../../core/sync/peer.ts';
import { viewLineHash } from '../../core/view-line.ts';
import { printHeads, type HeadsTip } from '../../mesh/heads.ts';
import { openReader } from '../../store/git/reader.ts';
import { listLogs, listViews, readRef, trustRef } from '../../store/git/refs.ts';
import { openRepository, type Repository } from '../../store/git/repository.ts';
import { openHome, type Home } from '../../store/home/home.ts';
import { readKeys } from '../../store/home/keys.ts';
import { readLastHeads } from '../../store/notes/last-heads.ts';
import { readLogLayout, readSegment } from '../../store/logs/log-tree.ts';
import { readLastSshKey } from '../../store/home/next-keys.ts';
import { readNewestViewLine } from '../../store/logs/view-journal.ts';
import { formerHost } from './former-keys.ts';
import { readIdentity } from '../identity.ts';
import { Refusal } from '../refusal.ts';
import { readTrustState, type TrustState } from '../trust/trust-keeper.ts';
import { version } from '../version.ts';

export interface ServedHome {
  readonly home: Home;
  /** Slug of this host. */
  readonly host: string;
  /** OpenSSH private key text that it shows to who comes. */
  readonly hostKey: () => string;
  readonly charterHosts: () => ReadonlyMap<string, CharterHost>;
  readonly formerHost: (blob: Uint8Array) => CharterHost | undefined;
  /** The answer of `memd heads`, without newline. */
  readonly heads: () => string;
  /** What of it is announced to those who watch. */
  readonly news: () => string;
  /** Reads again what has moved. @returns whether anything has. */
  look(): Promise<boolean>;
}

interface Seen {
  readonly mark: string;
  readonly trust: TrustState;
  readonly heads: Readonly<Record<string, HeadsTip>>;
  readonly views: Readonly<Record<string, ViewTip>>;
}

/** Reads it for the first time. Refuses NO_MESH, NOT_ENROLLED; fails as the store does. */
export async function openServedHome(dir: string): Promise<ServedHome> {
  const home = openHome(dir);
  const { host, mesh, address } = readIdentity(home);
  if (mesh === null) {
    throw new Refusal({
      code: 'NOT_ENROLLED',
      message: `host ${host} has keys but no mesh yet`,
      hint: 'after memctl host add on an enrolled host: memctl join ssh://HOST:PORT --mesh ID',
    });
  }
  const repository = openRepository(home.repository);
  let seen = await see({ home, repository, mesh }, undefined);
  const addresses = address === '' ? {} : { [host]: address };
  const line = (views: Partial<Pick<Seen, 'views'>>): string => {
    const { oid, hash, kept } = seen.trust;
    return printHeads({ mesh, host, heads: seen.heads, trust: { oid, hash, kept }, addresses, ...views, version });
  };
  return {
    home,
    host,
    // As memd does: until somebody knows of new keys, the old one is what peers expect.
    hostKey: () => (readLastSshKey(home) ?? readKeys(home).ssh).pem,
    charterHosts: () => seen.trust.charter.hosts,
    formerHost: (blob) => formerHost(seen.trust, blob),
    heads: () => line({ views: seen.views }),
    news: () => line({}),
    async look() {
      if (markOf(repository) === seen.mark) return false;
      seen = await see({ home, repository, mesh }, seen);
      return true;
    },
  };
}

interface Place {
  readonly home: Home;
  readonly repository: Repository;
  readonly mesh: string;
}

/** Which branches there are, and where they stand. */
function markOf(repository: Repository): string {
  return JSON.stringify([readRef(repository, trustRef), ...listLogs(repository), ...listViews(repository)]);
}

async function see({ home, repository, mesh }: Place, before: Seen | undefined): Promise<Seen> {
  const mark = markOf(repository);
  const isSame = before !== undefined && readRef(repository, trustRef) === before.trust.oid;
  const trust = isSame ? before.trust : await readTrustState(repository, mesh);
  const noted = readLastHeads(home).heads.logs;
  const heads: Record<string, HeadsTip> = {};
  for (const [log, oid] of listLogs(repository)) {
    const known = [before?.heads[log], noted[log]].find((tip) => tip?.oid === oid);
    const tip = known ?? (await readTip(repository, oid, mesh));
    if (tip !== undefined) heads[log] = { oid, seq: tip.seq, link: tip.link };
  }
  const views: Record<string, ViewTip> = {};
  for (const [host, oid] of listViews(repository)) {
    const known = before?.views[host];
    const line = known?.oid === oid ? undefined : await readNewestViewLine(repository, host);
    if (known?.oid === oid) views[host] = known;
    else if (line !== undefined) views[host] = { oid, n: line.n, hash: viewLineHash(line) };
  }
  return { mark, trust, heads, views };
}

/** The last line of a log; undefined when it cannot be read: then this host does not offer it. */
async function readTip(
  repository: Repository,
  oid: string,
  mesh: string,
): Promise<{ readonly seq: number; readonly link: string } | undefined> {
  const reader = openReader(repository);
  try {
    const layout = await readLogLayout(reader, oid);
    const part = layout.ok ? await readSegment(reader, layout.value, layout.value.segments.length - 1) : layout;
    const text = part.ok ? part.value.lines.at(-1) : undefined;
    const line = text === undefined ? undefined : parseLine(text, mesh);
    return line?.ok === true ? { seq: line.value.seq, link: line.value.link } : undefined;
  } finally {
    await reader.close();
  }
}

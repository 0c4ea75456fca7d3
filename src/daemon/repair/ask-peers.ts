/** What peers hold, for a repair. Nothing of it is trusted: ops prove themselves, lines are verified, objects are their hash. */
import { fetchCommitsMax, fetchDeadlineMs, headsBytesMax, headsDeadlineMs } from '../../core/limits.ts';
import type { Heads } from '../../core/sync/peer.ts';
import type { Charter } from '../../core/trust/charter.ts';
import type { TrustOp } from '../../core/trust/op.ts';
import { parsePeerAddress } from '../../mesh/ssh/address.ts';
import { packBounds } from '../../mesh/fetch/fetch-bounds.ts';
import { fetchPack } from '../../mesh/fetch/fetch-pack.ts';
import { parseHeads } from '../../mesh/heads.ts';
import { listCommits } from '../../mesh/judge/commit-chain.ts';
import { joinMesh } from '../../mesh/enrol/join.ts';
import { peersOf } from '../../mesh/node.ts';
import { peerConnection, type PeerConnection } from '../../mesh/ssh/ssh-client.ts';
import type { SshdAccess } from '../../mesh/ssh/system-ssh.ts';
import { takeOver } from '../../mesh/fetch/take-over.ts';
import { readKeys } from '../../store/home/keys.ts';
import { readPeerMemory } from '../../store/notes/peer-memory.ts';
import type { Identity } from '../identity.ts';
import { sshdAccess } from '../peers/sshd-access.ts';
import type { LinePool } from './line-pool.ts';
import type { RepairRoom, RepositoryRoom } from './room.ts';

/** Peers of which nothing but an address is known, when there is no charter to ask. */
function knownAddresses(room: RepairRoom): readonly string[] {
  const remembered = [...readPeerMemory(room.home).values()].flatMap(({ address }) => address ?? []);
  return [...new Set([...(room.config?.peers.values() ?? []), ...remembered])];
}

function sshdOf({ home, config }: RepairRoom): SshdAccess {
  return sshdAccess(home, config?.file);
}

/** The trust ops that the first peer to answer holds: as at a join, it must then be one of the mesh itself. None: []. */
export async function askForTrust(
  room: RepositoryRoom,
  { host, mesh, address }: Identity & { readonly mesh: string },
  charter: Charter | undefined,
): Promise<readonly TrustOp[]> {
  if (room.offline) return [];
  const enrolled = charter === undefined ? [] : peersOf(charter, host).map((name) => charter.hosts.get(name)?.address);
  const urls = new Set([...knownAddresses(room), ...enrolled].filter((url) => url !== undefined && url !== ''));
  const { sign, ssh } = readKeys(room.home);
  for (const url of urls) {
    if (url === undefined) continue;
    room.progress(`asking ${url} for the trust set`);
    const own = { host, sign: sign.publicKey.text, ssh: ssh.publicKey.text, address };
    const { repository } = room;
    const joined = await joinMesh({ url, mesh, own, sshKey: ssh.pem, sshd: sshdOf(room), repository });
    if (joined.ok) return joined.value.ops;
  }
  return [];
}

/** Peers that are asked for lines. */
export interface AskedPeers {
  /** Adds the log as every peer that answers has it. Its objects are here afterwards, unless something is purged. */
  readonly addLines: (log: string, pool: LinePool) => Promise<void>;
  /** There are peers, and each has been asked and has answered. */
  readonly areAllHeard: () => boolean;
  readonly close: () => void;
}

interface Peer {
  readonly name: string;
  readonly connection: PeerConnection;
  readonly heads: Heads;
}

/** Dials every peer of the charter when lines are first asked for. */
export function openAskedPeers(room: RepositoryRoom, charter: Charter, self: string): AskedPeers {
  const names = peersOf(charter, self);
  let dialled: Promise<readonly (Peer | undefined)[]> | undefined;
  let open: readonly Peer[] = [];
  return {
    async addLines(log, pool) {
      dialled ??= Promise.all(room.offline ? [] : names.map((name) => dial(room, charter, name)));
      open = (await dialled).filter((peer) => peer !== undefined);
      for (const peer of open) await takeLines(room, charter, { peer, log, pool });
    },
    areAllHeard: () => names.length > 0 && open.length === names.length,
    close: () => open.forEach(({ connection }) => connection.close()),
  };
}

async function dial(room: RepairRoom, charter: Charter, name: string): Promise<Peer | undefined> {
  const key = charter.hosts.get(name)?.ssh.blob;
  const known = [room.config?.peers.get(name), readPeerMemory(room.home).get(name)?.address];
  const urls = [...new Set([...known, charter.hosts.get(name)?.address])];
  const sshKey = readKeys(room.home).ssh.pem;
  for (const url of urls) {
    const route = parsePeerAddress(url ?? '');
    if (!route.ok || key === undefined) continue;
    room.progress(`asking ${name}`);
    const acceptsServerKey = (blob: Uint8Array): boolean => Buffer.from(key).equals(blob);
    const connection = peerConnection({ route: route.value, sshKey, sshd: sshdOf(room), acceptsServerKey });
    const answer = await connection.run('memd heads', { bytesMax: headsBytesMax, deadlineMs: headsDeadlineMs });
    const heads = answer.ok ? parseHeads(answer.value.toString('utf8').replace(/\n$/, '')) : answer;
    if (heads.ok && heads.value.mesh === charter.meshId) return { name, connection, heads: heads.value };
    connection.close();
  }
  return undefined;
}

async function takeLines(
  { repository, progress }: RepositoryRoom,
  charter: Charter,
  { peer, log, pool }: { readonly peer: Peer; readonly log: string; readonly pool: LinePool },
): Promise<void> {
  const offered = peer.heads.heads[log];
  if (offered === undefined) return;
  progress(`taking log ${log} from ${peer.name}`);
  const fetched = await fetchPack({
    connection: peer.connection,
    repository,
    wants: [offered.oid],
    haves: [],
    form: 'pack',
    alone: true,
    ...packBounds(offered.seq),
    deadlineMs: fetchDeadlineMs,
  });
  if (!fetched.ok) return;
  const { quarantine } = fetched.value;
  try {
    const [read] = await pool.addCommits(quarantine.view, [offered.oid]);
    // A peer that has not purged yet would bring bodies back: of what it sends only lines are taken then.
    if (read === undefined || read.lines === 0 || charter.purges.size > 0) return;
    const ends = { commit: offered.oid, base: null, commitsMax: fetchCommitsMax, deadlineMs: fetchDeadlineMs };
    const chain = await listCommits(quarantine.view, ends);
    if (chain.ok) await takeOver(repository, quarantine, { commits: chain.value.commits, base: undefined });
  } finally {
    quarantine.remove();
  }
}

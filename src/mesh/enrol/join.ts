/**
 * Joining a mesh: the mesh id is pinned by the person, everything else is proved. The server's key cannot be checked
 * before we hold the trust set, so it is taken provisionally; nothing is kept unless the set then names that very key.
 */
import { isId } from '../../core/id.ts';
import { charterOf, type Charter } from '../../core/trust/charter.ts';
import type { TrustOp } from '../../core/trust/op.ts';
import { addOps, emptyTrustSet, keptOps, type TrustSet } from '../../core/trust/set.ts';
import { headsBytesMax, headsDeadlineMs } from '../../core/limits.ts';
import { ok, refuse, type Result } from '../../crypto/result.ts';
import type { Repository } from '../../store/git/repository.ts';
import { parsePeerAddress } from '../ssh/address.ts';
import { printHostRequest, type HostRequest } from './enrol.ts';
import { fetchTrust } from '../fetch/fetch-trust.ts';
import { parseHeads } from '../heads.ts';
import type { PeerFaultCode } from '../node.ts';
import { peerConnection, type PeerConnection } from '../ssh/ssh-client.ts';
import type { SshdAccess } from '../ssh/system-ssh.ts';

export interface JoinOptions {
  /** `ssh://host:port` of an enrolled host. */
  readonly url: string;
  /** `<mesh id>` or `<mesh id>:<trust op id>`: the op must be in the set that the server hands out. */
  readonly mesh: string;
  readonly own: HostRequest;
  /** OpenSSH private key text of this host. */
  readonly sshKey: string;
  /** How to get past a plain sshd, if the address names one. */
  readonly sshd?: SshdAccess;
  /** Ours; only a quarantine of it is used. */
  readonly repository: Repository;
  /** For the whole exchange; default 60 s. */
  readonly deadlineMs?: number;
}

/** What the mesh is. The caller writes `ops` to branch `trust`, and fetches the logs in an ordinary cycle. */
export interface Joined {
  readonly meshId: string;
  /** Name of the host that answered; its key is the one the charter names. */
  readonly via: string;
  readonly charter: Charter;
  /** Every op that verified or that this version cannot apply, ancestors first. */
  readonly ops: readonly TrustOp[];
  /** Ops that this version cannot apply, for a loud warning. */
  readonly unsupported: readonly { readonly id: string; readonly op: string }[];
}

/**
 * NOT_A_MESH_ID, NOT_AN_ADDRESS: what was typed. NOT_ADDED: no enrolled host has added this one (or not with this ssh
 * key). KEYS_DIFFER: the name was added with other keys. OP_MISSING: the set lacks the genesis or the named op.
 * SERVER_NOT_ENROLLED: what answered is no host of the mesh.
 */
export type JoinFaultCode =
  | PeerFaultCode
  | 'NOT_A_MESH_ID'
  | 'NOT_AN_ADDRESS'
  | 'NOT_ADDED'
  | 'KEYS_DIFFER'
  | 'OP_MISSING'
  | 'SERVER_NOT_ENROLLED';

const joinDeadlineMs = 60_000;

/** Takes and checks the trust set. Leaves nothing behind on failure. Throws OperatingError for failures of this machine. */
export async function joinMesh(options: JoinOptions): Promise<Result<Joined, JoinFaultCode>> {
  const [meshId, opId, ...more] = options.mesh.split(':');
  if (!isId(meshId) || more.length > 0 || (opId !== undefined && !isId(opId))) {
    return refuse('NOT_A_MESH_ID', 'the mesh is 64 hex digits, perhaps followed by : and a trust op of 64');
  }
  const address = parsePeerAddress(options.url);
  if (!address.ok) return address;
  const { sshKey, sshd } = options;
  const connection = peerConnection({ route: address.value, sshKey, sshd, acceptsServerKey: () => true });
  try {
    const taken = await takeTrust(connection, meshId, options);
    return taken.ok ? checkTrust(options, { ...taken.value, meshId, opId, serverKey: connection.serverKey() }) : taken;
  } finally {
    connection.close();
  }
}

interface Taken {
  readonly via: string;
  readonly set: TrustSet;
  readonly unsupported: readonly { readonly id: string; readonly op: string }[];
}

async function takeTrust(
  connection: PeerConnection,
  meshId: string,
  options: JoinOptions,
): Promise<Result<Taken, JoinFaultCode>> {
  const answer = await connection.run('memd heads', { bytesMax: headsBytesMax, deadlineMs: headsDeadlineMs });
  // A plain sshd that does not take the key says so itself; whether the mesh has it is not known then.
  const unknown = !answer.ok && answer.code === 'REFUSED_KEY' && !answer.detail.startsWith('the sshd at ');
  if (!answer.ok) return unknown ? notAdded(options.own) : answer;
  const heads = parseHeads(answer.value.toString('utf8').replace(/\n$/, ''));
  if (!heads.ok) return refuse('PROTOCOL', `its heads cannot be read: ${heads.detail}`);
  if (heads.value.mesh !== meshId) return refuse('FOREIGN_MESH', `that host belongs to mesh ${heads.value.mesh}`);
  const { repository, deadlineMs = joinDeadlineMs } = options;
  const fetched = await fetchTrust({
    connection,
    repository,
    commit: heads.value.trust.oid,
    holds: () => false,
    deadlineMs,
  });
  if (!fetched.ok) return fetched;
  const { set, unsupported } = addOps(emptyTrustSet(meshId), fetched.value.ops, heads.value.host);
  return ok({ via: heads.value.host, set, unsupported });
}

function checkTrust(
  options: JoinOptions,
  taken: Taken & {
    readonly meshId: string;
    readonly opId: string | undefined;
    readonly serverKey: Uint8Array | undefined;
  },
): Result<Joined, JoinFaultCode> {
  const { set, via, meshId, opId, serverKey, unsupported } = taken;
  if (!set.held.has(meshId))
    return refuse('OP_MISSING', 'its trust set does not hold the genesis that the mesh id names');
  if (opId !== undefined && !set.held.has(opId))
    return refuse(
      'OP_MISSING',
      `its trust set does not hold op ${opId.slice(0, 12)}: it may be behind, ask another host`,
    );
  const charter = charterOf(set);
  const server = charter.hosts.get(via);
  if (server === undefined || serverKey === undefined || !Buffer.from(server.ssh.blob).equals(serverKey)) {
    return refuse('SERVER_NOT_ENROLLED', 'what answers there does not hold the ssh key of a host of this mesh');
  }
  const { own } = options;
  const entry = charter.hosts.get(own.host);
  if (entry === undefined) return notAdded(own);
  if (entry.sign.text !== own.sign || entry.ssh.text !== own.ssh) {
    return refuse(
      'KEYS_DIFFER',
      `the mesh has a host ${own.host} with other keys than this one; names are single-use, request another one`,
    );
  }
  return ok({ meshId, via, charter, ops: keptOps(set), unsupported });
}

function notAdded(own: HostRequest): Result<never, 'NOT_ADDED'> {
  return refuse(
    'NOT_ADDED',
    `this host is not added yet: on an enrolled host run memctl host add '${printHostRequest(own)}'`,
  );
}

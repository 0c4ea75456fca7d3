/**
 * The mesh as the daemon sees it: signatures while the parts are being built. Every function below will live in the file
 * named beside it; this file goes away then.
 */
import type { Result } from '../crypto/result.ts';
import type { CharterHost } from '../core/trust/charter.ts';
import type { TrustOp } from '../core/trust/op.ts';
import type { Repository } from '../store/git/repository.ts';
import type { MeshNode, PeerFault, PeerOutcome } from './node.ts';

// ssh-server.ts
export interface SshServerOptions {
  /** OpenSSH private key text: keys/ssh_ed25519. */
  readonly hostKey: string;
  /** Bare repository served as '/log'. */
  readonly repositoryDir: string;
  /** `port` 0: any free one. A taken port is probed upward `probe` times (default 20). */
  readonly listen: { readonly address: string; readonly port: number; readonly probe?: number };
  /** Read for every login and again for every command. */
  readonly charterHosts: () => ReadonlyMap<string, CharterHost>;
  /** The `memd heads` answer: printHeads(...). */
  readonly heads: () => string;
  /** Refused logins and broken connections, bounded and printable. */
  readonly onNote?: (note: { readonly code: string; readonly address: string; readonly detail: string }) => void;
}
export interface SshServer {
  readonly address: string;
  readonly port: number;
  /** Stops listening, kills children, ends connections; resolves within `graceMs` whatever the peers do. */
  close(): Promise<void>;
}
export declare function startSshServer(options: SshServerOptions): Promise<SshServer>;

// address.ts: 'ssh://host:port' (default port 7422, IPv6 in brackets)
export interface PeerAddress {
  readonly host: string;
  readonly port: number;
}
export declare function parsePeerAddress(url: string): Result<PeerAddress, 'NOT_AN_ADDRESS'>;
export declare function printPeerAddress(address: PeerAddress): string;

// peers.ts: keeps one connection per peer; nothing is dialled before the first cycle
export interface Peers {
  /** One cycle with every other host of the charter (or those named), side by side, each with its deadline. Never rejects. */
  cycle(options?: { readonly only?: readonly string[]; readonly deadlineMs?: number }): Promise<readonly PeerOutcome[]>;
  /** Ends all connections and running cycles. */
  close(): void;
}
export declare function createPeers(options: {
  readonly node: MeshNode;
  /** Where to dial a host: config, what heads told, the charter's address; undefined or '' = cannot be dialled. */
  readonly addressOf: (host: string) => string | undefined;
}): Peers;

// enrol.ts
export interface HostRequest {
  readonly host: string;
  /** OpenSSH public key texts without comment. */
  readonly sign: string;
  readonly ssh: string;
  /** 'ssh://host:port' or ''. */
  readonly address: string;
}
export declare function printHostRequest(request: HostRequest): string;
export declare function parseHostRequest(line: string): Result<HostRequest, 'NOT_A_REQUEST'>;

// join.ts
export interface JoinOptions {
  readonly url: string;
  /** `<mesh id>` or `<mesh id>:<trust op id>`. */
  readonly mesh: string;
  readonly own: HostRequest;
  readonly sshKey: string;
  readonly repository: Repository;
  readonly deadlineMs?: number;
}
export interface Joined {
  readonly meshId: string;
  /** The host that answered. */
  readonly via: string;
  /** Every op that verified, ancestors first; the caller writes them to branch `trust` and starts a MeshNode. */
  readonly ops: readonly TrustOp[];
}
export type JoinFaultCode =
  | PeerFault['code']
  | 'NOT_A_MESH_ID'
  | 'NOT_ADDED'
  | 'KEYS_DIFFER'
  | 'OP_MISSING'
  | 'SERVER_NOT_ENROLLED';
export declare function joinMesh(options: JoinOptions): Promise<Result<Joined, JoinFaultCode>>;

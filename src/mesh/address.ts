/** Where a peer listens: `ssh://host:port`. A hint for dialling, never trust; who answers is proved by its key. */
import { ok, refuse, type Result } from '../crypto/result.ts';

/** Port when an address names none. */
export const defaultPeerPort = 7_422;

export interface PeerAddress {
  /** DNS name, IPv4 address, or IPv6 address without brackets. */
  readonly host: string;
  readonly port: number;
}

/**
 * Reads `ssh://[memd@]host[:port]`, IPv6 in brackets; port 7422 when absent. A name that could be taken for an option, a
 * path or another user is refused. Pure.
 */
export function parsePeerAddress(url: string): Result<PeerAddress, 'NOT_AN_ADDRESS'> {
  const bad = (why: string): Result<PeerAddress, 'NOT_AN_ADDRESS'> => refuse('NOT_AN_ADDRESS', why);
  const match =
    /^ssh:\/\/(?:([^@/]{1,64})@)?(?:\[([0-9A-Fa-f:.]{2,45})\]|([^:@/[\]]{1,253}))(?::(\d{1,5}))?(\/.*)?$/.exec(url);
  if (match === null) return bad('not of the form ssh://host:port');
  const [, user = 'memd', v6, name, port = String(defaultPeerPort), path] = match;
  // 04-mesh also plans peers behind a plain sshd (ssh://user@host/path); they are refused by name until then.
  if (user !== 'memd' || path !== undefined)
    return bad('peers behind a plain sshd (another user, or a path) are not supported yet');
  if (v6 === undefined && !/^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(name ?? ''))
    return bad('the host name holds other characters');
  if (Number(port) < 1 || Number(port) > 65_535) return bad('the port is not from 1 to 65535');
  return ok({ host: (v6 ?? name ?? '').toLowerCase(), port: Number(port) });
}

/** `ssh://host:port`, the form that charter and heads carry. Pure. */
export function printPeerAddress(address: PeerAddress): string {
  const host = address.host.includes(':') ? `[${address.host}]` : address.host;
  return `ssh://${host}:${address.port}`;
}

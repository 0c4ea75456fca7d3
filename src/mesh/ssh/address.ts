/** Where a peer is reached: `ssh://host:port`. A hint for dialling, never trust; who answers is proved by its key. */
import { ok, refuse, type Result } from '../../crypto/result.ts';

/** Ports when an address names none: that of memd, and that of a plain sshd. */
export const defaultPeerPort = 7_422;
const defaultSshdPort = 22;

/** Bytes of a home folder in an address; a path that is longer than most systems take. */
const pathCharsMax = 1_024;

export interface PeerAddress {
  /** DNS name, IPv4 address, or IPv6 address without brackets. */
  readonly host: string;
  readonly port: number;
  /** Not memd listens there but a plain sshd, which runs `memctl serve --stdio`. */
  readonly sshd?: SshdPlace;
}

export interface SshdPlace {
  /** Account there. */
  readonly user: string;
  /** Home folder of memd there, absolute; `/`: whichever that account has, or its forced command names. */
  readonly path: string;
}

type Parsed<T> = Result<T, 'NOT_AN_ADDRESS'>;

/**
 * Reads `ssh://[memd@]host[:port]` (memd itself, port 7422) or `ssh://user@host[:port]/home/folder` (behind a plain sshd, port
 * 22); IPv6 in brackets. What could be taken for an option, or means something to a shell, is refused. Pure.
 */
export function parsePeerAddress(url: string): Parsed<PeerAddress> {
  const match =
    /^ssh:\/\/(?:([^@/]{1,64})@)?(?:\[([0-9A-Fa-f:.]{2,45})\]|([^:@/[\]]{1,253}))(?::(\d{1,5}))?(\/.*)?$/.exec(url);
  if (match === null) return bad('not of the form ssh://host:port');
  const [, user, v6, name, digits, path] = match;
  const sshd = user === 'memd' && path === undefined ? ok(undefined) : readPlace(user, path);
  if (!sshd.ok) return sshd;
  if (v6 === undefined && !/^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(name ?? ''))
    return bad('the host name holds other characters');
  const port = Number(digits ?? (sshd.value === undefined ? defaultPeerPort : defaultSshdPort));
  if (port < 1 || port > 65_535) return bad('the port is not from 1 to 65535');
  const host = (v6 ?? name ?? '').toLowerCase();
  return ok(sshd.value === undefined ? { host, port } : { host, port, sshd: sshd.value });
}

/** The part of an address that only a plain sshd has; undefined for memd itself. */
function readPlace(user: string | undefined, path: string | undefined): Parsed<SshdPlace | undefined> {
  if (user === undefined && path === undefined) return ok(undefined);
  if (user === undefined)
    return bad(
      'memd itself is ssh://host:port without a path; behind a plain sshd name the account: ssh://user@host/home',
    );
  if (path === undefined)
    return bad(
      `behind a plain sshd name the home folder of memd there too: ssh://${user}@host/path, or / for its default`,
    );
  if (user === 'memd' && path === '/log')
    return bad('that is the address for git clone; hosts reach each other at ssh://host:port');
  if (!/^[A-Za-z0-9_][A-Za-z0-9._-]{0,31}$/.test(user)) return bad('the user name holds other characters');
  const names = '[A-Za-z0-9._+@,=-]+';
  const isPlain = new RegExp(`^/(?:${names}(?:/${names})*/?)?$`).test(path) && !/\/\.{1,2}(?:\/|$)/.test(path);
  if (path.length > pathCharsMax || !isPlain)
    return bad('the path is not a plain absolute one (letters, digits and ._+@,=- only)');
  return ok({ user, path: path.length > 1 ? path.replace(/\/$/, '') : path });
}

function bad(why: string): Result<never, 'NOT_AN_ADDRESS'> {
  return refuse('NOT_AN_ADDRESS', why);
}

/** Whether it is a good address that leads through a plain sshd. Pure. */
export function isBehindSshd(url: string): boolean {
  const address = parsePeerAddress(url);
  return address.ok && address.value.sshd !== undefined;
}

/** `ssh://host:port`, the form that charter and heads carry; with user and path behind a plain sshd. Pure. */
export function printPeerAddress({ host, port, sshd }: PeerAddress): string {
  const place = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return sshd === undefined ? `ssh://${place}` : `ssh://${sshd.user}@${place}${sshd.path}`;
}

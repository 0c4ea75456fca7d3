/** What the system's ssh said when it ended, as a fault of the peer that it was to reach. Texts of OpenSSH 8.2 to 10. */
import { dirname } from 'node:path';
import type { ConnectionFault } from '../../core/sync/peer.ts';
import { refuse, type Result } from '../../crypto/result.ts';
import { printable } from '../../store/errors.ts';
import { printPeerAddress, type PeerAddress } from './address.ts';
import { busyStatus } from '../serve/serve-pack.ts';

export interface PipePlace {
  readonly address: PeerAddress;
  readonly knownHosts: string;
}

/** Exit codes: of ssh for its own failures, of a shell that finds no program. */
const sshFailed = 255;
const programMissing = 127;

/** Pure. */
export function sshPipeFault(
  { code, stderr }: { readonly code: number; readonly stderr: string },
  place: PipePlace,
): Result<never, ConnectionFault> {
  const said = printable(stderr.trim());
  if (code === sshFailed) return sshFault(stderr, said, place);
  const where = printPeerAddress(place.address);
  if (code === programMissing)
    return refuse('REFUSED_COMMAND', `${where} has no memctl on its PATH: name it in the forced command (${said})`);
  if (code === busyStatus) return refuse('BUSY', said);
  if (code > 128) return refuse('CLOSED', 'the ssh program was ended');
  if (code !== 0) return refuse('REFUSED_COMMAND', said === '' ? `exit code ${code} of memctl serve` : said);
  return refuse('CLOSED', said === '' ? 'the peer ended the connection' : said);
}

function sshFault(stderr: string, said: string, place: PipePlace): Result<never, ConnectionFault> {
  const { address, knownHosts } = place;
  const where = printPeerAddress(address);
  if (/HOST IDENTIFICATION HAS CHANGED|Host key for \S+ has changed|REVOKED HOST KEY/.test(stderr))
    return refuse(
      'HOST_KEY_MISMATCH',
      `the sshd at ${where} shows another host key than the one in ${knownHosts}: look there what happened, and only then replace its line (ssh-keygen -R '${knownHostName(address)}' -f ${knownHosts})`,
    );
  if (/host key is known for|Host key verification failed/.test(stderr))
    return refuse('HOST_KEY_UNKNOWN', `no host key of the sshd at ${where} is pinned: ${pinning(address, knownHosts)}`);
  if (/Permission denied|Too many authentication failures/.test(stderr))
    return refuse(
      'REFUSED_KEY',
      `the sshd at ${where} does not take the ssh key of this host: on that machine, memctl serve --authorized-keys prints the lines for ~/.ssh/authorized_keys`,
    );
  if (/timed out|Timeout, server/.test(stderr)) return refuse('TIMEOUT', said);
  if (/connect to host|Could not resolve|Network is unreachable/.test(stderr)) return refuse('UNREACHABLE', said);
  if (/kex_exchange_identification|Connection (?:closed|reset)|Broken pipe|closed by remote/.test(stderr))
    return refuse('CLOSED', said);
  return refuse('PROTOCOL', said === '' ? 'ssh failed and said nothing' : said);
}

/** A person compares, once; nothing is taken by itself. */
function pinning(address: PeerAddress, knownHosts: string): string {
  const scan = `ssh-keyscan -t ed25519 -p ${address.port} ${address.host}`;
  return `compare what "${scan} | ssh-keygen -lf -" prints with the fingerprint on that machine, then mkdir -p ${dirname(knownHosts)} && ${scan} >> ${knownHosts}`;
}

function knownHostName({ host, port }: PeerAddress): string {
  return port === 22 ? host : `[${host}]:${port}`;
}

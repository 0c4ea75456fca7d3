import { isAddress } from '../../core/trust/op-fields.ts';
import { printable } from '../../store/errors.ts';
import { Refusal } from '../refusal.ts';

export const defaultPort = 7422;

export interface ListenAddress {
  readonly address: string;
  readonly port: number;
}

/** Reads ADDRESS:PORT; IPv6 in brackets. Port 0 takes any free one. Refuses BAD_REQUEST. */
export function parseListen(text: string): ListenAddress {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  const address = match?.[1] ?? match?.[2];
  if (address !== undefined && port <= 65_535) return { address, port };
  throw new Refusal({
    code: 'BAD_REQUEST',
    message: `--listen ${text} is not ADDRESS:PORT`,
    hint: 'for example --listen 127.0.0.1:7422, or --listen [::]:7422 for every interface',
    exit: 2,
  });
}

/**
 * Where the ssh server listens: what was asked for; else loopback while the mesh has one host, and every interface once
 * it has a second one.
 */
export function chooseListen(asked: string | null, hosts: number): ListenAddress {
  if (asked !== null) return parseListen(asked);
  return { address: hosts > 1 ? '::' : '127.0.0.1', port: defaultPort };
}

/**
 * The ssh:// URL that others are told: `given`, else the machine's name, or loopback when that is what was asked for; ''
 * when the port is not known beforehand or the machine has no name to dial. Refuses BAD_REQUEST.
 */
export function addressToTell(given: string | undefined, listen: string | null, machine: string): string {
  if (given === undefined) return defaultAddress(listen, machine);
  if (isAddress(given)) return given;
  throw new Refusal({
    code: 'BAD_REQUEST',
    message: `--address ${printable(given, 100)} is not ssh://HOST:PORT`,
    hint: 'a name in lower case or an IP address, and a port: --address ssh://alpha.lan:7422; "" if it cannot be dialled',
    exit: 2,
  });
}

function defaultAddress(listen: string | null, machine: string): string {
  const { address, port } = listen === null ? { address: '', port: defaultPort } : parseListen(listen);
  const loopback = isLoopback(address);
  // Systems give names such as MacBook-Pro.local; in DNS case means nothing, in a trust op it has one form.
  const name = loopback ? (address.includes(':') ? `[${address}]` : address) : machine.toLowerCase();
  const url = `ssh://${name}:${port}`;
  return isAddress(url) ? url : '';
}

/** True for a name that means another machine on every machine. Pure. */
export function isLoopback(host: string): boolean {
  return /^127\.|^localhost$|^::1$/.test(host);
}

export function sameListen(a: ListenAddress, b: ListenAddress): boolean {
  return a.address === b.address && a.port === b.port;
}

/** ADDRESS:PORT; IPv6 in brackets. */
export function printListen({ address, port }: ListenAddress): string {
  return `${address.includes(':') ? `[${address}]` : address}:${port}`;
}

/**
 * `https:` homes, only where a person asked for it (`--check`) and only from hosts that the config names. Never a private
 * address, also not after a second look-up: the connection goes to the very address that was judged. No redirects, no
 * cookies, no proxy, one deadline for everything.
 */
import { lookup } from 'node:dns/promises';
import { request } from 'node:https';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { connect } from 'node:tls';
import { homeFileBytesMax, homeHttpsDeadlineMs } from '../../core/limits.ts';
import { printable, systemCode } from '../../store/errors.ts';
import { isPublicAddress } from './public-address.ts';
import { tooLarge } from './read-file.ts';
import { gone, notAllowed, unchecked, type Found } from './reading.ts';

/** The network, as a port: tests put their own behind it. */
export interface HttpsPorts {
  /** Every address of a host. */
  readonly resolve: (host: string) => Promise<readonly string[]>;
  /** A connection to this address that has proved to be this host. */
  readonly dial: (to: { readonly address: string; readonly port: number; readonly host: string }) => Socket;
  readonly deadlineMs: number;
}

const realPorts: HttpsPorts = {
  resolve: async (host) => (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address),
  dial: ({ address, port, host }) =>
    connect({ host: address, port, servername: host, ALPNProtocols: ['http/1.1'], rejectUnauthorized: true }),
  deadlineMs: homeHttpsDeadlineMs,
};

export interface HttpsLook {
  readonly check: boolean;
  readonly httpsHosts: readonly string[];
  readonly ports?: HttpsPorts;
}

/** Fetches what a URL names, or says why not. */
export async function readHttpsHome(text: string, { check, httpsHosts, ports = realPorts }: HttpsLook): Promise<Found> {
  if (!check) return unchecked('an https home is read with --check only');
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.protocol !== 'https:' || url.username !== '' || url.password !== '') {
    return notAllowed('it is no plain https URL');
  }
  if (!httpsHosts.includes(url.host)) {
    return notAllowed(`${url.host} is not among [homes] https_hosts of config.toml`);
  }
  const abort = AbortSignal.timeout(ports.deadlineMs);
  try {
    return await fetched(url, ports, abort);
  } catch (error) {
    if (abort.aborted) return unchecked(`${url.host} did not answer within ${ports.deadlineMs / 1_000} s`);
    return unchecked(`${url.host} cannot be reached: ${systemCode(error) || printable(String(error), 120)}`);
  }
}

async function fetched(url: URL, ports: HttpsPorts, abort: AbortSignal): Promise<Found> {
  const addresses = await beforeAbort(ports.resolve(url.hostname), abort);
  const [address] = addresses;
  if (address === undefined) return unchecked(`${url.host} has no address`);
  const closed = addresses.find((one) => !isPublicAddress(one));
  if (closed !== undefined) return notAllowed(`${url.host} is at ${closed}, which is no public address`);
  const port = url.port === '' ? 443 : Number(url.port);
  const answer = await ask(url, () => ports.dial({ address, port, host: url.hostname }), abort);
  try {
    return await judged(url, answer);
  } finally {
    answer.destroy();
  }
}

function beforeAbort<T>(work: Promise<T>, abort: AbortSignal): Promise<T> {
  return Promise.race([
    work,
    new Promise<never>((_, reject) => {
      abort.addEventListener('abort', () => reject(new Error('too late')), { once: true });
    }),
  ]);
}

function ask(url: URL, createConnection: () => Socket, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request({
      host: url.hostname,
      path: `${url.pathname}${url.search}`,
      headers: {
        host: url.host,
        accept: 'text/*, application/json',
        'accept-encoding': 'identity',
        'user-agent': 'memctl',
      },
      // No `agent` beside it: with one, also `false`, Node would dial by itself, to an address that nobody judged.
      createConnection,
      signal,
    })
      .on('response', resolve)
      .on('error', reject)
      .end();
  });
}

async function judged(url: URL, answer: IncomingMessage): Promise<Found> {
  const status = answer.statusCode ?? 0;
  if (status >= 300 && status < 400) return unchecked(`${url.host} redirects elsewhere; redirects are not followed`);
  if (status === 404 || status === 410) return gone(`${url.host} says that it is gone (${status})`);
  if (status !== 200) return unchecked(`${url.host} answers ${status}`);
  const type = (answer.headers['content-type'] ?? '').toLowerCase();
  const encoding = answer.headers['content-encoding'] ?? 'identity';
  if (!/^(?:text\/|application\/(?:[a-z.+-]+\+)?(?:json|xml|yaml|toml))/.test(type) || encoding !== 'identity') {
    return unchecked(`it is ${printable(type, 60) || 'of no named type'}, not text`);
  }
  const chunks: Buffer[] = [];
  let bytes = Number(answer.headers['content-length'] ?? 0);
  if (bytes > homeFileBytesMax) return unchecked(tooLarge(bytes));
  bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > homeFileBytesMax) return unchecked(`it has more than ${homeFileBytesMax} bytes`);
    chunks.push(chunk);
  }
  const markdown = type.startsWith('text/markdown') || /\.(?:md|markdown)$/i.test(url.pathname);
  return { kind: 'found', bytes: Buffer.concat(chunks), from: url.href, markdown, notes: [] };
}

/** Binding the ssh server: a taken port is probed upward, and a machine without IPv6 listens on every IPv4 interface. */
import type { Server } from 'node:net';
import { listenProbesMax } from '../../core/limits.ts';
import { OperatingError, systemCode } from '../../store/errors.ts';

/** Port 0: any free one. '::' takes IPv4 as well. */
export interface ListenPlace {
  readonly address: string;
  readonly port: number;
}

/** Binds, probing upward from a port that is taken. Errors: `LISTEN_FAILED`. */
export async function listenUpward(listener: Server, wanted: ListenPlace): Promise<{ address: string; port: number }> {
  let { address, port } = wanted;
  for (let probe = 0; ; probe += 1) {
    const failure = await tryListen(listener, address, port);
    if (failure === undefined) break;
    const code = systemCode(failure);
    if (address === '::' && (code === 'EAFNOSUPPORT' || code === 'EADDRNOTAVAIL')) address = '0.0.0.0';
    else if (code === 'EADDRINUSE' && probe < listenProbesMax && port !== 0 && port < 65_535) port += 1;
    else throw listenError(failure, wanted, port);
  }
  const bound = listener.address();
  if (bound === null || typeof bound === 'string') throw new Error('a TCP server has an address and port');
  return { address: bound.address, port: bound.port };
}

function tryListen(listener: Server, host: string, port: number): Promise<Error | undefined> {
  return new Promise((resolve) => {
    const fail = (error: Error): void => resolve(error);
    listener.once('error', fail);
    listener.listen({ host, port, exclusive: true }, () => {
      listener.off('error', fail);
      // Running out of descriptors while accepting must not end the process either.
      listener.on('error', () => undefined);
      resolve(undefined);
    });
  });
}

function listenError(cause: Error, wanted: ListenPlace, lastPort: number): OperatingError {
  const taken = systemCode(cause) === 'EADDRINUSE';
  const ports = lastPort === wanted.port ? `port ${wanted.port}` : `ports ${wanted.port} to ${lastPort}`;
  const why = taken ? 'already in use' : systemCode(cause);
  return new OperatingError('LISTEN_FAILED', `cannot listen on ${wanted.address} ${ports}: ${why}`, {
    cause,
    hint: 'choose another with --listen ADDRESS:PORT',
  });
}

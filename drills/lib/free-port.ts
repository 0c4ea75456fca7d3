/** Ports of loopback for processes to come: none is given twice, to this process or to any other that asks here. */
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';

/** Where this process holds what it was given: the port itself stays free, and nobody else who asks gets it. */
const reservedAt = '127.77.0.1';
const lowestPort = 10_000;
/** Ports from here on are what the system gives to connections and to whoever listens on port 0. */
const highestPort = Math.min(32_768, firstEphemeral());
const triesMax = 1_000;

function firstEphemeral(): number {
  try {
    return Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').trim().split(/\s+/)[0]);
  } catch {
    return 32_768;
  }
}

/** Listens, or says why not. */
function listen(port: number, address: string): Promise<Server | string> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen(port, address, () => resolve(server));
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}

/** A free port, kept for whoever asked until this process ends. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < triesMax; tries += 1) {
    const port = lowestPort + Math.floor(Math.random() * Math.max(1, highestPort - lowestPort));
    const kept = await listen(port, reservedAt);
    // Elsewhere than on Linux there is one address of loopback: then chance alone keeps two apart.
    if (typeof kept === 'string' && kept !== 'EADDRNOTAVAIL') continue;
    const tried = await listen(port, '127.0.0.1');
    if (typeof tried === 'string') {
      if (typeof kept !== 'string') await close(kept);
      continue;
    }
    await close(tried);
    if (typeof kept !== 'string') kept.unref();
    return port;
  }
  throw new Error(`no free port in ${triesMax} tries between ${lowestPort} and ${highestPort}`);
}

/**
 * `memctl serve --stdio` where no memd runs: this process serves one peer by itself, as the user of the account, read-only,
 * until the peer leaves or memd has come.
 */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import type { Duplex } from 'node:stream';
import { stillPollMs } from '../../core/limits.ts';
import type { CharterHost } from '../../core/trust/charter.ts';
import { isServedVariable, type ServedCommand } from '../../mesh/ssh/exec-request.ts';
import { refusalOf } from '../../mesh/ssh/ssh-login.ts';
import { startSshServer, type SshServer } from '../../mesh/ssh/ssh-server.ts';
import { serveCommand } from '../../mesh/ssh/ssh-sessions.ts';
import { stdioChannel, type Stdio } from '../../mesh/ssh/stdio-channel.ts';
import { socketAddress } from '../../store/home/home.ts';
import { isAnswered } from '../api/api-client.ts';
import type { ServedHome } from './served-home.ts';

/** Serves the ssh of a peer over a stream. Resolves when it is over. */
export async function servePeer(served: ServedHome, stream: Duplex, from: string): Promise<void> {
  const { home, charterHosts, formerHost, heads, news } = served;
  const server = await startSshServer({
    hostKey: served.hostKey(),
    repositoryDir: home.repository,
    listen: null,
    charterHosts,
    formerHost,
    heads,
    news,
  });
  const over = once(stream, 'close');
  server.servePiped(stream, from);
  const watch = keepLooking(served, server, () => stream.destroy());
  await over;
  watch.stop();
  await server.close();
}

/** Tells the peer what commands have changed meanwhile; ends once memd runs, which then is who serves. */
function keepLooking(served: ServedHome, server: SshServer, end: () => void): { stop(): void } {
  let stopped = false;
  let timer: NodeJS.Timeout;
  const look = async (): Promise<void> => {
    try {
      if (await served.look()) {
        server.expel();
        server.tell();
      }
      if (await isServed(served)) end();
    } catch {
      // A branch is being moved, or the home is not as it should be: what was read before stands.
    }
    if (!stopped) again();
  };
  const again = (): void => void (timer = setTimeout(() => void look(), stillPollMs));
  again();
  return {
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

async function isServed({ home }: ServedHome): Promise<boolean> {
  return existsSync(home.socket) && (await isAnswered(socketAddress(home)));
}

export interface StockRequest {
  readonly command: ServedCommand;
  /** The host of the charter whose key the sshd let in. */
  readonly peer: CharterHost;
  /** Value of GIT_PROTOCOL, if any. */
  readonly protocol: string | undefined;
}

/** Serves one command of a stock client. Resolves with the exit status once everything is written. */
export function serveStock(
  served: ServedHome,
  stdio: Stdio,
  { command, peer, protocol }: StockRequest,
): Promise<number> {
  return new Promise((resolve) => {
    let status = 1;
    const channel = stdioChannel(stdio, (code) => (status = code));
    channel.once('finish', () => resolve(status));
    channel.once('close', () => resolve(status));
    serveCommand(channel, command, {
      host: peer.name,
      repositoryDir: served.home.repository,
      heads: served.heads,
      refusal: () => refusalOf(served.charterHosts(), peer),
      protocol: protocol !== undefined && isServedVariable('GIT_PROTOCOL', protocol) ? protocol : undefined,
    });
  });
}

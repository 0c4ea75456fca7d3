/** An ssh server of alpha over an empty repository, and stock ssh2 clients that log in as beta. All end with the test. */
import { join } from 'node:path';
import ssh2, { type Client, type ConnectConfig } from 'ssh2';
import { onTestFinished } from 'vitest';
import {
  startSshServer,
  type ServerNote,
  type SshServer,
  type SshServerOptions,
} from '../../../src/mesh/ssh/ssh-server.ts';
import { initRepository, type Repository } from '../../../src/store/git/repository.ts';
import { temporaryFolder } from '../../lib/temporary.ts';
import { charterHosts, testHost, type TestHost } from './hosts.ts';

export const alpha: TestHost = testHost('alpha');
export const beta: TestHost = testHost('beta');

export interface Door {
  readonly server: SshServer;
  readonly notes: ServerNote[];
  readonly repository: Repository;
}

/** Serves on a free port of loopback; alpha and beta are the hosts of the charter, the heads are the word `heads`. */
export async function serveAlpha(options: Partial<SshServerOptions> = {}): Promise<Door> {
  const repository = await initRepository(join(temporaryFolder(), 'repo.git'), { host: 'alpha' });
  const notes: ServerNote[] = [];
  const server = await startSshServer({
    hostKey: alpha.sshPem,
    repositoryDir: repository.gitDir,
    listen: { address: '127.0.0.1', port: 0 },
    charterHosts: () => charterHosts(alpha, beta),
    heads: () => 'heads',
    onNote: (note) => notes.push(note),
    ...options,
  });
  onTestFinished(() => server.close());
  return { server, notes, repository };
}

/** Logs in as beta. What breaks the connection afterwards is no error of the test. */
export async function logIn(server: SshServer, options: ConnectConfig = {}): Promise<Client> {
  const client = new ssh2.Client();
  onTestFinished(() => void client.end());
  await new Promise((resolve, reject) => {
    client.on('ready', () => resolve(undefined)).on('error', reject);
    client.connect({
      host: '127.0.0.1',
      port: server.port,
      username: 'memd',
      privateKey: beta.sshPem,
      hostVerifier: () => true,
      ...options,
    });
  });
  return client;
}

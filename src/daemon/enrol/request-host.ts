import { printHostRequest } from '../../mesh/enrol/enrol.ts';
import { initRepository } from '../../store/git/repository.ts';
import { createHome } from '../../store/home/home.ts';
import { createKeys } from '../../store/home/keys.ts';
import { holdUnfinishedHome } from '../hold-home.ts';
import { hasIdentity, readIdentity, requireHostName, writeIdentity } from '../identity.ts';
import { requireNoMesh } from './init-mesh.ts';
import { addressToTell } from './listen-address.ts';

export interface HostRequestOptions {
  /** Absolute home folder; made if it is not there. */
  readonly home: string;
  readonly host: string;
  readonly listen: string | null;
  readonly address: string | undefined;
  readonly machine: string;
}

/**
 * Makes this machine's keys and the line that enrols it. Asked again before joining it prints the same keys: a line that
 * somebody is about to sign stays good. Refuses MESH_EXISTS once it has joined, BAD_REQUEST.
 */
export async function requestHost(options: HostRequestOptions): Promise<{ line: string; fingerprint: string }> {
  const { host, listen } = options;
  requireHostName(host);
  const address = addressToTell(options.address, listen, options.machine);
  const home = createHome(options.home);
  const lock = holdUnfinishedHome(home);
  try {
    const joined = hasIdentity(home) && readIdentity(home).mesh !== null;
    if (joined) requireNoMesh(home);
    const keys = await createKeys(home, { host });
    await initRepository(home.repository, { host });
    await writeIdentity(home, { host, mesh: null, listen, address, signer: null });
    const line = printHostRequest({ host, sign: keys.sign.publicKey.text, ssh: keys.ssh.publicKey.text, address });
    return { line, fingerprint: keys.sign.publicKey.fingerprint };
  } finally {
    lock.release();
  }
}

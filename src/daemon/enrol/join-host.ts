import { isBehindSshd } from '../../mesh/ssh/address.ts';
import { joinMesh, type JoinFaultCode } from '../../mesh/enrol/join.ts';
import { openRepository, prepareRepository } from '../../store/git/repository.ts';
import { openHome } from '../../store/home/home.ts';
import { readKeys } from '../../store/home/keys.ts';
import { bindMachine } from '../../store/home/machine-marker.ts';
import { addTrustOps } from '../../store/trust-store.ts';
import { holdUnfinishedHome } from '../hold-home.ts';
import { readIdentity, writeIdentity } from '../identity.ts';
import { sshdAccess } from '../peers/sshd-access.ts';
import { requireNoMesh } from './init-mesh.ts';
import { Refusal } from '../refusal.ts';

/**
 * Takes the trust set of the mesh from one enrolled host: its genesis must be the pinned mesh id, it must hold this host's
 * own host-add with this host's keys, and the host that answered must be in it.
 * @returns the name of the host that answered.
 */
export async function joinHost(options: { home: string; url: string; mesh: string }): Promise<{ host: string }> {
  const home = openHome(options.home);
  const lock = holdUnfinishedHome(home);
  try {
    const identity = readIdentity(home);
    if (identity.mesh !== null) requireNoMesh(home);
    const keys = readKeys(home);
    const repository = openRepository(home.repository);
    await prepareRepository(repository);
    const joined = await joinMesh({
      url: options.url,
      mesh: options.mesh,
      own: {
        host: identity.host,
        sign: keys.sign.publicKey.text,
        ssh: keys.ssh.publicKey.text,
        address: identity.address,
      },
      sshKey: keys.ssh.pem,
      sshd: sshdAccess(home),
      repository,
    });
    if (!joined.ok)
      throw new Refusal({
        code: 'JOIN_REFUSED',
        message: `cannot join through ${options.url}: ${joined.detail}`,
        hint: hintOf(joined.code, options.url),
        exit: 1,
      });
    const { meshId, ops, via } = joined.value;
    await addTrustOps(repository, {
      ops: ops.map(({ id, text }) => ({ id, text })),
      author: `memd <${identity.host}@${meshId}>`,
      seconds: Math.floor(Date.now() / 1_000),
    });
    await bindMachine(home);
    await writeIdentity(home, { ...identity, mesh: meshId });
    return { host: via };
  } finally {
    lock.release();
  }
}

/** Behind a plain sshd it is that which does not know the key; what it takes stands in the fault itself. */
function hintOf(code: JoinFaultCode, url: string): string {
  const sshd = isBehindSshd(url) && sshdHints[code];
  return (sshd || hints[code]) ?? 'memctl join --help';
}

const sshdHints: Readonly<Partial<Record<JoinFaultCode, string>>> = {
  REFUSED_KEY: 'let this host in there first (docs/mesh.md, Behind a plain sshd)',
  UNREACHABLE: 'is that the port of the sshd, and does it let this machine in?',
  TIMEOUT: 'is that the port of the sshd, and does it let this machine in?',
  HOST_KEY_UNKNOWN: 'nothing was sent to it; pin its key, and try again',
  HOST_KEY_MISMATCH: 'nothing was sent to it; find out why before you change what is pinned',
};

/** The next step for each way in which a join can fail. */
const hints: Readonly<Record<string, string>> = {
  NOT_ADDED: 'on an enrolled host: memctl host add LINE, with the line that memctl host request prints here',
  KEYS_DIFFER: 'this host was added with other keys; request it under another name: memctl host request --host NAME',
  NOT_A_MESH_ID: 'copy the mesh id from memctl status on an enrolled host',
  FOREIGN_MESH: 'compare the mesh id with memctl status on an enrolled host',
  UNREACHABLE: 'is memd running there, and does its ssh port let this machine in?',
  TIMEOUT: 'is memd running there, and does its ssh port let this machine in?',
  REFUSED_KEY: 'on an enrolled host: memctl host add LINE, with the line that memctl host request prints here',
  CLOSED: 'try again; the log of memd there says why it hung up (TOO_MANY_CONNECTIONS: strangers crowd its port)',
  BUSY: 'try again in a while',
};

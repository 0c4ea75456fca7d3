/** Starting a mesh: keys, repository, a genesis that a person signs. Never over something that is there. */
import { genesisBody } from '../../core/trust/build.ts';
import { finishTrustOp, trustOpMessage } from '../../core/trust/op.ts';
import { addOps, emptyTrustSet } from '../../core/trust/set.ts';
import type { SshPublicKey } from '../../crypto/ssh-key.ts';
import { initRepository } from '../../store/git/repository.ts';
import { createHome, type Home } from '../../store/home/home.ts';
import { createKeys, type HostKeys } from '../../store/home/keys.ts';
import { bindMachine } from '../../store/home/machine-marker.ts';
import { addTrustOps } from '../../store/trust-store.ts';
import { holdUnfinishedHome } from '../hold-home.ts';
import { hasIdentity, requireHostName, writeIdentity } from '../identity.ts';
import { addressToTell } from './listen-address.ts';
import { Refusal } from '../refusal.ts';
import { newStamp } from '../trust/trust-keeper.ts';

export interface Founding {
  readonly listen: string | null;
  /** ssh:// URL; undefined takes the machine's name. */
  readonly address: string | undefined;
  readonly machine: string;
  readonly signer: {
    readonly name: string;
    readonly publicKey: SshPublicKey;
    readonly keyFile: string;
  };
  /** Signs in namespace memd-trust; gives the SSHSIG blob, base64. May ask a person. */
  readonly sign: (message: string) => Promise<string>;
}

/** Refuses MESH_EXISTS before anybody is asked for anything. */
export function requireNoMesh(home: Home): void {
  if (!hasIdentity(home)) return;
  throw new Refusal({
    code: 'MESH_EXISTS',
    message: `${home.dir} is a memd host already`,
    hint: 'memctl status shows it; for another one name another folder: --home DIR',
  });
}

/**
 * Makes a mesh of one host in `homeDir`. The identity file is written last: a crash before it leaves a folder in which
 * init simply starts again.
 * @returns the mesh id.
 */
export async function initMesh(homeDir: string, host: string, founding: Founding): Promise<{ mesh: string }> {
  requireHostName(host);
  const address = addressToTell(founding.address, founding.listen, founding.machine);
  const home = createHome(homeDir);
  const lock = holdUnfinishedHome(home);
  try {
    requireNoMesh(home);
    const keys = await createKeys(home, { host });
    const op = await foundingOp(host, address, keys, founding);
    const repository = await initRepository(home.repository, { host });
    await addTrustOps(repository, {
      ops: [op],
      author: `memd <${host}@${op.id}>`,
      seconds: Math.floor(Date.now() / 1_000),
    });
    const signer = {
      name: founding.signer.name,
      key: founding.signer.keyFile,
    };
    await bindMachine(home);
    await writeIdentity(home, { host, mesh: op.id, listen: founding.listen, address, signer });
    return { mesh: op.id };
  } finally {
    lock.release();
  }
}

async function foundingOp(
  host: string,
  address: string,
  keys: HostKeys,
  founding: Founding,
): Promise<{ id: string; text: string }> {
  const { name, publicKey } = founding.signer;
  const by = { signer: name, key: publicKey.fingerprint };
  const body = genesisBody(
    {
      name: host,
      by,
      signer: { name, key: publicKey.text },
      host: { name: host, sign: keys.sign.publicKey.text, ssh: keys.ssh.publicKey.text, address },
    },
    newStamp(),
  );
  if (!body.ok) throw refused(body.detail);
  const op = finishTrustOp(body.value, {
    key: by.key,
    signer: by.signer,
    sshsig: await founding.sign(trustOpMessage(body.value)),
  });
  if (!op.ok) throw refused(op.detail);
  const { added, dropped } = addOps(emptyTrustSet(op.value.id), [op.value]);
  if (added.length !== 1) throw refused(dropped[0]?.detail ?? 'it is not approved by its own signer');
  return { id: op.value.id, text: op.value.text };
}

function refused(detail: string): Refusal {
  return new Refusal({
    code: 'OP_REFUSED',
    message: `the genesis would not count: ${detail}`,
    hint: 'memctl init --help',
    exit: 6,
  });
}

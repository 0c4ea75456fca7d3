/** Ssh keys that hosts had before a rekey. Whoever comes with one is a copy, a thief, or a machine that has not heard of it. */
import type { CharterHost } from '../../core/trust/charter.ts';
import type { TrustState } from '../trust/trust-keeper.ts';

/** The host, as the charter has it now and with that old key, that had an ssh key before; undefined for any other key. */
export function formerHost(
  { set, charter }: Pick<TrustState, 'set' | 'charter'>,
  blob: Uint8Array,
): CharterHost | undefined {
  for (const { op } of set.held.values()) {
    const { body } = op;
    const fields = body.op === 'genesis' ? body.host : body;
    if (!('ssh' in fields)) continue;
    const key = op.keys.get(fields.ssh);
    const host = charter.hosts.get(fields.name);
    if (key === undefined || host === undefined || !Buffer.from(key.blob).equals(blob)) continue;
    return { ...host, ssh: key };
  }
  return undefined;
}

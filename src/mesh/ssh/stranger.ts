/** Who it is that answers in another host's place, by the key that it showed. */
import type { Charter } from '../../core/trust/charter.ts';

/** One sentence that names the host that was meant and the one that answers, if it is one of the mesh. Pure. */
export function describeStranger(
  { hosts }: Pick<Charter, 'hosts'>,
  seen: { readonly host: string; readonly address: string; readonly key: Uint8Array | undefined },
): string {
  const { host, address, key } = seen;
  const other =
    key === undefined ? undefined : [...hosts.values()].find(({ ssh }) => Buffer.from(ssh.blob).equals(key))?.name;
  const who = other === undefined ? 'somebody whose key is of no host of this mesh' : `host ${other}`;
  return `at ${address}, where ${host} should be, ${who} answers`;
}

/** How this host gets past a plain sshd: its own transport keys, and the host keys that a person pinned. */
import path from 'node:path';
import type { SshdAccess } from '../../mesh/ssh/system-ssh.ts';
import type { Home } from '../../store/home/home.ts';
import { readLastSshKey, readNextKeys } from '../../store/home/next-keys.ts';
import { configFile } from '../config/config-file.ts';

/** `config`: where config.toml is, or would be; `known_hosts` lies beside it. */
export function sshdAccess(home: Home, config: string = configFile(process.env)): SshdAccess {
  return {
    knownHosts: path.join(path.dirname(config), 'known_hosts'),
    // In the order in which memd itself shows them: an account there may still have the one of before.
    identities: () =>
      [readNextKeys(home).ssh?.file, home.sshKey, readLastSshKey(home)?.file].filter((file) => file !== undefined),
  };
}

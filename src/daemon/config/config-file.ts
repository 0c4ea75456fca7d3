/** Where config.toml is, and what holds without one. Small and without libraries: a look-up at every prompt reads it. */
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { indexBytesDefault, indexLinesDefault, quietDaysDefault } from '../../core/limits.ts';

/** Every half minute; the jitter that memd adds spreads hosts that started together. */
export const defaultSync = '*/30 * * * * *';
/** Every hour. */
export const defaultMaintenance = '0 17 * * * *';

export interface TargetConfig {
  /** Absolute. */
  readonly path: string;
  readonly audience: string;
  /** Undefined: every scope. */
  readonly scope: string | undefined;
  readonly bytes: number;
  readonly lines: number;
}

/** A way to reach a person. */
export type NotifierConfig = { readonly name: string } & (
  | { readonly kind: 'command'; readonly command: readonly string[] }
  | { readonly kind: 'webhook' | 'ntfy'; readonly url: string; readonly tokenFile: string | undefined }
  | { readonly kind: 'desktop' }
);

export interface Config {
  /** Where it was read, or would have been. */
  readonly file: string;
  readonly sync: { readonly schedule: string };
  readonly maintenance: { readonly schedule: string };
  readonly ssh: { readonly listen: string | null };
  /** Host name to ssh:// address. */
  readonly peers: ReadonlyMap<string, string>;
  /** Roots are absolute. */
  readonly homes: { readonly roots: readonly string[]; readonly httpsHosts: readonly string[] };
  readonly targets: readonly TargetConfig[];
  /** Absolute path to scope. */
  readonly scopes: ReadonlyMap<string, string>;
  readonly index: { readonly bytes: number; readonly lines: number };
  readonly notifiers: readonly NotifierConfig[];
  /** Days after which a peer that answers and has nothing new is worth a note; 0: never. */
  readonly quietDays: { readonly usual: number; readonly of: ReadonlyMap<string, number> };
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** `$XDG_CONFIG_HOME/memd/config.toml`, else `~/.config/memd/config.toml`. A relative XDG path is ignored, as it says. */
export function configFile(env: Environment): string {
  const base = env['XDG_CONFIG_HOME'];
  return join(base !== undefined && isAbsolute(base) ? base : join(userFolder(env), '.config'), 'memd', 'config.toml');
}

/** The folder that `~` stands for. */
export function userFolder(env: Environment): string {
  const user = env['HOME'];
  return user !== undefined && isAbsolute(user) ? user : homedir();
}

/** Every default: what a missing or empty file says. */
export function defaultConfig(file: string): Config {
  return {
    file,
    sync: { schedule: defaultSync },
    maintenance: { schedule: defaultMaintenance },
    ssh: { listen: null },
    peers: new Map(),
    homes: { roots: [], httpsHosts: [] },
    targets: [],
    scopes: new Map(),
    index: { bytes: indexBytesDefault, lines: indexLinesDefault },
    notifiers: [],
    quietDays: { usual: quietDaysDefault, of: new Map() },
  };
}

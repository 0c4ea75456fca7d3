/** The text of the unit: made from the template, read back from what is installed. */
import { dirname, join } from 'node:path';
import { sha256Hex } from '../../crypto/hash.ts';
import { Refusal } from '../../daemon/refusal.ts';

export interface UnitSettings {
  /** Absolute path of the Node that runs memd. */
  readonly node: string;
  /** Absolute path of bin/memd. */
  readonly memd: string;
  /** Absolute home folder. */
  readonly home: string;
  /** XDG_CONFIG_HOME, where it is not the default one. */
  readonly configHome: string | undefined;
  /** Folder for compiled code. */
  readonly cache: string;
  /** Folders in which git and the OpenSSH tools were found. */
  readonly path: readonly string[];
  /** Absolute paths of the view targets of config.toml. */
  readonly targets: readonly string[];
}

/** What an install notes about itself in its unit, so that uninstalling takes away exactly that. */
export interface UnitNotes {
  readonly home: string;
  /** Folders that the install made, deepest first. */
  readonly made: readonly string[];
  /** The install had the user's services run without a login. */
  readonly linger: boolean;
}

/** systemd passes over sections that begin so. */
const notesHeader = '[X-Memctl]';

/** The unit as it is installed. `template` is systemd/memd.service. Refuses BAD_REQUEST for a path that no unit can hold. */
export function unitText(template: string, settings: UnitSettings, notes: UnitNotes): string {
  const { node, memd, home, configHome, path } = settings;
  const words = {
    EXEC: [node, memd, '--home', home, '--foreground'].map(commandWord).join(' '),
    ENVIRONMENT: [
      `Environment=${quoted(`PATH=${path.join(':')}`)}`,
      ...(configHome === undefined ? [] : [`Environment=${quoted(`XDG_CONFIG_HOME=${configHome}`)}`]),
    ].join('\n'),
    WRITABLE: writableFolders(settings)
      .map((folder) => `ReadWritePaths=${quoted(folder)}`)
      .join('\n'),
    // A private /tmp would hide what lies in the real one.
    PRIVATE_TMP: writableFolders(settings).some((folder) => /^-?\/(?:var\/)?tmp\//.test(folder)) ? 'no' : 'yes',
  };
  const body = withoutHead(template).replace(/@([A-Z_]+)@/g, (_, name: keyof typeof words) => words[name]);
  const said = `${installedHead}\n${body}\n${notesHeader}\n${notesLines(notes).join('\n')}\n`;
  return `${said}Sha256=${sha256Hex(said)}\n`;
}

const installedHead = `# Written by memctl service install, taken away by memctl service uninstall.
# Settings of your own belong into a drop-in: systemctl --user edit memd
`;

/** The template's own remarks are about the template. */
function withoutHead(template: string): string {
  return template.slice(template.indexOf('[Unit]'));
}

function writableFolders({ home, targets, cache }: UnitSettings): string[] {
  // A folder that is missing must not keep memd from starting; the home is there, or memd has nothing to do.
  const folders = [home, ...[...targets.map((target) => dirname(target)), cache].map((folder) => `-${folder}`)];
  return [...new Set(folders)];
}

function notesLines({ home, made, linger }: UnitNotes): string[] {
  return [`Home=${home}`, ...made.map((folder) => `Made=${folder}`), `Linger=${linger ? 'yes' : 'no'}`];
}

/** A path as one word of a unit setting. */
function quoted(text: string): string {
  if (/[\u0000-\u001F\u007F]/.test(text)) {
    throw new Refusal({
      code: 'BAD_REQUEST',
      message: `a path with control characters cannot stand in a unit: ${JSON.stringify(text)}`,
      exit: 2,
    });
  }
  return `"${text.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%')}"`;
}

/** Command lines expand variables besides. */
function commandWord(text: string): string {
  return quoted(text).replaceAll('$', '$$$$');
}

/** How a unit file stands: `ours` as it was written, `edited` after that, or somebody else's. */
export type UnitState =
  | { readonly state: 'ours' | 'edited'; readonly notes: UnitNotes }
  | { readonly state: 'foreign' };

export function readUnit(text: string): UnitState {
  const at = text.lastIndexOf('\nSha256=');
  const start = text.lastIndexOf(`\n${notesHeader}\n`);
  if (at < 0 || start < 0) return { state: 'foreign' };
  const said = text.slice(0, at + 1);
  const whole = text === `${said}Sha256=${sha256Hex(said)}\n`;
  const values = (name: string): string[] =>
    text
      .slice(start)
      .split('\n')
      .flatMap((line) => (line.startsWith(`${name}=`) ? [line.slice(name.length + 1)] : []));
  const [home = ''] = values('Home');
  return {
    state: whole ? 'ours' : 'edited',
    notes: { home, made: values('Made'), linger: values('Linger')[0] === 'yes' },
  };
}

/** True when two units differ at most in where programs are looked for: every shell has a PATH of its own. */
export function sameUnit(a: string, b: string): boolean {
  const compared = (text: string): string => text.replaceAll(/^(?:Environment="PATH=.*|Sha256=.*)\n/gm, '');
  return compared(a) === compared(b);
}

/** Folder of the user's units. Source: systemd.unit(5), user unit search path. */
export function unitFolder(env: Readonly<Record<string, string | undefined>>, user: string): string {
  const base = env['XDG_CONFIG_HOME'];
  return join(base?.startsWith('/') === true ? base : join(user, '.config'), 'systemd', 'user');
}

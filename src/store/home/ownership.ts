/**
 * Whose files a home is made of. One file of another user is enough: git refuses to serve a repository that belongs to
 * somebody else (safe.directory), a write fails, or somebody else can change what this host says. A `sudo` in the wrong
 * place does it, or a backup that was put back by root.
 */
import fs from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { OperatingError, type OperatingCode } from '../errors.ts';
import type { Home } from './home.ts';

/** Something in a home that belongs to another user than this process runs as. */
export interface Foreign {
  readonly file: string;
  readonly uid: number;
}

/**
 * What of the parts that everything else hangs on is not ours: entries of the home, keys, the repository, its branches; some
 * fifty looks, and with `objects` its object folders, three hundred. Empty where there are no user ids.
 */
export function foreignParts(home: Home, options: { readonly objects?: boolean } = {}): readonly Foreign[] {
  const uid = process.getuid?.();
  if (uid === undefined) return [];
  const heads = path.join(home.repository, 'refs', 'heads');
  const objects = options.objects === true ? [path.join(home.repository, 'objects')] : [];
  const folders = [home.dir, home.keys, home.repository, ...objects, heads, path.join(heads, 'log')];
  return [home.dir, ...folders.flatMap(entriesOf)].flatMap((file) => foreign(file, uid));
}

/** The same of every file below the home, as far as it may be looked at. `first` in the order of the folders. */
export function findForeign(
  home: Pick<Home, 'dir'>,
  uid: number | undefined = process.getuid?.(),
): { readonly count: number; readonly looked: number; readonly first: Foreign | undefined } {
  let [count, looked]: [number, number] = [0, 0];
  let first: Foreign | undefined;
  const waiting = uid === undefined ? [] : [home.dir];
  for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
    looked += 1;
    const [found] = foreign(file, uid ?? 0);
    if (found !== undefined) {
      count += 1;
      first ??= found;
    }
    if (fs.lstatSync(file, { throwIfNoEntry: false })?.isDirectory() === true) waiting.push(...entriesOf(file));
  }
  return { count, looked, first };
}

/**
 * Refuses a home in which something that counts belongs to another user. Errors: `KEY_UNSAFE`, `REPOSITORY_OWNER`,
 * `HOME_UNSAFE`.
 */
export function requireOwned(home: Home): void {
  const [first] = foreignParts(home, { objects: true });
  if (first === undefined) return;
  throw new OperatingError(codeOf(home, first), foreignText(first), { hint: ownerHint(home) });
}

function codeOf({ keys, repository }: Home, { file }: Foreign): OperatingCode {
  if (file === keys || file.startsWith(`${keys}${path.sep}`)) return 'KEY_UNSAFE';
  const inRepository = file === repository || file.startsWith(`${repository}${path.sep}`);
  return inRepository ? 'REPOSITORY_OWNER' : 'HOME_UNSAFE';
}

/** One sentence. */
export function foreignText({ file, uid }: Foreign): string {
  const own = process.getuid?.() ?? 0;
  return `${file} belongs to ${userName(uid)}, this process runs as ${userName(own)}`;
}

/** Who has to do what, on which machine: a person often reads this on another one. */
export function ownerHint({ dir }: Pick<Home, 'dir'>): string {
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  return `on ${hostname()}, as root: chown -R ${uid}:${gid} ${dir}; or run memd and memctl as the user that it belongs to`;
}

/** `user id 1000 (craig)`; the id alone where the machine has no name for it. */
export function userName(uid: number, passwd: () => string = () => fs.readFileSync('/etc/passwd', 'utf8')): string {
  try {
    const line = passwd()
      .split('\n')
      .find((one) => one.split(':')[2] === String(uid));
    const name = line?.split(':')[0];
    return name === undefined ? `user id ${uid}` : `user id ${uid} (${name})`;
  } catch {
    return `user id ${uid}`;
  }
}

function foreign(file: string, uid: number): Foreign[] {
  const status = fs.lstatSync(file, { throwIfNoEntry: false });
  return status === undefined || status.uid === uid ? [] : [{ file, uid: status.uid }];
}

/** Entries of a folder; none of one that is not there, is none, or may not be listed: then it is foreign itself. */
function entriesOf(folder: string): string[] {
  try {
    return fs
      .readdirSync(folder)
      .toSorted((a, b) => (a < b ? -1 : 1))
      .map((name) => path.join(folder, name));
  } catch {
    return [];
  }
}

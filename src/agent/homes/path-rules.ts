/** Which paths may be read for a claim. A claim is somebody's text: it must not make an agent read what it should not. */
import { lstatSync, realpathSync } from 'node:fs';
import { isAbsolute, join, relative, sep } from 'node:path';
import { systemCode } from '../../store/errors.ts';
import { statusOf } from '../git-folder.ts';
import { gone, notAllowed, unchecked, type Gone, type Unchecked } from './reading.ts';

/** A folder below which homes may be read. */
export interface HomeRoot {
  /** Absolute. */
  readonly path: string;
  /** Scope of the project that this is the root of; null for a folder of many, or of none. */
  readonly scope: string | null;
}

/** Names of keys and of files that hold secrets by habit. Dotfiles are refused before this is asked. */
const secretName =
  /^(?:id_(?:rsa|dsa|ecdsa|ed25519)|authorized_keys|known_hosts|credentials|htpasswd|shadow|secrets?\.(?:ya?ml|json|toml|ini|txt|env))|_(?:rsa|dsa|ecdsa|ed25519)(?:\.pub)?$|\.(?:pem|key|p12|pfx|jks|keystore|kdbx?|gpg|ppk|ovpn|env)$/i;

/** Why a relative path is never read; undefined when its names are all right. Pure. */
export function nameFault(path: string): string | undefined {
  const names = path.split(/[/\\]/).filter((name) => name !== '');
  if (names.some((name) => name.startsWith('.'))) return 'dotfiles are never read';
  if (names.some((name) => secretName.test(name))) return 'files named like keys or secrets are never read';
  return /[\0-\x1f\x7f]/.test(path) ? 'control characters in a path' : undefined;
}

/** True when `path` is `folder` or below it; both absolute and without links. Pure. */
export function isWithin(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

export interface Placed {
  readonly kind: 'placed';
  /** Absolute, without links. */
  readonly path: string;
  /** Real path of the root that it is below. */
  readonly root: string;
  readonly scope: string | null;
}

/**
 * Where a relative path is below one root. Undefined when there is nothing of that name; refused when it leads out of
 * the root, or to a name that is never read, by whatever links.
 */
export function placeBelow(root: HomeRoot, path: string, closed: readonly string[]): Placed | Unchecked | undefined {
  const realRoot = realPathOf(root.path);
  if (realRoot === undefined) return undefined;
  const real = realPathOf(join(realRoot, path));
  if (real === undefined) return undefined;
  if (typeof real !== 'string') return real;
  if (typeof realRoot !== 'string') return realRoot;
  if (!isWithin(realRoot, real)) return notAllowed(`${path} leads out of ${root.path} through a symbolic link`);
  const fault = nameFault(relative(realRoot, real));
  if (fault !== undefined) return notAllowed(fault);
  if (closed.some((folder) => isWithin(folder, real))) return notAllowed('the folder of memd itself is never read');
  return { kind: 'placed', path: real, root: realRoot, scope: root.scope };
}

function realPathOf(path: string): string | undefined;
function realPathOf(path: string): string | Unchecked | undefined;
function realPathOf(path: string): string | Unchecked | undefined {
  try {
    return realpathSync(path);
  } catch (error) {
    const code = systemCode(error);
    return code === 'ENOENT' || code === 'ENOTDIR' ? undefined : unchecked(`${path} cannot be reached (${code})`);
  }
}

/**
 * The one place below the roots that a relative path means. The project that the claim is about comes first; elsewhere
 * two different places are no answer.
 */
export function placeOf(
  path: string,
  look: { readonly roots: readonly HomeRoot[]; readonly scope: string; readonly closed: readonly string[] },
): Placed | Unchecked | Gone {
  const { roots, scope, closed } = look;
  const fault = nameFault(path);
  if (fault !== undefined) return notAllowed(fault);
  if (roots.length === 0) return unchecked('no folder may be read: name some in config.toml, [homes] roots');
  const own = roots.filter((root) => scope !== '*' && root.scope === scope);
  for (const root of own) {
    const found = placeBelow(root, path, closed);
    if (found !== undefined) return found;
  }
  const places = roots.filter((root) => !own.includes(root)).flatMap((root) => placeBelow(root, path, closed) ?? []);
  const distinct = new Map(places.map((place) => [place.kind === 'placed' ? place.path : place.reason, place]));
  const [first, second] = [...distinct.values()];
  if (first === undefined && own[0] !== undefined) return gone(`there is no ${path} in the project at ${own[0].path}`);
  if (first === undefined) return unchecked(`there is no ${path} below ${roots.map((root) => root.path).join(', ')}`);
  if (first.kind === 'placed' && second?.kind === 'placed') {
    return unchecked(`it means two files here: ${first.path} and ${second.path}`);
  }
  return first;
}

/** An absolute path of this host: read only when it lies below a root. */
export function placeOfAbsolute(
  path: string,
  look: { readonly roots: readonly HomeRoot[]; readonly closed: readonly string[] },
): Placed | Unchecked | Gone {
  for (const root of look.roots) {
    const bases = [root.path, realPathOf(root.path)].filter((base): base is string => typeof base === 'string');
    const base = bases.find((one) => isWithin(one, path));
    if (base === undefined) continue;
    const below = relative(base, path);
    const fault = nameFault(below);
    if (fault !== undefined) return notAllowed(fault);
    return placeBelow(root, below, look.closed) ?? gone(`${path} is gone`);
  }
  return notAllowed(`${path} is outside the folders that may be read`);
}

/** True for a folder that exists, without following a link at its end. */
export function isFolder(path: string): boolean {
  return statusOf(path, lstatSync)?.isDirectory() === true;
}

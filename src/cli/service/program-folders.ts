/** Where programs are: found once, so that a service need not rely on the PATH that it is started with. */
import { accessSync, constants, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';

/** Folders in which every system has its programs. */
const usual = ['/usr/local/bin', '/usr/bin', '/bin'];

/** First executable of that name on a PATH; undefined when there is none. Relative entries are passed over. */
export function findProgram(name: string, path: string): string | undefined {
  return path
    .split(':')
    .filter((folder) => isAbsolute(folder))
    .map((folder) => join(folder, name))
    .find((file) => isProgram(file));
}

/** The folders of these programs and the usual ones, in that order; `missing` are not on the PATH. */
export function programFolders(
  names: readonly string[],
  path: string,
): { readonly folders: readonly string[]; readonly missing: readonly string[] } {
  const found = names.map((name) => [name, findProgram(name, path)] as const);
  const folders = found.flatMap(([name, file]) => (file === undefined ? [] : [file.slice(0, -name.length - 1)]));
  return {
    folders: [...new Set([...folders, ...usual])],
    missing: found.flatMap(([name, file]) => (file === undefined ? [name] : [])),
  };
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

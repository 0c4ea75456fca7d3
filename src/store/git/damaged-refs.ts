/** Looking through the skeleton of a repository and its refs, without git: one bad file can stop all of git. */

import fs from 'node:fs';
import path from 'node:path';
import { realDisk, replaceFile } from '../disk.ts';
import { systemCode } from '../errors.ts';
import type { Repository } from './repository.ts';

/** A file below `refs/` that is no ref. `ref`: its name. */
export interface DamagedRef {
  readonly ref: string;
  readonly file: string;
  readonly why: string;
}

/** Depth of folders below `refs/`; deeper ones are nobody's. */
const depthMax = 8;

/** Every entry below `refs/` that is no plain file with a commit id. */
export function findDamagedRefs({ gitDir }: Pick<Repository, 'gitDir'>): DamagedRef[] {
  return lookInto(gitDir, 'refs', 0);
}

function lookInto(gitDir: string, ref: string, depth: number): DamagedRef[] {
  const folder = path.join(gitDir, ref);
  return fs.readdirSync(folder, { withFileTypes: true }).flatMap((entry): DamagedRef[] => {
    const at = { ref: `${ref}/${entry.name}`, file: path.join(folder, entry.name) };
    if (entry.isDirectory() && depth < depthMax) {
      const isBranch = /^refs\/heads\/(trust|log\/[^/]+|view\/[^/]+)$/.test(at.ref);
      return isBranch ? [{ ...at, why: 'is a folder' }] : lookInto(gitDir, at.ref, depth + 1);
    }
    const why = entry.isFile() ? refFault(at.file) : 'is not a plain file';
    return why === undefined ? [] : [{ ...at, why }];
  });
}

function refFault(file: string): string | undefined {
  const bytes = fs.readFileSync(file);
  if (bytes.length === 0) return 'is empty';
  if (bytes.every((byte) => byte === 0)) return 'is filled with NUL bytes';
  return /^[0-9a-f]{40}\n?$/.test(bytes.toString('latin1')) ? undefined : 'does not hold a commit id';
}

/** Whether `packed-refs` can be read to its end; true where there is none. */
export function isPackedRefsSound({ gitDir }: Pick<Repository, 'gitDir'>): boolean {
  const text = readText(path.join(gitDir, 'packed-refs'));
  if (text === undefined || text === '') return true;
  return text.endsWith('\n') && text.slice(0, -1).split('\n').every(isPackedLine);
}

function isPackedLine(line: string): boolean {
  return /^([0-9a-f]{40} refs\/\S+|\^[0-9a-f]{40}|#.*)$/.test(line);
}

/** Writes `packed-refs` again from those of its lines that can be read, durably. @returns how many refs these are. */
export async function mendPackedRefs({ gitDir }: Pick<Repository, 'gitDir'>): Promise<number> {
  const file = path.join(gitDir, 'packed-refs');
  const lines = (readText(file) ?? '').split('\n').filter(isPackedLine);
  const text = lines.length === 0 ? '' : `${lines.join('\n')}\n`;
  await replaceFile(realDisk, { file, data: Buffer.from(text, 'latin1') });
  return lines.filter((line) => /^[0-9a-f]/.test(line)).length;
}

/** Whether HEAD is what we write there: the branch of a log. */
export function isHeadSound({ gitDir }: Pick<Repository, 'gitDir'>): boolean {
  const file = path.join(gitDir, 'HEAD');
  if (fs.lstatSync(file, { throwIfNoEntry: false })?.isFile() !== true) return false;
  return /^ref: refs\/heads\/log\/[a-z][a-z0-9-]{0,30}\n?$/.test(readText(file) ?? '');
}

/** Writes HEAD, durably: a clone of this repository checks out the log of its host. */
export async function writeHead({ gitDir }: Pick<Repository, 'gitDir'>, host: string): Promise<void> {
  const data = Buffer.from(`ref: refs/heads/log/${host}\n`);
  await replaceFile(realDisk, { file: path.join(gitDir, 'HEAD'), data, mode: 0o644 });
}

function readText(file: string): string | undefined {
  try {
    return fs.readFileSync(file, 'latin1');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Branches of logs that count no more, as a home keeps them. */
import { parseLine, type Line } from '../../src/core/line.ts';
import { meshId } from './charter.ts';
import type { SimHost } from './types.ts';

/** A branch that counts no more. Throws DiskFault. */
export function keepBranch({ disk }: SimHost, texts: readonly string[]): void {
  const [first] = parsed(texts.slice(0, 1));
  if (first === undefined) return;
  const name = `fork ${first.log} ${first.seq} ${first.link}`;
  if (((disk.read(name) ?? []) as readonly string[]).length >= texts.length) return;
  disk.write(name, texts);
  disk.sync();
}

/** The branches of a log that are kept here. */
export function branchesOf({ disk }: SimHost, log: string): readonly (readonly Line[])[] {
  const names = disk.names().filter((name) => name.startsWith(`fork ${log} `));
  return names.toSorted((a, b) => (a < b ? -1 : 1)).map((name) => parsed(disk.read(name) as readonly string[]));
}

/** As far as they are lines. */
export function parsed(texts: readonly string[]): readonly Line[] {
  return texts.flatMap((text) => {
    const line = parseLine(text, meshId);
    return line.ok ? [line.value] : [];
  });
}

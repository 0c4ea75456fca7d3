/** Trust ops that can still be read, wherever in the object store they are. Each proves itself, so it does not matter. */

import { commitBytesMax, maintenanceDeadlineMs, trustFilesMax, trustOpBytesMax } from '../core/limits.ts';
import { decodeUtf8 } from '../crypto/text.ts';
import { decodeCommit, decodeTree } from './git/object-id.ts';
import { listObjects } from './git/object-list.ts';
import { openReader, type ObjectReader } from './git/reader.ts';
import type { Repository } from './git/repository.ts';

/** Objects read at a time. */
const objectsAtATime = 256;
const treeBytesMax = trustFilesMax * 97;

/** Texts that may be ops, from the trees of these commits; what cannot be read is passed over. */
export async function salvageOps(repository: Repository, commits: readonly string[]): Promise<readonly string[]> {
  const reader = openReader(repository, { deadlineMs: maintenanceDeadlineMs });
  try {
    const heads = await readGood(reader, commits, 'commit', commitBytesMax);
    const roots = heads.flatMap((content) => decodeCommit(content)?.tree ?? []);
    const folders = entriesOf(await readGood(reader, roots, 'tree', treeBytesMax), '40000');
    const files = entriesOf(await readGood(reader, folders, 'tree', treeBytesMax), '100644');
    return textsOf(await readGood(reader, files, 'blob', trustOpBytesMax + 1));
  } finally {
    await reader.close();
  }
}

/** The same from every blob that is small enough: for a branch of which no folder is left. */
export async function salvageAllOps(repository: Repository): Promise<readonly string[]> {
  const bytesMax = trustOpBytesMax + 1;
  const small = await listObjects(repository, ({ type, bytes }) => type === 'blob' && bytes <= bytesMax);
  const reader = openReader(repository, { deadlineMs: maintenanceDeadlineMs });
  try {
    return textsOf(await readGood(reader, small, 'blob', bytesMax));
  } finally {
    await reader.close();
  }
}

async function readGood(
  reader: ObjectReader,
  oids: readonly string[],
  type: 'commit' | 'tree' | 'blob',
  bytesMax: number,
): Promise<readonly Buffer[]> {
  const unique = [...new Set(oids)];
  const good: Buffer[] = [];
  for (let start = 0; start < unique.length; start += objectsAtATime) {
    const answers = await reader.read(unique.slice(start, start + objectsAtATime), { type, bytesMax });
    for (const answer of answers) if (answer.ok && mayBeOp(type, answer.content)) good.push(answer.content);
  }
  return good;
}

/** Most blobs are files of logs: they need not be kept to see that. */
function mayBeOp(type: string, content: Buffer): boolean {
  return type !== 'blob' || (content.toString('latin1', 0, 2) === '{"' && content.indexOf(0x0a) === content.length - 1);
}

function entriesOf(trees: readonly Buffer[], mode: string): readonly string[] {
  return trees.flatMap((content) => {
    const entries = decodeTree(content) ?? [];
    return entries.flatMap((entry) => (entry.mode === mode ? entry.oid : []));
  });
}

function textsOf(blobs: readonly Buffer[]): readonly string[] {
  return blobs.flatMap((content) => {
    const text = decodeUtf8(content);
    return text === undefined ? [] : text.slice(0, -1);
  });
}

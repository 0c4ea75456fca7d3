/** The other side of a fork: lines of a log that differ from ours, signed by its host all the same. */
import { setImmediate } from 'node:timers/promises';
import { childDeadlineMs } from '../../core/limits.ts';
import { extendLog, type VerifiedLine } from '../../core/log.ts';
import { parseLine, type Line } from '../../core/line.ts';
import { openReader } from '../../store/git/reader.ts';
import type { ObjectView } from '../../store/git/repository.ts';
import { readLogLayout, readSegments } from '../../store/logs/log-tree.ts';
import { streamLog } from '../../store/logs/log-store.ts';
import type { MeshNode } from '../node.ts';

/**
 * The lines of a commit from the first one on that is another than ours, as far as a key of that host vouches for them: any
 * key that it ever had, since what stands behind a pin was signed with the one before. Empty when there is no such line.
 */
export async function readBranch(
  node: MeshNode,
  log: string,
  from: { readonly view: ObjectView; readonly commit: string },
): Promise<readonly VerifiedLine[]> {
  const host = node.charter().hosts.get(log);
  if (host === undefined) return [];
  const other = await linesUnlikeOurs(node, log, from);
  const [first] = other;
  if (first === undefined) return [];
  const start = { seq: first.seq - 1, link: first.prev };
  const texts = other.map(({ text }) => text);
  const purged = node.purged?.();
  const found = host.keys.map((key) => {
    const keys = [{ key, from: 1, upto: null }];
    return extendLog({ host: log, mesh: node.meshId, from: start, keys, ...(purged && { purged }) }, texts).lines;
  });
  return found.toSorted((a, b) => b.length - a.length)[0] ?? [];
}

async function linesUnlikeOurs(
  node: MeshNode,
  log: string,
  { view, commit }: { readonly view: ObjectView; readonly commit: string },
): Promise<readonly Line[]> {
  const reader = openReader(view, { deadlineMs: childDeadlineMs });
  try {
    const layout = await readLogLayout(reader, commit);
    if (!layout.ok) return [];
    const lines: Line[] = [];
    for await (const part of readSegments(reader, layout.value)) {
      if (!part.ok) return lines;
      for (const text of part.value.lines) {
        const line = parseLine(text, node.meshId);
        if (!line.ok) return lines;
        const { seq, link } = line.value;
        if (lines.length > 0 || node.linkAt(log, seq) !== link) lines.push(line.value);
      }
      await setImmediate();
    }
    return lines;
  } finally {
    await reader.close();
  }
}

/** A line of our copy of a log; undefined when it is not held. Throws OperatingError when our copy is damaged. */
export async function readOurLine(
  node: Pick<MeshNode, 'repository' | 'meshId' | 'tip'>,
  log: string,
  seq: number,
): Promise<Line | undefined> {
  const { repository, meshId } = node;
  const ours = node.tip(log);
  if (ours === undefined || ours.seq < seq) return undefined;
  let count = 0;
  for await (const part of streamLog(repository, log, ours.oid)) {
    const text = part[seq - count - 1];
    count += part.length;
    if (count < seq) continue;
    const line = text === undefined ? undefined : parseLine(text, meshId);
    return line?.ok === true && line.value.seq === seq ? line.value : undefined;
  }
  return undefined;
}

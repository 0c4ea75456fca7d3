/** View journals as they are held, on the disk and in memory, and what is served of them. */
import type { ViewTip } from '../../src/core/sync/peer.ts';
import type { World } from '../../src/core/sync/vocabulary.ts';
import type { ViewOwner } from '../../src/core/view-chain.ts';
import { isOutdatedLine, parseViewLine, viewLineHash, type ViewLine } from '../../src/core/view-line.ts';
import { meshId, oidOf, verifyCheaply } from './charter.ts';
import type { Memory, SimHost } from './types.ts';

/** Durable, then here. Throws DiskFault. */
export function keepViews(
  { disk }: SimHost,
  memory: Memory,
  { of, lines }: { readonly of: string; readonly lines: readonly ViewLine[] },
): void {
  disk.write(
    `views ${of}`,
    lines.map(({ text }) => text),
  );
  disk.sync();
  memory.views.set(of, lines);
}

/** The journals on the disk. */
export function readViews({ disk }: SimHost): Map<string, readonly ViewLine[]> {
  const names = disk.names().filter((name) => name.startsWith('views '));
  return new Map(
    names.map((name) => {
      const texts = disk.read(name) as readonly string[];
      return [name.slice(6), texts.flatMap((text) => readViewLine(text) ?? [])];
    }),
  );
}

/** A view line; undefined for what is none. */
export function readViewLine(text: string): ViewLine | undefined {
  const parsed = parseViewLine(text);
  return parsed.ok ? parsed.value : undefined;
}

export function viewTipOf(lines: readonly ViewLine[] | undefined): ViewTip | undefined {
  const last = lines?.at(-1);
  return last === undefined ? undefined : { oid: oidOf(last.text), n: last.n, hash: viewLineHash(last) };
}

/** What `memd heads` says of journals. */
export function viewTips({ memory }: SimHost): Readonly<Record<string, ViewTip>> {
  const tips: Record<string, ViewTip> = {};
  for (const [host, lines] of memory?.views ?? []) {
    const tip = viewTipOf(lines);
    if (tip !== undefined) tips[host] = tip;
  }
  return tips;
}

export function viewWorld(memory: Memory): NonNullable<World['views']> {
  return {
    tip: (host) => viewTipOf(memory.views.get(host)),
    isDamaged: () => false,
    isOutdated: (host) => isOutdated(memory, host),
    isAwaited: () => false,
  };
}

export function isOutdated(memory: Memory, host: string): boolean {
  const last = memory.views.get(host)?.at(-1);
  return last !== undefined && isOutdatedLine(last, ownerOf(memory, host).keys, verifyCheaply);
}

export function ownerOf({ trust }: Memory, host: string): ViewOwner {
  const keys = trust.charter.hosts.get(host)?.keys ?? [];
  return { host, mesh: meshId, keys, verify: verifyCheaply };
}

export type ServedViews = ReadonlyMap<string, readonly string[]>;

export function serveViews(host: SimHost, wanted: Iterable<string>): ServedViews | undefined {
  const { memory, lies } = host;
  if (memory === undefined || lies.has('silent')) return undefined;
  return new Map([...wanted].map((name) => [name, (memory.views.get(name) ?? []).map(({ text }) => text)]));
}

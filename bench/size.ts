/**
 * What the repository takes after maintenance, beside the same lines under `zstd -3`. *bulk*: 1 000 lines a commit. *live*: one line a commit, maintained as often as memd does it.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { constants, zstdCompressSync } from 'node:zlib';
import type { Line } from '../src/core/line.ts';
import { realDisk } from '../src/store/disk.ts';
import { listPacks } from '../src/store/git/pack-index.ts';
import { countLoose } from '../src/store/git/loose-files.ts';
import { mergePacks, packLoose, type Settled } from '../src/store/git/repack.ts';
import type { Tips } from '../src/store/git/pack-ranges.ts';
import { initRepository, type Repository } from '../src/store/git/repository.ts';
import { openLogWriter } from '../src/store/logs/log-writer.ts';
import { corpusHosts, makeCorpus, type Corpus } from './corpus.ts';
import { ratioFigure, timed, type Figure } from './lib/figures.ts';

const shapes = {
  bulk: { linesPerCommit: 1_000, atMost: 1.3 },
  live: { linesPerCommit: 1, atMost: 3.5 },
} as const;
/** Commits between two runs: an hour of a busy mesh. */
const commitsPerRun = 3_600;
const meshId = 'a'.repeat(64);

export async function benchSize({ count }: { readonly count: number }): Promise<Figure[]> {
  const corpus = makeCorpus({ count, seed: 1, meshId });
  const floor = compressedBytes(corpus);
  const figures: Figure[] = [];
  for (const shape of ['bulk', 'live'] as const) {
    const folder = mkdtempSync(join(tmpdir(), 'memd-bench-'));
    try {
      const { bytes, detail } = await laid(corpus, shape, folder);
      figures.push(
        ratioFigure({
          what: `repository after maintenance, ${count} lines, ${shape} (${detail})`,
          value: bytes / 1e6,
          unit: 'MB',
          floor: { what: 'the same lines, zstd -3', value: floor / 1e6 },
          atMost: shapes[shape].atMost,
        }),
      );
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return figures;
}

/** Each log is one file, as `memctl export` writes it. */
function compressedBytes({ logs }: Corpus): number {
  const params = { [constants.ZSTD_c_compressionLevel]: 3 };
  return corpusHosts.reduce(
    (sum, host) => sum + zstdCompressSync(Buffer.from(textOf(logs[host])), { params }).length,
    0,
  );
}

function textOf(lines: readonly Line[]): string {
  return lines.map(({ text }) => `${text}\n`).join('');
}

async function laid(
  { logs }: Corpus,
  shape: keyof typeof shapes,
  folder: string,
): Promise<{ readonly bytes: number; readonly detail: string }> {
  // Nothing is lost here in a power cut, and a hundred thousand flushes are not what is measured.
  const disk = { ...realDisk, syncFile: () => Promise.resolve(), syncDirectory: () => Promise.resolve() };
  const repository = await initRepository(join(folder, 'repo.git'), { host: corpusHosts[0], disk });
  const writers = await Promise.all(corpusHosts.map((host) => openLogWriter({ repository, host, meshId })));
  const step = shapes[shape].linesPerCommit;
  const keeper = createKeeper(repository);
  let commits = 0;
  for (let from = 0; from < logs.alpha.length; from += step) {
    for (const writer of writers) {
      const lines = logs[writer.host as keyof typeof logs].slice(from, from + step);
      if (lines.length > 0) await writer.append(lines);
      commits += 1;
      if (commits % commitsPerRun === 0) await keeper.hourly();
    }
  }
  await keeper.hourly();
  const [packs, before] = [listPacks(repository).length, bytesOf(repository)];
  const seconds = (await timed(keeper.merge)) / 1_000;
  if ((await countLoose(repository)) > 0) throw new Error('loose objects are left');
  const detail = `${(before / 1e6).toFixed(1)} MB in ${packs} packs before the last merge of ${seconds.toFixed(0)} s`;
  return { bytes: bytesOf(repository), detail };
}

function createKeeper(repository: Repository): {
  readonly hourly: () => Promise<void>;
  readonly merge: () => Promise<void>;
} {
  const { signal } = new AbortController();
  let packed: Tips = {};
  let settled: Settled = { tips: {}, packs: [] };
  return {
    async hourly() {
      ({ tips: packed } = await packLoose(repository, packed, { signal }));
    },
    async merge() {
      ({ settled } = await mergePacks(repository, settled, { signal }));
    },
  };
}

/** Packs and their indexes: all that there is when nothing is loose. */
function bytesOf(repository: Repository): number {
  const pack = join(repository.objectDir, 'pack');
  return listPacks(repository).reduce(
    (sum, { name, bytes }) => sum + bytes + statSync(join(pack, `${name}.idx`)).size,
    0,
  );
}

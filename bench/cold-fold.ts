/** Cold fold of the standard corpus, chain verified, against parsing and hashing the same lines. */
import { createFold, foldLines, readState } from '../src/core/fold/fold.ts';
import { extendLog, type VerifiedLine } from '../src/core/log.ts';
import { sha256Hex } from '../src/crypto/hash.ts';
import { corpusHosts, makeCorpus } from './corpus.ts';
import { makeBenchMesh } from './lib/bench-mesh.ts';
import { quantiles, ratioFigure, timed, type Figure } from './lib/figures.ts';

const runs = 5;

export async function benchColdFold(options: { readonly count: number }): Promise<Figure[]> {
  const { charter, trust } = makeBenchMesh(corpusHosts);
  const corpus = makeCorpus({ count: options.count, seed: 1, meshId: charter.meshId });
  const texts = corpusHosts.map((host) => ({ host, lines: corpus.logs[host].map(({ text }) => text) }));
  const fold = (): string => {
    const all: VerifiedLine[] = [];
    for (const { host, lines } of texts) {
      const keys = charter.hosts.get(host)?.spans ?? [];
      const { lines: verified, fault } = extendLog(
        { host, mesh: charter.meshId, from: { seq: 0, link: charter.meshId }, keys },
        lines,
      );
      if (fault !== undefined) throw new Error(`the corpus does not verify: ${fault.detail}`);
      for (const line of verified) all.push(line);
    }
    const state = createFold(charter, trust);
    foldLines(state, all);
    return readState(state).root;
  };
  const floor = (): void => {
    for (const { lines } of texts) {
      for (const line of lines) {
        JSON.parse(line);
        sha256Hex(line);
        sha256Hex(line);
      }
    }
  };
  const figures: number[] = [];
  const floors: number[] = [];
  fold();
  for (let run = 0; run < runs; run += 1) {
    floors.push(await timed(floor));
    figures.push(await timed(fold));
  }
  return [
    ratioFigure({
      what: `cold fold, ${options.count} lines, chain verified`,
      value: quantiles(figures).p50,
      unit: 'ms',
      floor: { what: 'JSON.parse + 2 × sha256', value: quantiles(floors).p50 },
      atMost: 4,
    }),
  ];
}

/** search over the standard corpus, beside the bare FTS query for the same words in the same file. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { createFold, foldLines, readState, subjectsOf } from '../src/core/fold/fold.ts';
import { extendLog } from '../src/core/log.ts';
import { eventRows, recordRows } from '../src/daemon/beliefs/fold-rows.ts';
import { search } from '../src/daemon/queries/search.ts';
import { openDatabase } from '../src/store/database/database.ts';
import { matchExpression } from '../src/store/database/word-index.ts';
import { corpusHosts, makeCorpus } from './corpus.ts';
import { makeBenchMesh } from './lib/bench-mesh.ts';
import { quantiles, timed, type Figure } from './lib/figures.ts';

const runs = 15;
const targetMs = 50;

/**
 * The corpus has 22 words in its sentences, so the first queries match half of all claims: the worst that words can do.
 * The others are what people ask.
 */
const queries = {
  'a word in half of all claims': 'backup',
  'three such words': 'the route from',
  'beginnings of such words': 'back rout',
  'a subject': 's5',
  'a subject and a common word': 'v17 route',
  nothing: 'zebra',
} as const;

export async function benchSearch(options: { readonly count: number }): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'memd-bench-'));
  try {
    const file = join(folder, 'state.sqlite');
    fill(file, options.count);
    const database = openDatabase(file);
    const bare = new Database(file, { readonly: true });
    const floor = bare.prepare('SELECT rowid FROM claim_words WHERE claim_words MATCH ? ORDER BY rank LIMIT 20');
    const figures: Figure[] = [];
    for (const [what, words] of Object.entries(queries)) {
      const expression =
        matchExpression(words, words === queries['beginnings of such words'] ? 'beginnings' : 'all') ?? '';
      const [times, floors]: [number[], number[]] = [[], []];
      for (let run = 0; run <= runs; run += 1) {
        const floorMs = await timed(() => floor.all(expression));
        const ms = await timed(() => search(database, { words, scope: undefined, limit: 20 }));
        if (run === 0) continue;
        times.push(ms);
        floors.push(floorMs);
      }
      figures.push(figureOf(`search of ${options.count} events, ${what}`, times, floors));
    }
    bare.close();
    database.close();
    return figures;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function figureOf(what: string, times: readonly number[], floors: readonly number[]): Figure {
  const { p50, p95 } = quantiles(times);
  return {
    what: `${what}, p50 (p95 ${p95.toFixed(1)} ms)`,
    value: p50,
    unit: 'ms',
    floor: { what: 'bare FTS5 query, ORDER BY rank LIMIT 20', value: quantiles(floors).p50 },
    target: `≤ ${targetMs} ms`,
    met: p50 <= targetMs,
  };
}

/** A database as memd would have it after the corpus. */
function fill(file: string, count: number): void {
  const { charter, trust } = makeBenchMesh(corpusHosts);
  const { logs, meshId } = makeCorpus({ count, seed: 1, meshId: charter.meshId });
  const fold = createFold(charter, trust);
  for (const host of corpusHosts) {
    const keys = charter.hosts.get(host)?.spans ?? [];
    const from = { host, mesh: meshId, from: { seq: 0, link: meshId }, keys };
    foldLines(
      fold,
      extendLog(
        from,
        logs[host].map(({ text }) => text),
      ).lines,
    );
  }
  const database = openDatabase(file);
  const subjects = ['', ...subjectsOf(fold)];
  database.write({
    events: eventRows(fold, subjects),
    records: recordRows(fold, subjects),
    meta: { counts: JSON.stringify(readState(fold).counts) },
  });
  database.close();
}

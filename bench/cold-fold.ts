/** Cold fold of the standard corpus, chain verified, against parsing and hashing the same lines. */
import { createFold, foldLines, readState } from '../src/core/fold/fold.ts';
import { extendLog, type VerifiedLine } from '../src/core/log.ts';
import type { Charter } from '../src/core/trust/charter.ts';
import { sha256Hex } from '../src/crypto/hash.ts';
import { approvalsOf, createApprovalChecks } from '../src/daemon/beliefs/approval-checks.ts';
import { bareSignatures, benchKey, verifyBare } from './approvals.ts';
import { corpusHosts, makeCorpus } from './corpus.ts';
import { makeBenchMesh } from './lib/bench-mesh.ts';
import { quantiles, ratioFigure, timed, type Figure } from './lib/figures.ts';

const runs = 5;

type Texts = readonly { readonly host: string; readonly lines: readonly string[] }[];

export async function benchColdFold(options: { readonly count: number }): Promise<Figure[]> {
  const { charter, trust } = makeBenchMesh(corpusHosts);
  const plain = textsOf(charter, options.count, 0);
  const signed = textsOf(charter, options.count, 10);
  const bare = bareSignatures([
    ...approvalsOf(
      charter,
      signed.flatMap((log) => verifiedLines(charter, log)),
    ),
  ]);
  const key = benchKey();
  const figures: number[] = [];
  const floors: number[] = [];
  const signedFigures: number[] = [];
  const signedFloors: number[] = [];
  const verifies: number[] = [];
  await coldFold(charter, trust, plain);
  await coldFold(charter, trust, signed);
  for (let run = 0; run < runs; run += 1) {
    floors.push(await timed(() => parseAndHash(plain)));
    figures.push(await timed(() => coldFold(charter, trust, plain)));
    signedFloors.push(await timed(() => parseAndHash(signed)));
    verifies.push(await timed(() => verifyBare(bare, key)));
    signedFigures.push(await timed(() => coldFold(charter, trust, signed)));
  }
  const middle = (values: readonly number[]): number => quantiles(values).p50;
  return [
    ratioFigure({
      what: `cold fold, ${options.count} lines, chain verified`,
      value: middle(figures),
      unit: 'ms',
      floor: { what: 'JSON.parse + 2 × sha256', value: middle(floors) },
      atMost: 4,
    }),
    ratioFigure({
      what: `the same, 10 % signed (${bare.length} approvals)`,
      value: middle(signedFigures),
      unit: 'ms',
      floor: { what: 'the unsigned cold fold + bare ed25519 verify', value: middle(figures) + middle(verifies) },
      atMost: 1.3,
    }),
    // The sum of the two floors, by the letter: the unsigned fold alone may take four times the first.
    ratioFigure({
      what: 'the same, against the sum of both floors',
      value: middle(signedFigures),
      unit: 'ms',
      floor: { what: 'JSON.parse + 2 × sha256 + bare ed25519 verify', value: middle(signedFloors) + middle(verifies) },
      atMost: 1.3,
    }),
  ];
}

export function textsOf(charter: Charter, count: number, signedPercent: 0 | 10): Texts {
  const corpus = makeCorpus({ count, seed: 1, meshId: charter.meshId, signedPercent });
  return corpusHosts.map((host) => ({ host, lines: corpus.logs[host].map(({ text }) => text) }));
}

/** As memd loads: approvals are verified on the thread pool from the moment their log is read. */
async function coldFold(charter: Charter, trust: string, texts: Texts): Promise<string> {
  const all: VerifiedLine[] = [];
  const checks = createApprovalChecks();
  for (const log of texts) {
    const lines = verifiedLines(charter, log);
    for (const line of lines) all.push(line);
    checks.begin(approvalsOf(charter, lines));
  }
  await checks.settled();
  const state = createFold(charter, trust, checks.ports);
  foldLines(state, all);
  return readState(state).root;
}

export function verifiedLines(charter: Charter, { host, lines }: Texts[number]): readonly VerifiedLine[] {
  const keys = charter.hosts.get(host)?.spans ?? [];
  const start = { host, mesh: charter.meshId, from: { seq: 0, link: charter.meshId }, keys };
  const { lines: verified, fault } = extendLog(start, lines);
  if (fault !== undefined) throw new Error(`the corpus does not verify: ${fault.detail}`);
  return verified;
}

function parseAndHash(texts: Texts): void {
  for (const { lines } of texts) {
    for (const line of lines) {
      JSON.parse(line);
      sha256Hex(line);
      sha256Hex(line);
    }
  }
}

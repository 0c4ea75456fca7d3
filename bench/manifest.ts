/**
 * One view of the standard corpus checked by its manifest, as a library call, beside the bare ed25519 verifies in it, run by
 * run in turn; and one record proved to the root, beside its hashes.
 */
import { verify } from 'node:crypto';
import { createFold, foldLines, readState } from '../src/core/fold/fold.ts';
import { rulesVersion } from '../src/core/fold/state.ts';
import { judgeFiles, judgeManifest, manifestText, parseManifest } from '../src/core/manifest.ts';
import {
  buildViewLine,
  hashesDigest,
  outsideN,
  statementMessage,
  viewLineMessage,
  type Statement,
} from '../src/core/view-line.ts';
import { provedDigest, proveKey } from '../src/core/root.ts';
import { renderViews } from '../src/core/views/render.ts';
import { viewSourceOf } from '../src/core/views/view-source.ts';
import { decodeBase64, encodeBase64 } from '../src/crypto/base64.ts';
import { publicKeyOf, signEd25519, strictEd25519Handle } from '../src/crypto/ed25519.ts';
import { sha256Hex, sha256OfHex } from '../src/crypto/hash.ts';
import { utf8Bytes } from '../src/crypto/text.ts';
import { textsOf, verifiedLines } from './cold-fold.ts';
import { corpusHosts, corpusKey } from './corpus.ts';
import { makeBenchMesh } from './lib/bench-mesh.ts';
import { ceilingFigure, quantiles, ratioFigure, timed, type Figure } from './lib/figures.ts';

const runs = 300;
const proofs = 500;

/** Manifest of the views of `count` lines, cosigned by every other host, and all that a check needs. */
function makeCase(count: number) {
  const { charter, trust } = makeBenchMesh(corpusHosts);
  const fold = createFold(charter, trust);
  foldLines(
    fold,
    textsOf(charter, count, 0).flatMap((log) => verifiedLines(charter, log)),
  );
  const views = renderViews(viewSourceOf(fold));
  const files = new Map([...views].map(([name, text]) => [name, sha256Hex(text)] as const));
  const heads = new Map(corpusHosts.map((host) => [host, { seq: count, link: sha256Hex(host) }] as const));
  const { meshId: mesh } = charter;
  const statement: Statement = { heads, mesh, root: readState(fold).root, rules: rulesVersion, trust };
  const [host, ...others] = corpusHosts;
  const parts = { ...statement, host, at: '2026-07-27T10:00:00.000Z', n: outsideN, prev: mesh };
  const signed = { ...parts, views: new Map([['operator', hashesDigest(files)]]) };
  const line = buildViewLine(signed, (message) => signEd25519(corpusKey(host), message));
  const cosign = (name: string): string => encodeBase64(signEd25519(corpusKey(name), statementMessage(line)));
  const cosigned = new Map(others.map((name) => [name, cosign(name)]));
  const text = manifestText({ audience: 'operator', files, line, cosigned });
  const check = (): void => {
    const parsed = parseManifest(text);
    if (!parsed.ok) throw new Error(parsed.detail);
    const index = new Map([['INDEX.md', sha256Hex(views.get('INDEX.md') ?? '')]]);
    const problems = [
      ...judgeManifest(parsed.value, { meshId: mesh, charter, hash: trust }),
      ...judgeFiles(parsed.value, index),
    ];
    if (problems.length > 0) throw new Error(problems[0]?.detail);
  };
  const signatures = [
    bare(host, viewLineMessage(line), line.sig),
    bare(host, statementMessage(line), line.cosign),
    ...[...cosigned].map(([name, one]) => bare(name, statementMessage(line), one)),
  ];
  return { check, signatures, bytes: text.length, fold, root: statement.root };
}

function bare(host: string, message: string, base64: string): () => void {
  const signature = decodeBase64(base64) ?? new Uint8Array(0);
  const key = strictEd25519Handle(publicKeyOf(corpusKey(host)), signature);
  if (key === null) throw new Error('a key of the corpus is a good one');
  const data = utf8Bytes(message);
  return () => {
    if (!verify(null, data, key, signature)) throw new Error('a bare signature does not verify');
  };
}

export async function benchManifest(options: { readonly count: number }): Promise<Figure[]> {
  const made = makeCase(options.count);
  const { check, signatures, bytes } = made;
  const floor = (): void => {
    for (const one of signatures) one();
  };
  for (let run = 0; run < 20; run += 1) [check, floor].forEach((one) => one());
  const [figures, floors]: [number[], number[]] = [[], []];
  for (let run = 0; run < runs; run += 1) {
    floors.push(await timed(floor));
    figures.push(await timed(check));
  }
  const { p50: value, p95 } = quantiles(figures);
  const what = `one view of ${options.count} lines checked by its manifest (${bytes} bytes, ${signatures.length} signatures)`;
  const slowest = { what: `${what}, p95`, value: p95, unit: 'ms', target: 'none: this machine as it is', met: true };
  return [
    ...proofFigures(made),
    ceilingFigure({ what: `${what}, p50`, value, unit: 'ms', atMost: 5 }),
    { ...slowest, floor: { what: 'the bare ed25519 verifies, p95', value: quantiles(floors).p95 } },
    ratioFigure({
      what: `${what}, p50`,
      value,
      unit: 'ms',
      floor: { what: 'the bare ed25519 verifies', value: quantiles(floors).p50 },
      atMost: 3,
    }),
  ];
}

/** A record of the corpus proved to the root, and checked: a hash for each level, and the record's own two. */
function proofFigures({ fold, root }: ReturnType<typeof makeCase>): readonly Figure[] {
  const keys = [...fold.records.keys()].slice(0, proofs);
  const context = { rules: rulesVersion, trust: fold.trust };
  const [times, floors, sizes]: [number[], number[], number[]] = [[], [], []];
  for (const key of [...keys, ...keys.map((one) => `${one}-absent`)]) {
    const start = performance.now();
    const proof = proveKey(fold.tree, key);
    const said = provedDigest(proof, { key, root, context });
    times.push(performance.now() - start);
    if (said === undefined) throw new Error(`no proof of ${key}`);
    const from = performance.now();
    for (let level = 0; level < proof.siblings.length; level += 1) sha256OfHex(`01${root}${root}`);
    floors.push(performance.now() - from);
    sizes.push(JSON.stringify(proof).length);
  }
  const what = `one record of ${fold.records.size} proved and checked`;
  const floor = { what: 'its levels hashed', value: quantiles(floors).p50 };
  const largest = Math.max(...sizes);
  return [
    { ...ceilingFigure({ what: `${what}, p50`, value: quantiles(times).p50, unit: 'ms', atMost: 1 }), floor },
    ceilingFigure({
      what: `the largest of ${sizes.length} such proofs, as JSON`,
      value: largest,
      unit: 'bytes',
      atMost: 2_048,
    }),
  ];
}

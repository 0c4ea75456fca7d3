/**
 * Approvals verified as a cold fold verifies them, against the bare signatures on the same threads, and beside one
 * `ssh-keygen -Y verify` for each.
 */
import { execFile } from 'node:child_process';
import { createPublicKey, verify, type KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventNamespace } from '../src/core/event.ts';
import { canonicalJson, type JsonValue } from '../src/crypto/canonical.ts';
import { decodeBase64 } from '../src/crypto/base64.ts';
import { signedData, type Approval } from '../src/crypto/sshsig.ts';
import { createApprovalChecks } from '../src/daemon/beliefs/approval-checks.ts';
import { benchSigner, benchSignerKey, corpusHosts, makeCorpus } from './corpus.ts';
import { makeBenchMesh } from './lib/bench-mesh.ts';
import { quantiles, ratioFigure, timed, type Figure } from './lib/figures.ts';

const runs = 7;
/** Processes are slow: some are measured, and the rest is multiplied. */
const keygenSample = 60;
const ed25519Bytes = 64;

/** A signature without its form: what a verifier cannot do without. */
export interface BareSignature {
  readonly data: Uint8Array;
  readonly signature: Uint8Array;
}

/** The ed25519 signatures inside approvals, and the bytes that they cover. */
export function bareSignatures(approvals: readonly Approval[]): readonly BareSignature[] {
  const fields = { namespace: eventNamespace, hash: 'sha512' } as const;
  return approvals.map(({ sshsig, message }) => ({
    data: signedData(fields, message),
    signature: (decodeBase64(sshsig) ?? new Uint8Array(0)).slice(-ed25519Bytes),
  }));
}

/** Verifies them with node:crypto alone, on the thread pool. Throws if one does not verify. */
export async function verifyBare(bare: readonly BareSignature[], key: KeyObject): Promise<void> {
  const verdicts = bare.map(
    ({ data, signature }) =>
      new Promise<boolean>((resolve) => {
        verify(null, data, key, signature, (error, valid) => resolve(error === null && valid));
      }),
  );
  if (!(await Promise.all(verdicts)).every(Boolean)) throw new Error('a bare signature does not verify');
}

export function benchKey(): KeyObject {
  return createPublicKey(benchSignerKey().signing.handle);
}

/** Approvals of the first `count` bodies of the corpus, ten times as long. */
function makeApprovals(count: number): readonly Approval[] {
  const { charter } = makeBenchMesh(corpusHosts);
  const { lines } = makeCorpus({ count: count * 10, seed: 1, meshId: charter.meshId, signedPercent: 10 });
  const key = benchSignerKey().public;
  return lines.flatMap(({ auth, body }) => {
    const message = canonicalJson(body as unknown as JsonValue);
    return auth === null ? [] : [{ sshsig: auth.sshsig, namespace: eventNamespace, message, key }];
  });
}

export async function benchApprovals(options: { readonly count: number }): Promise<Figure[]> {
  const approvals = makeApprovals(options.count);
  const bare = bareSignatures(approvals);
  const key = benchKey();
  const ours = async (): Promise<void> => {
    const checks = createApprovalChecks();
    checks.begin(approvals);
    await checks.settled();
    if (!approvals.every((approval) => checks.verify(approval).ok)) throw new Error('an approval does not verify');
  };
  await ours();
  const [figures, floors]: [number[], number[]] = [[], []];
  for (let run = 0; run < runs; run += 1) {
    floors.push(await timed(() => verifyBare(bare, key)));
    figures.push(await timed(ours));
  }
  const value = quantiles(figures).p50;
  return [
    ratioFigure({
      what: `${approvals.length} approvals verified, on the thread pool`,
      value,
      unit: 'ms',
      floor: { what: 'bare ed25519 verify, on the thread pool', value: quantiles(floors).p50 },
      atMost: 1.3,
    }),
    await keygenFigure(approvals, value),
  ];
}

/** One process per signature, as many at a time as there are cores. */
async function keygenFigure(approvals: readonly Approval[], ours: number): Promise<Figure> {
  const folder = mkdtempSync(join(tmpdir(), 'memd-bench-'));
  try {
    const files = approvals.slice(0, keygenSample).map((approval, index) => writeApproval(folder, approval, index));
    const sample = await timed(async () => {
      const queue = [...files];
      const worker = async (): Promise<void> => {
        for (let file = queue.pop(); file !== undefined; file = queue.pop()) await verifyByKeygen(folder, file);
      };
      await Promise.all(Array.from({ length: availableParallelism() }, worker));
    });
    return {
      what: `the same by one ssh-keygen -Y verify for each, on all cores (${files.length} measured, scaled)`,
      value: (sample / files.length) * approvals.length,
      unit: 'ms',
      floor: { what: 'ours', value: ours },
      target: 'none: for comparison',
      met: true,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function writeApproval(folder: string, approval: Approval, index: number): string {
  const stem = join(folder, String(index));
  const armored = approval.sshsig.replaceAll(/.{70}/g, '$&\n').trimEnd();
  writeFileSync(`${stem}.sig`, `-----BEGIN SSH SIGNATURE-----\n${armored}\n-----END SSH SIGNATURE-----\n`);
  writeFileSync(stem, approval.message);
  writeFileSync(join(folder, 'allowed'), `${benchSigner} ${approval.key.text}\n`);
  return stem;
}

async function verifyByKeygen(folder: string, stem: string): Promise<void> {
  const command = `exec ssh-keygen -Y verify -f "$1/allowed" -I ${benchSigner} -n ${eventNamespace} -s "$2.sig" < "$2"`;
  await promisify(execFile)('sh', ['-c', command, 'sh', folder, stem]);
}

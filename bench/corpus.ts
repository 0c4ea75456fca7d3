/**
 * The standard corpus: the one input that figures may be quoted for. Seeded, so every machine measures the same lines.
 *
 * N lines over 3 hosts round-robin, about 600 bytes each; 55 % assert, 30 % lesson, 15 % decision, observe or question;
 * N/4 subjects with Zipf reuse; 20 % supersede a claim of their own host, 2 % one of another host, 1 % conflict,
 * 0.5 % untrusted. A claim that supersedes keeps its subject's value, so that the share of conflicts is the stated one.
 * `signedPercent`: how many of a hundred carry an approval by the bench signer, evenly spread; the bodies are the same.
 */
import { makeBody, type Auth, type Body, type BodyInput } from '../src/core/event.ts';
import { buildLine, type Line } from '../src/core/line.ts';
import { publicKeyOf, signEd25519, signingKeyFromSeed, type SigningKey } from '../src/crypto/ed25519.ts';
import { canonicalJson, type JsonValue } from '../src/crypto/canonical.ts';
import { sha256, sha256Hex } from '../src/crypto/hash.ts';
import { ed25519PublicText, parseSshPublicKey, type SshPublicKey } from '../src/crypto/ssh-key.ts';
import { encodeSshsig, signedData } from '../src/crypto/sshsig.ts';
import { createRandom } from '../test/lib/random.ts';

export const corpusHosts = ['alpha', 'beta', 'gamma'] as const;
export type CorpusHost = (typeof corpusHosts)[number];

export interface Corpus {
  readonly meshId: string;
  /** Lines of each log, in order. */
  readonly logs: Readonly<Record<CorpusHost, readonly Line[]>>;
  /** All lines in the order in which they were made, round-robin over the hosts. */
  readonly lines: readonly Line[];
}

type ClaimKind = 'assert' | 'lesson';

interface Claim {
  readonly id: string;
  readonly subject: number;
}

type Claims = Readonly<Record<CorpusHost, Readonly<Record<ClaimKind, Claim[]>>>>;

/** Key that signs a corpus host's lines: derived from its name, public knowledge, for measuring only. */
export function corpusKey(host: string): SigningKey {
  return signingKeyFromSeed(sha256(`memd-corpus:${host}`));
}

/** The person who approves in the corpus: a key that is public knowledge. */
export const benchSigner = 'bench';

export function benchSignerKey(): { readonly signing: SigningKey; readonly public: SshPublicKey } {
  const signing = corpusKey('a person');
  const key = parseSshPublicKey(ed25519PublicText(publicKeyOf(signing)));
  if (!key.ok) throw new Error(key.detail);
  return { signing, public: key.value };
}

function approver(): (body: Body) => Auth {
  const { signing, public: key } = benchSignerKey();
  const fields = { namespace: 'memd-event', hash: 'sha512' } as const;
  return (body) => {
    const signature = signEd25519(signing, signedData(fields, canonicalJson(body as unknown as JsonValue)));
    const sshsig = encodeSshsig({ ...fields, publicKey: key.blob, signatureType: 'ssh-ed25519', signature });
    return { key: key.fingerprint, signer: benchSigner, sshsig };
  };
}

/** Makes the corpus of `count` lines. The mesh id is the caller's, so that it fits a real charter where one is needed. */
export function makeCorpus(options: {
  readonly count: number;
  readonly seed: number;
  readonly meshId: string;
  readonly signedPercent?: 0 | 1 | 10;
}): Corpus {
  const { count, meshId, signedPercent = 0 } = options;
  const approve = approver();
  const random = createRandom(options.seed).next;
  const logs: Record<CorpusHost, Line[]> = { alpha: [], beta: [], gamma: [] };
  const keys = { alpha: corpusKey('alpha'), beta: corpusKey('beta'), gamma: corpusKey('gamma') };
  const none = (): Record<ClaimKind, Claim[]> => ({ assert: [], lesson: [] });
  const own: Claims = { alpha: none(), beta: none(), gamma: none() };
  const pickSubject = zipf(Math.max(1, Math.floor(count / 4)), random);
  const lines: Line[] = [];
  for (let index = 0; index < count; index += 1) {
    const host = corpusHosts[index % 3] ?? 'alpha';
    const { input, subject } = drawEvent({ random, pickSubject, own, host });
    const stamp = {
      mesh: meshId,
      host,
      session: `session-${index % 40}`,
      at: instant(index),
      nonce: sha256Hex(`${options.seed}:${index}`).slice(0, 32),
    };
    const body = makeBody(input, stamp);
    if (!body.ok) throw new Error(`corpus event ${index}: ${body.detail}`);
    const last = logs[host].at(-1);
    const auth = signedPercent > 0 && index % (100 / signedPercent) === 0 ? approve(body.value) : null;
    const line = buildLine(
      { body: body.value, auth, log: host, seq: (last?.seq ?? 0) + 1, prev: last?.link ?? meshId },
      (message) => signEd25519(keys[host], message),
    );
    logs[host].push(line);
    lines.push(line);
    if (subject !== undefined) own[host][input.kind as ClaimKind].push({ id: line.id, subject });
  }
  return { meshId, logs, lines };
}

interface Draw {
  readonly random: () => number;
  readonly pickSubject: () => number;
  readonly own: Claims;
  readonly host: CorpusHost;
}

function drawEvent(draw: Draw): { input: BodyInput; subject?: number } {
  const share = draw.random();
  if (share >= 0.85) return { input: drawOther(draw, share) };
  const kind = share < 0.55 ? 'assert' : 'lesson';
  const replaced = drawReplaced(draw, kind);
  const subject = replaced?.subject ?? draw.pickSubject();
  const conflict = draw.random() < 0.01;
  const input: BodyInput = {
    kind,
    subject: `note/s${subject}`,
    home: `file:docs/s${subject}.md#top`,
    content: sentence(draw.random, 30),
    hook: sentence(draw.random, 6),
    ...(share < 0.55 ? { value: `v${subject}${conflict ? `-${Math.floor(draw.random() * 1_000)}` : ''}` } : {}),
    ...(replaced ? { supersedes: [replaced.id] } : {}),
    ...(draw.random() < 0.005 ? { lineage: 'untrusted' as const } : {}),
  };
  // A lesson's key is its content: the same lesson is worded alike wherever it is repeated.
  if (share >= 0.55)
    return {
      input: {
        ...input,
        subject: `lesson/s${subject}`,
        content: `rule ${subject}${conflict ? ' not' : ''}: ${lessonTail}`,
      },
      subject,
    };
  return { input, subject };
}

function drawReplaced(draw: Draw, kind: ClaimKind): Claim | undefined {
  const share = draw.random();
  const others = corpusHosts.filter((host) => host !== draw.host);
  const from =
    share < 0.2
      ? draw.own[draw.host][kind]
      : share < 0.22
        ? draw.own[others[share < 0.21 ? 0 : 1] ?? 'alpha'][kind]
        : [];
  return from[Math.floor(draw.random() * from.length)];
}

function drawOther(draw: Draw, share: number): BodyInput {
  const subject = draw.pickSubject();
  if (share < 0.93) return { kind: 'decision', subject: `decision/s${subject}`, content: sentence(draw.random, 40) };
  if (share < 0.99) {
    return {
      kind: 'observe',
      subject: `note/s${subject}`,
      home: `file:docs/s${subject}.md#top`,
      digest: `sha256:${sha256Hex(String(draw.random()))}`,
    };
  }
  return { kind: 'question', subject: `question/s${subject}`, content: sentence(draw.random, 20) };
}

/** Draws 0…count−1 with probability proportional to 1/(rank+1). */
function zipf(count: number, random: () => number): () => number {
  const sums = new Float64Array(count);
  let sum = 0;
  for (let rank = 0; rank < count; rank += 1) sums[rank] = sum += 1 / (rank + 1);
  return () => {
    const wanted = random() * sum;
    let low = 0;
    let high = count - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] ?? 0) < wanted) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}

const words =
  'the route from desk to mini was checked by hand after a reboot and answers on port where logs are kept for backup'.split(
    ' ',
  );
const lessonTail =
  'quote every path in shell commands, also inside command substitution, since an unquoted one once deleted the wrong folder';

function sentence(random: () => number, count: number): string {
  return Array.from({ length: count }, () => words[Math.floor(random() * words.length)]).join(' ');
}

function instant(index: number): string {
  return new Date(Date.UTC(2026, 0, 1) + index * 1_000).toISOString();
}

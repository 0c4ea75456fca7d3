/**
 * A mesh in memory with real keys, real host signatures and real approvals, read through the real core: parse, chain,
 * trust set, charter, fold. What an attacker can do to bytes can be done to these.
 */
import { canonicalJson, type JsonValue } from '../../src/crypto/canonical.ts';
import { signEd25519 } from '../../src/crypto/ed25519.ts';
import { signedData, encodeSshsig } from '../../src/crypto/sshsig.ts';
import { makeBody, type Auth, type Body, type BodyInput } from '../../src/core/event.ts';
import { createFold, foldLines, readState } from '../../src/core/fold/fold.ts';
import { parseLine, type Line } from '../../src/core/line.ts';
import { extendLog, type LogExtension, type LogFault, type VerifiedLine } from '../../src/core/log.ts';
import { charterOf, type Charter } from '../../src/core/trust/charter.ts';
import type { TrustOp } from '../../src/core/trust/op.ts';
import { usableUpto } from '../../src/core/trust/usable.ts';
import { addOps, emptyTrustSet, maximalOps, trustHash, type Added, type TrustSet } from '../../src/core/trust/set.ts';
import { readBeliefs, type Beliefs } from './fold-builders.ts';
import {
  approveEvent,
  approverOf,
  craig,
  genesisOf,
  hostAdd,
  must,
  signerAdd,
  testKey,
  testSigner,
  type TestKey,
  type TestPlace,
  type TestSigner,
} from './trust-ops.ts';

/** Signs notes only; craig made her a signer. */
export const dana: TestSigner = testSigner('dana', 2);
/** Nobody's signer and nobody's host. */
export const mallory: TestSigner = testSigner('mallory', 66);

/** Host keys by name; alpha is the founder's. */
export const hostKeys: Readonly<Record<string, TestKey>> = {
  alpha: testKey(10),
  beta: testKey(11),
  gamma: testKey(12),
};

export interface Told {
  readonly id: string;
  readonly body: Body;
  readonly line: Line;
}

export interface Carrying {
  /** In whose log it stands; that of the body's host by default. */
  readonly log?: string;
  readonly by?: TestSigner;
  readonly auth?: Auth;
  /** The key that signs the line; that of the log's host by default. */
  readonly key?: TestKey;
}

/** Everything that came out, with the faults of the logs. */
export interface Verdict extends Beliefs {
  readonly root: string;
  readonly charter: Charter;
  readonly faults: Readonly<Record<string, LogFault>>;
  /** Value or content of what is served on a subject, else undefined. */
  readonly served: (subject: string) => string | undefined;
}

export interface SignedMesh {
  readonly meshId: string;
  /** Texts of the lines of each log; a test may put anything there. */
  readonly logs: Map<string, (string | Uint8Array)[]>;
  trust(): TrustSet;
  /** Where the next op stands. */
  place(by?: TestSigner): TestPlace;
  /** Offers ops to the trust set. */
  offer(...ops: readonly TrustOp[]): Added;
  body(host: string, input: BodyInput, at?: string): Body;
  /** Says something in the host's own log, or carries it as told. */
  say(host: string, input: BodyInput, carrying?: Carrying): Told;
  /** Appends a line with this body, whatever it is, soundly chained and signed. */
  carry(body: Body | JsonValue, carrying: Carrying & { readonly log: string }): Line;
  /** Reads one log as an admission does. */
  extend(log: string): LogExtension;
  /** What of a log may be used: as an admission reads it, up to where the charter lets it. */
  usable(log: string): readonly VerifiedLine[];
  /** Seq and link of the last line of a log: what a pin names. */
  tip(log: string): { readonly seq: number; readonly link: string };
  /** Takes the last lines of a log away, as if they had not been written. */
  rewind(log: string, seq: number): void;
  /** Folds all logs, those of `order` first and in that order; the logs one after the other, or line by line in turns. */
  verdict(order?: readonly string[], inTurns?: boolean): Verdict;
}

export function signedMesh(): SignedMesh {
  const genesis = genesisOf();
  const logs = new Map<string, (string | Uint8Array)[]>();
  const tips = new Map<string, { seq: number; link: string }>();
  let set = addOps(emptyTrustSet(genesis.id), [genesis]).set;
  let count = 100;
  const offer: SignedMesh['offer'] = (...ops) => {
    const added = addOps(set, ops);
    set = added.set;
    return added;
  };
  const place: SignedMesh['place'] = (by = craig) => ({
    mesh: genesis.id,
    by,
    prev: maximalOps(set),
    nonce: (count += 1),
  });
  offer(hostAdd(place(), 'beta', 11));
  offer(hostAdd(place(), 'gamma', 12));
  offer(signerAdd(place(), dana, ['note/*']));
  const body: SignedMesh['body'] = (host, input, at = '2026-07-27T15:04:05.678Z') => {
    const nonce = (count += 1).toString(16).padStart(32, '0');
    return must(makeBody(input, { mesh: genesis.id, host, session: 'test', at, nonce }));
  };
  const carry: SignedMesh['carry'] = (said, { log, by, auth, key = hostKeys[log] }) => {
    const approved = auth ?? (by === undefined ? null : approveEvent(by, canonicalJson(said as JsonValue)));
    const tip = tips.get(log) ?? { seq: 0, link: genesis.id };
    const at = { log, seq: tip.seq + 1, prev: tip.link };
    const line = signedLine({ ...at, mesh: genesis.id, body: said as JsonValue, auth: approved, key });
    tips.set(log, { seq: line.seq, link: line.link });
    logs.set(log, [...(logs.get(log) ?? []), line.text]);
    return line;
  };
  const extend = (log: string): LogExtension => {
    const keys = charterOf(set).hosts.get(log)?.spans ?? [];
    return extendLog({ host: log, mesh: genesis.id, from: { seq: 0, link: genesis.id }, keys }, logs.get(log) ?? []);
  };
  const usable = (log: string): readonly VerifiedLine[] => {
    const { lines } = extend(log);
    const host = charterOf(set).hosts.get(log);
    if (host === undefined) return [];
    const { upto } = usableUpto(host, (seq) => lines[seq - 1]?.link, lines.length);
    return lines.slice(0, upto);
  };
  return {
    meshId: genesis.id,
    logs,
    usable,
    tip: (log) => tips.get(log) ?? { seq: 0, link: genesis.id },
    rewind: (log, seq) => {
      const kept = (logs.get(log) ?? []).slice(0, seq);
      logs.set(log, kept);
      const last = kept.length === 0 ? undefined : must(parseLine(kept.at(-1) ?? '', genesis.id));
      tips.set(log, { seq, link: last?.link ?? genesis.id });
    },
    trust: () => set,
    place,
    offer,
    body,
    carry,
    extend,
    say: (host, input, carrying = {}) => {
      const said = body(host, input);
      const line = carry(said, { log: host, ...carrying });
      return { id: line.id, body: said, line };
    },
    verdict: (order = [], inTurns = false) =>
      verdictOf({ set, extend, usable, names: [...logs.keys()] }, order, inTurns),
  };
}

/** A line of any body, chained and signed for real. */
function signedLine(parts: {
  log: string;
  seq: number;
  prev: string;
  mesh: string;
  body: JsonValue;
  auth: Auth | null;
  key: TestKey | undefined;
}): Line {
  const { log, seq, prev, mesh, body, auth, key = testKey(66) } = parts;
  // Drafted with a placeholder signature first: what is signed is the link, and that is read off the line itself.
  const text = (sig: string): string =>
    canonicalJson({ ...(auth === null ? {} : { auth: { ...auth } }), body, log, prev, seq, sig, v: 1 });
  const draft = must(parseLine(text(`${'A'.repeat(86)}==`), mesh));
  const sig = Buffer.from(signEd25519(key.signing, `memd-line-v1\n${draft.link}`)).toString('base64');
  return must(parseLine(text(sig), mesh));
}

function verdictOf(
  mesh: Pick<SignedMesh, 'extend' | 'usable'> & { set: TrustSet; names: readonly string[] },
  order: readonly string[],
  inTurns: boolean,
): Verdict {
  const charter = charterOf(mesh.set);
  const fold = createFold(charter, trustHash(mesh.set));
  const names = [...new Set([...order, ...mesh.names])].filter((name) => charter.hosts.has(name));
  const read = names.map((name) => [name, mesh.extend(name)] as const);
  const faults = Object.fromEntries(read.flatMap(([name, { fault }]) => (fault ? [[name, fault.code]] : [])));
  const lines = names.map((name) => mesh.usable(name));
  if (inTurns) for (const line of takingTurns(lines)) foldLines(fold, [line]);
  else for (const log of lines) foldLines(fold, log);
  const beliefs = readBeliefs(fold);
  const { root, records } = readState(fold);
  return {
    ...beliefs,
    root,
    charter,
    faults,
    served: (subject) => {
      const served = records.get(`${subject} *`)?.served ?? null;
      const body = served === null ? null : beliefs.view(served).body;
      return body?.value ?? body?.content;
    },
  };
}

function takingTurns(logs: readonly (readonly VerifiedLine[])[]): VerifiedLine[] {
  const longest = Math.max(0, ...logs.map((log) => log.length));
  return Array.from({ length: longest }, (_, at) => logs.flatMap((log) => log[at] ?? [])).flat();
}

/** Every order of three logs, each as whole logs and in turns. */
export const orders: readonly (readonly [readonly string[], boolean])[] = [
  ['alpha', 'beta', 'gamma'],
  ['alpha', 'gamma', 'beta'],
  ['beta', 'alpha', 'gamma'],
  ['beta', 'gamma', 'alpha'],
  ['gamma', 'alpha', 'beta'],
  ['gamma', 'beta', 'alpha'],
].flatMap((order) => [
  [order, false],
  [order, true],
]);

/** An approval with any of its parts replaced. `as` names a signer, `key` signs, `namespace` and `hash` are SSHSIG's. */
export function approvalOf(
  said: Body | JsonValue,
  parts: { as: TestSigner; key?: TestKey; namespace?: string; hash?: 'sha256' | 'sha512' },
): Auth {
  const { as, key = as.key, namespace = 'memd-event', hash = 'sha512' } = parts;
  const fields = { namespace, hash } as const;
  const signature = signEd25519(key.signing, signedData(fields, canonicalJson(said as JsonValue)));
  const blob = { ...fields, publicKey: key.public.blob, signatureType: 'ssh-ed25519', signature };
  return { key: approverOf(as).key, signer: as.name, sshsig: encodeSshsig(blob) };
}

/** A fact about a subject. */
export function fact(subject: string, value: string, over: Partial<BodyInput> = {}): BodyInput {
  return { kind: 'assert', subject, value, home: 'file:notes.md', ...over };
}

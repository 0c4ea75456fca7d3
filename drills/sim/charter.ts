/**
 * The mesh of the simulator: real trust ops with real approvals, made once for all seeds. Hosts and signers of events sign
 * cheaply (a hash of key and message): only whoever holds a key makes one, which is all that the rules ask.
 */
import { sha256, sha256Hex } from '../../src/crypto/hash.ts';
import { signEd25519 } from '../../src/crypto/ed25519.ts';
import { lineMessage, type Line } from '../../src/core/line.ts';
import { forkProofOf, type ForkedLines } from '../../src/core/sync/fork-proof.ts';
import { encodeBase64 } from '../../src/crypto/base64.ts';
import { canonicalJson, type JsonValue } from '../../src/crypto/canonical.ts';
import type { Auth, Body } from '../../src/core/event.ts';
import type { FoldPorts } from '../../src/core/fold/fold.ts';
import { charterOf, type Charter } from '../../src/core/trust/charter.ts';
import type { TrustOp } from '../../src/core/trust/op.ts';
import {
  addOps,
  emptyTrustSet,
  keptHash,
  keptOp,
  maximalOps,
  trustHash,
  type TrustSet,
} from '../../src/core/trust/set.ts';
import type { Pin, PurgeSkeleton } from '../../src/core/trust/op-types.ts';
import { scopeCovers } from '../../src/core/trust/scope.ts';
import {
  approverOf,
  classAdd,
  craig,
  genesisOf,
  hostAdd,
  hostRekey,
  hostRevoke,
  purge,
  signerAdd,
  testKey,
  testSigner,
} from '../../test/lib/trust-ops.ts';

/** Names of hosts in the order in which a mesh has them. */
export const hostNames = ['alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta', 'eta'] as const;
const firstKey = 10;

const genesis = genesisOf();
export const meshId: string = genesis.id;
const adds = hostNames.slice(1).map((name, index) => hostAddOp(name, [meshId], index));

/** Number of the key that a host begins with. */
export function firstKeyOf(name: string): number {
  return firstKey + hostNames.findIndex((other) => other === name);
}

const numbers = new Map<string, number>();

/** The key of this number as the charter has it. */
export function keyText(number: number): string {
  const { text } = testKey(number);
  numbers.set(text, number);
  return text;
}

/** Whether these are the bytes of the key of this number. */
export function isKey(number: number, bytes: Uint8Array): boolean {
  return testKey(number).public.raw32?.every((byte, index) => byte === bytes[index]) === true;
}

function hostAddOp(name: string, prev: readonly string[], nonce: number): TrustOp {
  const key = firstKeyOf(name);
  return hostAdd({ mesh: meshId, by: craig, prev, nonce: 100 + nonce }, name, key);
}

/** A trust set and what follows from it. */
export interface Trust {
  readonly set: TrustSet;
  readonly charter: Charter;
  readonly hash: string;
  readonly kept: string;
}

function trustOf(set: TrustSet): Trust {
  return { set, charter: charterOf(set), hash: trustHash(set), kept: keptHash(set) };
}

const founded = new Map<number, Trust>();

/** Genesis and the first hosts. The same object every time, so that nothing of it is worked out twice. */
export function foundedTrust(hosts: number): Trust {
  const known = founded.get(hosts);
  if (known !== undefined) return known;
  const made = trustOf(addOps(emptyTrustSet(meshId), [genesis, ...adds.slice(0, hosts - 1)]).set);
  founded.set(hosts, made);
  return made;
}

/** Unions of sets, each worked out once: many hosts make the same one. */
export type Unions = (trust: Trust, ops: readonly TrustOp[], peer: string) => Trust;

export function openUnions(): Unions {
  const known = new Map<string, Trust>();
  return (trust, ops, peer) => {
    const fresh = [...new Map(ops.map((op) => [op.id, op])).values()].filter(
      ({ id }) => keptOp(trust.set, id) === undefined,
    );
    if (fresh.length === 0) return trust;
    const key = `${trust.kept} ${fresh.map(({ id }) => id).join(' ')}`;
    const made = known.get(key) ?? trustOf(addOps(trust.set, fresh, peer).set);
    known.set(key, made);
    return made;
  };
}

/** What a person may decide in the middle of a run. */
export type Decision =
  | { readonly kind: 'class' | 'signer' }
  | { readonly kind: 'host'; readonly name: string }
  | { readonly kind: 'revoke'; readonly name: string; readonly pin: Pin }
  | { readonly kind: 'rekey'; readonly name: string; readonly key: number; readonly pin: Pin }
  | { readonly kind: 'purge'; readonly target: PurgeSkeleton };

/** The op of a decision, made by the first signer on a host that knows `trust`. `number` makes it unlike others. */
export function decide(trust: Trust, decision: Decision, number: number): TrustOp {
  const prev = maximalOps(trust.set);
  const place = { mesh: meshId, by: craig, prev, nonce: 1_000 + number };
  switch (decision.kind) {
    case 'class':
      return classAdd(place, `made${number}`);
    case 'signer':
      return signerAdd(place, testSigner(`signer${number}`, 300 + number), ['note/*']);
    case 'host':
      return hostAddOp(decision.name, prev, 500 + number);
    case 'revoke':
      return hostRevoke(place, decision.name, decision.pin);
    case 'rekey':
      keyText(decision.key);
      return hostRekey(place, decision);
    case 'purge':
      return purge(place, { targets: [decision.target], reason: 'secret' });
  }
}

const keyTexts = new Map<Uint8Array, string>();

function cheapSignature(key: Uint8Array, message: string): Uint8Array {
  let text = keyTexts.get(key);
  if (text === undefined) keyTexts.set(key, (text = key.join(' ')));
  const half = sha256(`${text}\n${message}`);
  const whole = new Uint8Array(64);
  whole.set(half, 0);
  whole.set(half, 32);
  return whole;
}

/** Signs with the key that a host began with. */
export function signAs(host: string): (message: string) => Uint8Array {
  return signWith(firstKeyOf(host));
}

/** Signs with the key of this number. */
export function signWith(number: number): (message: string) => Uint8Array {
  const key = testKey(number).public.raw32 ?? new Uint8Array();
  return (message) => cheapSignature(key, message);
}

/**
 * The proof of a fork has to convince the trust set, which knows no port: its two signatures are made anew, real ones, for
 * lines that whoever has the key did sign.
 */
export function forkProof(charter: Charter, log: string, lines: ForkedLines): TrustOp | undefined {
  const host = charter.hosts.get(log);
  const { signing } = testKey(numbers.get(host?.sign.text ?? '') ?? firstKeyOf(log));
  const sign = (line: Line): Line => ({ ...line, sig: encodeBase64(signEd25519(signing, lineMessage(line.link))) });
  return host === undefined ? undefined : forkProofOf(meshId, host, [sign(lines[0]), sign(lines[1])]);
}

/** The port that `extendLog` takes in place of ed25519. */
export function verifyCheaply(key: Uint8Array, message: string, signature: Uint8Array): boolean {
  const good = cheapSignature(key, message);
  return good.every((byte, index) => byte === signature[index]);
}

/** An approval of a message: `forged` ones look the same and are by nobody. */
export function approvalOf(message: string, forged = false): Auth {
  const { signer, key } = approverOf(craig);
  const said = forged ? `nobody ${message}` : `${signer} ${message}`;
  return { signer, key, sshsig: encodeBase64(sha256(said)) };
}

export const simPorts: FoldPorts = {
  approve: (charter, auth, message, subject) => {
    const signer = charter.signers.get(auth.signer);
    if (signer === undefined) return 'unknown';
    if (auth.sshsig !== encodeBase64(sha256(`${auth.signer} ${message}`))) return 'forged';
    return scopeCovers(signer.scopes, subject) ? 'ok' : 'out-of-scope';
  },
};

/** Whether an approval is none: by nobody, or of other words. */
export function isForgedApproval(auth: Auth, body: Body | null): boolean {
  if (body === null) return true;
  return auth.sshsig !== encodeBase64(sha256(`${auth.signer} ${canonicalJson(body as unknown as JsonValue)}`));
}

/** Names a set of ops as a commit does. */
export function oidOf(text: string): string {
  return sha256Hex(text).slice(0, 40);
}

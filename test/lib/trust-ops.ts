/** Real keys and really signed trust ops for tests. Keys come from small numbers, so that every run has the same ids. */
import { encodeBase64 } from '../../src/crypto/base64.ts';
import { sha256Hex } from '../../src/crypto/hash.ts';
import { assert, type Result } from '../../src/crypto/result.ts';
import { publicKeyOf, signEd25519, signingKeyFromSeed, type SigningKey } from '../../src/crypto/ed25519.ts';
import { ed25519PublicText, parseSshPublicKey, type SshPublicKey } from '../../src/crypto/ssh-key.ts';
import { encodeSshsig, signedData } from '../../src/crypto/sshsig.ts';
import type { Auth } from '../../src/core/event.ts';
import { linkOf, lineMessage, type LineHeader } from '../../src/core/line.ts';
import {
  audienceAddBody,
  classAddBody,
  delegateBody,
  genesisBody,
  hostAddBody,
  hostRekeyBody,
  hostRevokeBody,
  policySetBody,
  purgeBody,
  signerAddBody,
  signerRevokeBody,
  type Placement,
  type Stamp,
} from '../../src/core/trust/build.ts';
import {
  finishTrustOp,
  forkProofText,
  parseTrustOp,
  trustNamespace,
  trustOpMessage,
  type ApprovedOp,
  type Approver,
  type DelegateFields,
  type ForkProofBody,
  type ForkProofOp,
  type OpStem,
  type Pin,
  type PurgeFields,
  type PurgeSkeleton,
  type TrustBody,
  type TrustOp,
} from '../../src/core/trust/op.ts';

export interface TestKey {
  readonly seed: Uint8Array;
  readonly signing: SigningKey;
  readonly public: SshPublicKey;
  readonly text: string;
}

/** A person with a name and a key. */
export interface TestSigner {
  readonly name: string;
  readonly key: TestKey;
}

const keys = new Map<number, TestKey>();

/** Key number `number`, 0 to 65535. */
export function testKey(number: number): TestKey {
  const known = keys.get(number);
  if (known !== undefined) return known;
  const seed = new Uint8Array(32).fill(number & 255);
  seed[0] = number >>> 8;
  const signing = signingKeyFromSeed(seed);
  const text = ed25519PublicText(publicKeyOf(signing));
  const key = { seed, signing, public: must(parseSshPublicKey(text)), text };
  keys.set(number, key);
  return key;
}

export function testSigner(name: string, keyNumber: number): TestSigner {
  return { name, key: testKey(keyNumber) };
}

export function approverOf(signer: TestSigner): Approver {
  return { signer: signer.name, key: signer.key.public.fingerprint };
}

/** Time is the same for all; the nonce is the number, so that equal inputs can still be different ops. */
export function stampOf(number: number): Stamp {
  return { at: '2026-07-27T15:04:05.000Z', nonce: number.toString(16).padStart(32, '0') };
}

/** SSHSIG (base64 of the blob) over a message, as `ssh-keygen -Y sign` makes it. */
export function sshsigOf(key: TestKey, message: string, namespace: string): string {
  const fields = { namespace, hash: 'sha512' } as const;
  const signature = signEd25519(key.signing, signedData(fields, message));
  return encodeSshsig({ ...fields, publicKey: key.public.blob, signatureType: 'ssh-ed25519', signature });
}

/** An approval of an event body by a signer. */
export function approveEvent(signer: TestSigner, message: string): Auth {
  const { signer: name, key } = approverOf(signer);
  return { key, signer: name, sshsig: sshsigOf(signer.key, message, 'memd-event') };
}

/** The finished op of a body, approved by the signer that its `by` names. */
export function approve(signer: TestSigner, body: Result<TrustBody, string>): ApprovedOp {
  const made = must(body);
  const sshsig = sshsigOf(signer.key, trustOpMessage(made), trustNamespace);
  return must(finishTrustOp(made, { ...approverOf(signer), sshsig }));
}

/** A host of tests: sign key, ssh key 1 000 above it. */
export function hostFields(
  name: string,
  keyNumber: number,
): { name: string; sign: string; ssh: string; address: string } {
  return { name, sign: testKey(keyNumber).text, ssh: testKey(keyNumber + 1_000).text, address: '' };
}

export const craig: TestSigner = testSigner('craig', 1);

/** A mesh of one: craig and the host alpha (key 10), with the default classes. */
export function genesisOf(
  founder: TestSigner = craig,
  overrides: Partial<Parameters<typeof genesisBody>[0]> = {},
): ApprovedOp {
  const signer = { name: founder.name, key: founder.key.text };
  const by = approverOf(founder);
  return approve(
    founder,
    genesisBody({ name: 'lab', by, signer, host: hostFields('alpha', 10), ...overrides }, stampOf(0)),
  );
}

/** Where an op stands, and the number that makes it unlike others. */
export interface TestPlace {
  readonly mesh: string;
  readonly by: TestSigner;
  readonly prev: readonly string[];
  readonly nonce: number;
}

/** Places of ops in a mesh, each right after some others. */
export function placesIn(mesh: string): (by: TestSigner, prev: readonly TrustOp[], nonce?: number) => TestPlace {
  return (by, prev, nonce = 1) => ({ mesh, by, prev: prev.map(({ id }) => id).toSorted(byText), nonce });
}

function byText(left: string, right: string): number {
  return left < right ? -1 : 1;
}

export function hostAdd(place: TestPlace, name: string, keyNumber: number): ApprovedOp {
  const input = { mesh: place.mesh, prev: place.prev, by: approverOf(place.by), ...hostFields(name, keyNumber) };
  return approve(place.by, hostAddBody(input, stampOf(place.nonce)));
}

export function signerAdd(place: TestPlace, added: TestSigner, scopes: readonly string[]): ApprovedOp {
  const named = { name: added.name, key: added.key.text, scopes };
  const input = { mesh: place.mesh, prev: place.prev, by: approverOf(place.by), ...named };
  return approve(place.by, signerAddBody(input, stampOf(place.nonce)));
}

export function classAdd(
  place: TestPlace,
  name: string,
  fields: { readonly description?: string; readonly revise?: 'mesh' | 'host'; readonly claims?: 'fact' | 'rule' } = {},
): ApprovedOp {
  const input = { mesh: place.mesh, prev: place.prev, by: approverOf(place.by), name };
  const said = { description: '', revise: 'mesh', claims: 'fact', ...fields } as const;
  return approve(place.by, classAddBody({ ...input, ...said }, stampOf(place.nonce)));
}

function placed({ mesh, by, prev }: TestPlace): Placement {
  return { mesh, by: approverOf(by), prev };
}

/** A place in a log; links of tests are made of a word. Seq 0 is before the log of the mesh. */
export function pinAt(mesh: string, seq: number, branch = 'main'): Pin {
  return { seq, link: seq === 0 ? mesh : sha256Hex(`${branch} ${seq}`) };
}

/** Gives a host other keys; the word of the old ones ends at the pin. */
export function hostRekey(
  place: TestPlace,
  host: { readonly name: string; readonly key: number; readonly pin: Pin },
): ApprovedOp {
  const { name, key, pin } = host;
  const { sign, ssh } = hostFields(name, key);
  return approve(place.by, hostRekeyBody({ ...placed(place), name, sign, ssh, pin }, stampOf(place.nonce)));
}

export function hostRevoke(place: TestPlace, name: string, pin: Pin): ApprovedOp {
  return approve(place.by, hostRevokeBody({ ...placed(place), name, pin }, stampOf(place.nonce)));
}

/** Ends a signer; approvals first carried at or before the marks stand. */
export function signerRevoke(place: TestPlace, name: string, marks: Readonly<Record<string, Pin>> = {}): ApprovedOp {
  return approve(place.by, signerRevokeBody({ ...placed(place), name, marks }, stampOf(place.nonce)));
}

export function audienceAdd(place: TestPlace, name: string, includes: readonly string[]): ApprovedOp {
  return approve(place.by, audienceAddBody({ ...placed(place), name, includes }, stampOf(place.nonce)));
}

export function policySet(place: TestPlace, key: string, value: string | number): ApprovedOp {
  return approve(place.by, policySetBody({ ...placed(place), key, value }, stampOf(place.nonce)));
}

export function delegation(place: TestPlace, fields: DelegateFields): ApprovedOp {
  return approve(place.by, delegateBody({ ...placed(place), ...fields }, stampOf(place.nonce)));
}

export function purge(place: TestPlace, fields: PurgeFields): ApprovedOp {
  return approve(place.by, purgeBody({ ...placed(place), ...fields }, stampOf(place.nonce)));
}

/** The skeleton of an assert. */
export function skeletonAbout(subject: string, word: string): PurgeSkeleton {
  const nothing = { home: null, digest: null, supersedes: [], basis: [] };
  const plain = { scope: '*', audience: 'operator', lineage: 'trusted', level: 'unsigned' } as const;
  return {
    id: sha256Hex(word),
    host: 'beta',
    kind: 'assert',
    subject,
    ...plain,
    key: sha256Hex(`key ${word}`),
    ...nothing,
  };
}

/** Two lines of one seq of a host, signed by the key with this number; `source` brought that key. */
export function forkProof(
  mesh: string,
  fork: {
    readonly host: string;
    readonly key: number;
    readonly source: string;
    readonly seq: number;
    readonly salt?: number;
  },
): ForkProofOp {
  const { host, source, seq } = fork;
  const lines = [0, 1].map((side) => {
    const id = sha256Hex(`side ${side} ${fork.salt ?? 0}`);
    const header: LineHeader = { auth: null, id, log: host, mesh, prev: sha256Hex('before'), seq, v: 1 };
    return { header, sig: encodeBase64(signEd25519(testKey(fork.key).signing, lineMessage(linkOf(header)))) };
  });
  const sorted = lines.toSorted((left, right) => (linkOf(left.header) < linkOf(right.header) ? -1 : 1));
  const body = { mesh, op: 'fork-proof', prev: [source], host, lines: sorted } as unknown as ForkProofBody;
  const op = must(parseTrustOp(forkProofText(body)));
  assert(op.auth === null, 'nobody approves a fork-proof');
  return op;
}

/** A well-formed, really approved op that this version does not apply. */
export function otherOp(
  place: TestPlace,
  op: string,
  args: Readonly<Record<string, string | readonly string[]>> = {},
): ApprovedOp {
  const { at, nonce } = stampOf(place.nonce);
  const body: OpStem = { mesh: place.mesh, op, by: approverOf(place.by), prev: place.prev, at, nonce, ...args };
  const sshsig = sshsigOf(place.by.key, trustOpMessage(body), trustNamespace);
  return must(finishTrustOp(body as unknown as TrustBody, { ...approverOf(place.by), sshsig }));
}

/** The value of a result that must be good. */
export function must<T>(result: Result<T, string>): T {
  assert(result.ok, result.ok ? '' : `${result.code}: ${result.detail}`);
  return result.value;
}

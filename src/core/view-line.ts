/**
 * The view line: what one host believed at one moment, signed by it. It names its input exactly (heads and trust hash),
 * so that any host can fold the same prefixes and compare the root. The co-signature covers only what every host that
 * agrees would sign too. Never an input of the fold. Source: docs/format.md, section 8.
 */
import { decodeBase64, encodeBase64 } from '../crypto/base64.ts';
import {
  canonicalJson,
  parseCanonical,
  type CanonicalFault,
  type JsonObject,
  type JsonValue,
} from '../crypto/canonical.ts';
import { verifyEd25519 } from '../crypto/ed25519.ts';
import { sha256Hex } from '../crypto/hash.ts';
import { ok, refuse, type Result } from '../crypto/result.ts';
import { isInstant } from './body-fields.ts';
import { isId, isSlug } from './id.ts';
import { jsonDepthMax, lineBytesMax, trustItemsMax, viewHostsMax } from './limits.ts';
import { integer, members, namedEntries, textThat, type Check } from './trust/shape.ts';

/** The version of view lines that this program writes and reads. */
export const viewLineVersion = 1;

/** Last usable line of a log: the head that a view line names. */
export interface ViewHead {
  readonly seq: number;
  readonly link: string;
}

/** What every host that holds the same input says in the same bytes. `trust` is the trust hash, `root` the root of the fold. */
export interface Statement {
  readonly heads: ReadonlyMap<string, ViewHead>;
  readonly mesh: string;
  readonly root: string;
  readonly rules: number;
  readonly trust: string;
}

/** One line of a view journal. */
export interface ViewLine extends Statement {
  /** Claimed time of the host. Replay searches by it; nothing else depends on it. */
  readonly at: string;
  readonly host: string;
  /** 1, 2, 3 … within this host's journal. */
  readonly n: number;
  /** Hash of the line before (`viewLineHash`), or the mesh id for the first one. */
  readonly prev: string;
  /** By audience: digest over its view files (`viewsDigest`). */
  readonly views: ReadonlyMap<string, string>;
  /** Base64 of the signature over the statement. */
  readonly cosign: string;
  /** Base64 of the signature over the line. */
  readonly sig: string;
  /** The line as it stands in the journal, without newline. */
  readonly text: string;
}

/** What a writer says; the rest of a line is signatures and form. */
export type ViewLineParts = Omit<ViewLine, 'cosign' | 'sig' | 'text'>;

/** Why a text is no view line. VIEW_FIELD: a member is missing, unknown or malformed. VIEW_VERSION: of a later version. */
export type ViewLineFault = CanonicalFault | 'VIEW_TOO_LONG' | 'VIEW_FIELD' | 'VIEW_VERSION';

/** Why the next line of a journal is not taken. VIEW_CHAIN: it does not follow. VIEW_SIGNATURE: not by this host's key. */
export type ViewChainFault = 'VIEW_CHAIN' | 'VIEW_SIGNATURE';

/** ASCII text that a host signs to say that this input gives this root: `memd-state-v1`. Pure. */
export function statementMessage(statement: Statement): string {
  const { mesh, root, rules, trust } = statement;
  const heads = headsJson(statement.heads);
  return `memd-state-v1\n${sha256Hex(canonicalJson({ heads, mesh, root, rules, trust }))}`;
}

/** What the host signs of a whole line: `memd-view-v1` and the line without `sig`. Pure. */
export function viewLineMessage(line: ViewLineParts & Pick<ViewLine, 'cosign'>): string {
  return `memd-view-v1\n${canonicalJson(unsignedJson(line))}`;
}

/** Hash that the next line names as `prev`: over the whole line, signatures too. Pure. */
export function viewLineHash(line: Pick<ViewLine, 'text'>): string {
  return sha256Hex(line.text);
}

/** Digest over the view files of one audience: sha256(JCS({NAME: sha256 of the file, …})). Pure. */
export function viewsDigest(files: ReadonlyMap<string, string>): string {
  return hashesDigest(new Map([...files].map(([name, text]) => [name, sha256Hex(text)])));
}

/** The same from the sha256 (64 hex) of each file. Pure. */
export function hashesDigest(hashes: ReadonlyMap<string, string>): string {
  return sha256Hex(canonicalJson(Object.fromEntries(hashes)));
}

/** A signed line. `sign` gives the 64 bytes of the host's signature over a text. Pure but for `sign`. */
export function buildViewLine(parts: ViewLineParts, sign: (message: string) => Uint8Array): ViewLine {
  const cosign = encodeBase64(sign(statementMessage(parts)));
  const sig = encodeBase64(sign(viewLineMessage({ ...parts, cosign })));
  const text = canonicalJson({ ...unsignedJson({ ...parts, cosign }), sig });
  return { ...parts, cosign, sig, text };
}

/**
 * Reads one line (no newline). Nothing about its signatures or its place in a journal is known yet. `outside`: a line that
 * stands in no journal, with `n` 0 and the mesh id as `prev`, is taken too. Pure.
 */
export function parseViewLine(
  text: string,
  { outside = false }: { readonly outside?: boolean } = {},
): Result<ViewLine, ViewLineFault> {
  if (text.length > lineBytesMax) return refuse('VIEW_TOO_LONG', `longer than ${lineBytesMax} bytes`);
  const parsed = parseCanonical(text, { depthMax: jsonDepthMax });
  if (!parsed.ok) return parsed;
  const version = (parsed.value as Partial<JsonObject> | null)?.['v'];
  if (typeof version === 'number' && version > viewLineVersion)
    return refuse('VIEW_VERSION', `a view line of version ${version}`);
  const isOutside = outside && isOutsideLine(parsed.value);
  const fault = (isOutside ? outsideLineCheck : viewLineCheck)(parsed.value);
  return fault === undefined ? ok(readLine(parsed.value as unknown as RawLine, text)) : refuse('VIEW_FIELD', fault);
}

/** Whether a signature over a message is by a key. Ed25519 where none is given; the simulator's hosts sign cheaply. */
export type VerifySignature = (key: Uint8Array, message: string, signature: Uint8Array) => boolean;

/** Did the holder of this key (32 raw bytes) say that this input gives this root? Pure. */
export function verifyStatement(
  statement: Statement,
  cosign: string,
  key: Uint8Array,
  verify: VerifySignature = verifyEd25519,
): boolean {
  const signature = decodeBase64(cosign);
  return signature !== undefined && verify(key, statementMessage(statement), signature);
}

/**
 * Verdict on the line after `before` (null: the first one) in the journal of `host`: it follows, and both signatures are
 * by one of `keys` (32 raw bytes each: a host that was rekeyed has several). Pure. @returns the index of that key.
 */
export function judgeViewLine(
  line: ViewLine,
  at: {
    readonly host: string;
    readonly mesh: string;
    readonly before: ViewLine | null;
    readonly keys: readonly Uint8Array[];
    readonly verify?: VerifySignature;
  },
): Result<number, ViewChainFault> {
  const { before } = at;
  if (line.host !== at.host || line.mesh !== at.mesh) return refuse('VIEW_CHAIN', 'a line of another journal');
  if (line.n !== (before?.n ?? 0) + 1) return refuse('VIEW_CHAIN', `line ${line.n} after line ${before?.n ?? 0}`);
  if (line.prev !== (before === null ? at.mesh : viewLineHash(before)))
    return refuse('VIEW_CHAIN', `line ${line.n} does not follow the line before it`);
  return verifyViewLine(line, at.keys, at.verify);
}

/** Verdict on both signatures of a line: by the same one of `keys` (32 raw bytes each). Pure. @returns its index. */
export function verifyViewLine(
  line: ViewLine,
  keys: readonly Uint8Array[],
  verify: VerifySignature = verifyEd25519,
): Result<number, 'VIEW_SIGNATURE'> {
  const signature = decodeBase64(line.sig);
  const message = viewLineMessage(line);
  const index = keys.findLastIndex((one) => signature !== undefined && verify(one, message, signature));
  const key = keys[index];
  if (key === undefined) return refuse('VIEW_SIGNATURE', `line ${line.n} is not signed by ${line.host}`);
  return verifyStatement(line, line.cosign, key, verify)
    ? ok(index)
    : refuse('VIEW_SIGNATURE', `the co-signature of line ${line.n} does not verify`);
}

/**
 * How many of a host's keys (32 raw bytes each, ascending) are too old for the line after `before`: a key that was
 * replaced says nothing behind a line of its successor. Behind a line of no known key only the newest speaks. Pure.
 */
export function keysBehind(
  before: ViewLine | null,
  keys: readonly Uint8Array[],
  verify: VerifySignature = verifyEd25519,
): number {
  if (before === null || keys.length < 2) return 0;
  const signed = verifyViewLine(before, keys, verify);
  return signed.ok ? signed.value : keys.length - 1;
}

/** True for a newest line that is not signed by the newest of the host's keys (ascending): a later key may say another. Pure. */
export function isOutdatedLine(
  line: ViewLine,
  keys: readonly Uint8Array[],
  verify: VerifySignature = verifyEd25519,
): boolean {
  const signed = verifyViewLine(line, keys, verify);
  return !signed.ok || signed.value < keys.length - 1;
}

/** What stands in the place of `n` in a line of no journal: no journal takes it, whoever carries it there. */
export const outsideN = 0;

function isOutsideLine(value: JsonValue): boolean {
  const { n, prev, mesh } = (value ?? {}) as Partial<JsonObject>;
  return n === outsideN && prev === mesh;
}

type RawHead = readonly [seq: number, link: string];

interface RawLine extends Omit<ViewLineParts, 'heads' | 'views'> {
  readonly heads: Readonly<Record<string, RawHead>>;
  readonly views: Readonly<Record<string, string>>;
  readonly cosign: string;
  readonly sig: string;
}

function readLine(raw: RawLine, text: string): ViewLine {
  const { at, cosign, host, mesh, n, prev, root, rules, sig, trust } = raw;
  const heads = new Map(Object.entries(raw.heads).map(([name, [seq, link]]) => [name, { seq, link }]));
  const views = new Map(Object.entries(raw.views));
  return { at, cosign, heads, host, mesh, n, prev, root, rules, sig, trust, views, text };
}

function unsignedJson(line: ViewLineParts & Pick<ViewLine, 'cosign'>): JsonObject {
  const { at, cosign, host, mesh, n, prev, root, rules, trust } = line;
  const heads = headsJson(line.heads);
  const views = Object.fromEntries(line.views);
  return { at, cosign, heads, host, mesh, n, prev, root, rules, trust, v: viewLineVersion, views };
}

function headsJson(heads: Statement['heads']): JsonObject {
  return Object.fromEntries([...heads].map(([host, { seq, link }]) => [host, [seq, link]]));
}

const count: Check = (value) =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 ? undefined : 'must be a positive integer';
const slug: Check = textThat(isSlug, 'a slug');
const hash: Check = textThat(isId, '64 hex digits');
const signature: Check = textThat((text) => decodeBase64(text)?.length === 64, 'base64 of 64 bytes');

const head: Check = (value) => {
  if (!Array.isArray(value) || value.length !== 2) return 'must be [seq, link]';
  const [seq = null, link = null] = value as readonly JsonValue[];
  return count(seq) ?? hash(link);
};

const lineMembers: Readonly<Record<string, Check>> = {
  at: textThat(isInstant, 'an instant like 2026-07-27T15:04:05.000Z'),
  cosign: signature,
  heads: namedEntries(slug, head, viewHostsMax),
  host: slug,
  mesh: hash,
  n: count,
  prev: hash,
  root: hash,
  rules: count,
  sig: signature,
  trust: hash,
  v: count,
  views: namedEntries(slug, hash, trustItemsMax),
};
const viewLineCheck: Check = members(lineMembers);
const outsideLineCheck: Check = members({ ...lineMembers, n: integer(outsideN) });

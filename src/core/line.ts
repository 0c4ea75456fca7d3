/**
 * The log line: body, place in the log, host signature, and perhaps a human approval. The link chains constant-size
 * headers, so it names a whole prefix and survives a purged body. Source: docs/format.md, section 4.
 */
import { decodeBase64, encodeBase64, isCanonicalBase64 } from '../crypto/base64.ts';
import {
  canonicalJson,
  isJsonObject,
  parseCanonical,
  type CanonicalFault,
  type JsonObject,
  type JsonValue,
} from '../crypto/canonical.ts';
import { sha256Hex } from '../crypto/hash.ts';
import { assert, ok, refuse, type Result } from '../crypto/result.ts';
import { decodeUtf8, fitsUtf8 } from '../crypto/text.ts';
import { isSubject } from './body-fields.ts';
import { parseBody, type Auth, type Body, type BodyFault } from './event.ts';
import { isId, isSlug } from './id.ts';
import { jsonDepthMax, lineBytesMax } from './limits.ts';

/** The line version that this program writes and interprets. */
export const lineVersion = 1;

/** Why a line ends its log: the fault is in bytes or envelope, not in what the event says. */
export type LineFault = 'LINE_TOO_LONG' | 'NOT_UTF8' | 'ENVELOPE' | CanonicalFault;

/** Why a line of a sound envelope has no body to interpret. */
export type HeldFault = BodyFault | 'HOLE' | 'UNKNOWN_VERSION';

/** What the link hashes. `auth` is the hash of the approval, or null; `mesh` is the mesh whose log this is. */
export interface LineHeader {
  readonly auth: string | null;
  readonly id: string;
  readonly log: string;
  readonly mesh: string;
  readonly prev: string;
  readonly seq: number;
  readonly v: number;
}

/** One parsed line. Nothing about its signature or its place in a chain is known yet. */
export interface Line {
  readonly v: number;
  readonly log: string;
  readonly seq: number;
  readonly prev: string;
  readonly auth: Auth | null;
  readonly id: string;
  /** Null iff `fault` is set. */
  readonly body: Body | null;
  readonly fault: HeldFault | null;
  /** Subject and scope that an invalid body of version 1 names all the same, so that what is held out has a record. */
  readonly held: { readonly subject: string; readonly scope: string } | null;
  readonly link: string;
  /** Canonical base64 of 64 bytes, not verified. */
  readonly sig: string;
  /** The line as it stands in the log, without newline. */
  readonly text: string;
}

/** ASCII text that the host key signs. Pure. */
export function lineMessage(link: string): string {
  return `memd-line-v1\n${link}`;
}

/** Link of a header: sha256("memd-link-v1\n" + JCS(header)), 64 hex digits. Pure. */
export function linkOf(header: LineHeader): string {
  return sha256Hex(`memd-link-v1\n${headerText(header)}`);
}

/**
 * JCS of a header by concatenation. Every value is hex, a slug or a safe integer, none of which JSON escapes, and the
 * members stand in sorted order; a test holds it against `canonicalJson`. Pure.
 */
export function headerText(header: LineHeader): string {
  const auth = header.auth === null ? 'null' : `"${header.auth}"`;
  return `{"auth":${auth},"id":"${header.id}","log":"${header.log}","mesh":"${header.mesh}","prev":"${header.prev}","seq":${header.seq},"v":${header.v}}`;
}

/**
 * Reads one line (no newline) of a log of `mesh`. Refuses what ends a log: bytes that are not canonical, or a bad
 * envelope. A body that is a hole, of a higher version, or invalid is held out by `fault`, and the line still chains.
 * Pure. Source: docs/format.md F3, F4.
 */
export function parseLine(line: Uint8Array | string, mesh: string): Result<Line, LineFault> {
  if (line.length > lineBytesMax) return refuse('LINE_TOO_LONG', 'longer than 32768 bytes');
  const text = typeof line === 'string' ? line : decodeUtf8(line);
  if (text === undefined) return refuse('NOT_UTF8', 'not UTF-8');
  if (!fitsUtf8(text, lineBytesMax)) return refuse('LINE_TOO_LONG', 'longer than 32768 bytes');
  const parsed = parseCanonical(text, { depthMax: jsonDepthMax });
  if (!parsed.ok) return parsed;
  const envelope = readEnvelope(parsed.value);
  return typeof envelope === 'string' ? refuse('ENVELOPE', envelope) : ok(interpret(text, envelope, mesh));
}

/** What a writer says in one line, and where in the log. */
export interface LineParts {
  readonly body: Body;
  readonly auth: Auth | null;
  readonly log: string;
  readonly seq: number;
  readonly prev: string;
}

/** A line that lacks its signature only. Its link is known, so the next line can be drafted before this one is signed. */
export interface LineDraft {
  readonly seq: number;
  readonly link: string;
  /** What the host signs. */
  readonly message: string;
  /** The line, parsed back from its own text: what a writer makes is what a reader reads. */
  readonly finish: (signature: Uint8Array) => Line;
}

/** Drafts a line of version 1. Pure. */
export function draftLine({ body, auth, log, seq, prev }: LineParts): LineDraft {
  const bodyText = canonicalJson(body as unknown as JsonValue);
  const authHash = auth === null ? null : sha256Hex(authText(auth));
  const link = linkOf({ auth: authHash, id: sha256Hex(bodyText), log, mesh: body.mesh, prev, seq, v: lineVersion });
  return {
    seq,
    link,
    message: lineMessage(link),
    finish: (signature) => {
      const sig = encodeBase64(signature);
      const text = `${beforeBody(auth)}${bodyText}${afterBody({ log, prev, seq, sig, v: lineVersion })}`;
      const line = parseLine(text, body.mesh);
      assert(line.ok && line.value.link === link, 'a built line parses to the link that was signed');
      return line.value;
    },
  };
}

/** A signed line of version 1. Pure. */
export function buildLine(parts: LineParts, sign: (message: string) => Uint8Array): Line {
  const draft = draftLine(parts);
  return draft.finish(sign(draft.message));
}

/**
 * The line with its body taken away: `"body":"<id>"`. Approval, signature, header and link stay as they were, so the chain
 * holds. A hole is its own hole. Pure. Source: docs/format.md F4.
 */
export function holeOf(line: Line): Line {
  const text = `${beforeBody(line.auth)}"${line.id}"${afterBody(line)}`;
  return { ...line, body: null, fault: 'HOLE', held: null, text };
}

interface Envelope {
  readonly auth: Auth | null;
  readonly body: JsonValue;
  readonly log: string;
  readonly prev: string;
  readonly seq: number;
  readonly sig: string;
  readonly v: number;
}

function interpret(text: string, envelope: Envelope, mesh: string): Line {
  const { auth, body, log, prev, seq, sig, v } = envelope;
  const id = isId(body) ? body : sha256Hex(bodyOf(text, envelope));
  const authHash = auth === null ? null : sha256Hex(authText(auth));
  const link = linkOf({ auth: authHash, id, log, mesh, prev, seq, v });
  const read = readBody(body, v);
  // The mesh is named in every body: one string serves them all.
  if (read.body !== null && read.body.mesh === mesh) (read.body as { mesh: string }).mesh = mesh;
  return { v, log, seq, prev, auth, id, body: read.body, fault: read.fault, held: read.held, link, sig, text };
}

/** The bytes of the body as they stand in the line. The line is canonical, so what surrounds them is known exactly. */
function bodyOf(text: string, envelope: Envelope): string {
  return text.slice(beforeBody(envelope.auth).length, text.length - afterBody(envelope).length);
}

function readBody(body: JsonValue, v: number): Pick<Line, 'body' | 'fault' | 'held'> {
  if (isId(body)) return { body: null, fault: 'HOLE', held: null };
  if (v !== lineVersion) return { body: null, fault: 'UNKNOWN_VERSION', held: null };
  if (!isJsonObject(body)) return { body: null, fault: 'BODY_SHAPE', held: null };
  const parsed = parseBody(body);
  return parsed.ok
    ? { body: parsed.value, fault: null, held: null }
    : { body: null, fault: parsed.code, held: heldRecord(body) };
}

function heldRecord(body: JsonObject): Line['held'] {
  const { subject, scope } = body;
  return isSubject(subject) ? { subject, scope: isSlug(scope) ? scope : '*' } : null;
}

/** The envelope, or a sentence that says what is wrong with it. */
function readEnvelope(value: JsonValue): Envelope | string {
  if (!isJsonObject(value)) return 'a line is an object';
  const { auth: approval, body, log, prev, seq, sig, v } = value;
  if (body === undefined) return 'body is missing';
  if (!isSlug(log)) return 'log is not a slug';
  if (!isId(prev)) return 'prev is not 64 hex digits';
  if (!isCount(seq)) return 'seq is not a positive integer';
  if (!isCount(v)) return 'v is not a positive integer';
  if (typeof sig !== 'string' || !isSignatureText(sig)) return 'sig is not base64 of 64 bytes';
  const auth = approval === undefined ? null : readAuth(approval);
  if (auth === undefined) return 'auth is not well formed';
  // Every member that may stand here has been seen, so the number of members tells whether there is another one.
  return Object.keys(value).length === (auth === null ? 6 : 7)
    ? { auth, body, log, prev, seq, sig, v }
    : 'a member that does not belong here';
}

const base64Alphabet = new Uint8Array(128);
for (const character of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/') {
  base64Alphabet[character.charCodeAt(0)] = 1;
}

/**
 * Canonical base64 of exactly 64 bytes. A loop over a table, because the pattern it stands for was a tenth of the time
 * of a line.
 */
function isSignatureText(text: string): boolean {
  if (text.length !== 88 || !text.endsWith('==') || !'AQgw'.includes(text.charAt(85))) return false;
  for (let at = 0; at < 85; at += 1) if (base64Alphabet[text.charCodeAt(at)] !== 1) return false;
  return true;
}

/** A well-formed approval: exactly {key, signer, sshsig}. Undefined otherwise. Pure. */
export function readAuth(value: JsonValue): Auth | undefined {
  if (!isJsonObject(value) || Object.keys(value).join(' ') !== 'key signer sshsig') return undefined;
  const { key, signer, sshsig } = value;
  if (typeof key !== 'string' || !/^SHA256:[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]$/.test(key)) return undefined;
  if (!isSlug(signer) || typeof sshsig !== 'string' || sshsig === '' || !isCanonicalBase64(sshsig)) return undefined;
  return { key, signer, sshsig };
}

/** JCS of a well-formed approval: no character of it is ever escaped. */
function authText(auth: Auth): string {
  return `{"key":"${auth.key}","signer":"${auth.signer}","sshsig":"${auth.sshsig}"}`;
}

function beforeBody(auth: Auth | null): string {
  return auth === null ? '{"body":' : `{"auth":${authText(auth)},"body":`;
}

function afterBody(place: Pick<Envelope, 'log' | 'prev' | 'seq' | 'sig' | 'v'>): string {
  return `,"log":"${place.log}","prev":"${place.prev}","seq":${place.seq},"sig":"${place.sig}","v":${place.v}}`;
}

function isCount(value: JsonValue | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1;
}

/** The 64 signature bytes of a line. Pure. */
export function signatureOf(line: Line): Uint8Array {
  const bytes = decodeBase64(line.sig);
  assert(bytes?.length === 64, 'a parsed line carries 64 signature bytes');
  return bytes;
}

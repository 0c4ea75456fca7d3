/**
 * The event: what a log line says. Its id is the hash of its canonical form, so it is the same event wherever and
 * however often it is carried. Source: docs/format.md, sections 4 and 5.
 */
import { canonicalJson, parseCanonical, type JsonObject, type JsonValue } from '../crypto/canonical.ts';
import { sha256Hex } from '../crypto/hash.ts';
import { ok, refuse, type Result } from '../crypto/result.ts';
import { fitsUtf8 } from '../crypto/text.ts';
import { isReasonCode } from './body-fields.ts';
import { fieldBits, rowSets, type FieldSets } from './body-table.ts';
import { bodyBytesMax, jsonDepthMax } from './limits.ts';

/** The nine kinds of event. Source: docs/format.md, kinds. */
export type Kind = 'assert' | 'lesson' | 'decision' | 'question' | 'observe' | 'propose' | 'retract' | 'pin' | 'deny';

/** SSHSIG namespace of approvals of events: one can never pass for an approval of a trust op, nor the reverse. */
export const eventNamespace = 'memd-event';

/** What a log line says. Defaults are written by absence; field meanings and bounds: docs/format.md, field table. */
export interface Body {
  readonly mesh: string;
  readonly host: string;
  readonly session: string;
  readonly at: string;
  readonly nonce: string;
  readonly kind: Kind;
  readonly subject: string;
  readonly content?: string;
  readonly value?: string;
  readonly polarity?: 'absent';
  readonly hook?: string;
  readonly text?: string;
  readonly home?: string;
  readonly digest?: string;
  readonly basis?: readonly string[];
  readonly supersedes?: readonly string[];
  readonly proposes?: 'assert' | 'lesson';
  readonly names?: readonly string[];
  readonly scope?: string;
  readonly audience?: string;
  readonly confidence?: 'stated' | 'verified';
  readonly lineage?: 'untrusted';
}

/** Human approval of a body, beside it in the line. `key` is the SHA256: fingerprint of the signer's key. */
export interface Auth {
  readonly key: string;
  readonly signer: string;
  readonly sshsig: string;
}

/** Why a body is held out. It never ends a log. BODY_TOO_LONG is for writers only. */
export type BodyFault =
  | 'BODY_SHAPE'
  | 'KIND_UNKNOWN'
  | 'FIELD_MISSING'
  | 'FIELD_FORBIDDEN'
  | 'FIELD_VALUE'
  | 'BODY_TOO_LONG';

/** What a writer fills in; `makeBody` adds the stamp. */
export type BodyInput = Omit<Body, 'mesh' | 'host' | 'session' | 'at' | 'nonce'> & { readonly session?: string };

/** What the process, never the caller, says about itself and the moment. `nonce` is 32 random hex digits. */
export type BodyStamp = Pick<Body, 'mesh' | 'host' | 'session' | 'at' | 'nonce'>;

/**
 * Checks a body that `parseCanonical` gave out against the field table: every required field, no other field, every
 * value in its grammar. Whether the mesh is ours, the class registered or the audience declared is for the fold. Pure.
 */
export function parseBody(value: JsonObject): Result<Body, BodyFault> {
  const row = rowOf(value);
  if (!row.ok) return row;
  let present = 0;
  for (const name in value) {
    const field = fieldBits.get(name);
    if (field === undefined || (row.value.allowed & field.bit) === 0) return forbidden(name);
    if (!field.check(value[name] as JsonValue)) return refuse('FIELD_VALUE', `${name} must be ${field.says}`);
    present |= field.bit;
  }
  const missing = row.value.required & ~present;
  return missing === 0 ? (faultBetweenFields(value) ?? ok(value as unknown as Body)) : missingField(missing);
}

/** Id of an event: sha256 of its canonical form, 64 hex digits. Pure. */
export function eventId(body: Body): string {
  return sha256Hex(canonicalJson(body as unknown as JsonValue));
}

/**
 * A body ready to append: text normalised to NFC, lists sorted and unique, defaults left out, checked against the field
 * table. Writers normalise so that readers never have to. Pure.
 */
export function makeBody(input: BodyInput, stamp: BodyStamp): Result<Body, BodyFault> {
  const members = new Map<string, JsonValue>();
  for (const [name, value] of Object.entries({ ...input, ...stamp })) {
    if (!isText(value)) return refuse('BODY_SHAPE', `${name} must be well-formed text or a list of it`);
    const written = writtenValue(name, value);
    if (written !== undefined) members.set(name, written);
  }
  // fromEntries defines members: `__proto__` from outside becomes one, for the parser to refuse.
  const text = canonicalJson(Object.fromEntries(members));
  const parsed = parseCanonical(text, { depthMax: jsonDepthMax });
  if (!parsed.ok) return refuse('BODY_SHAPE', parsed.detail);
  if (!fitsUtf8(text, bodyBytesMax)) return refuse('BODY_TOO_LONG', `the event is longer than ${bodyBytesMax} bytes`);
  const body = parseBody(parsed.value as JsonObject);
  return body.ok && body.value.home?.startsWith('file:/') === true ? absoluteFile() : body;
}

/** Class of a subject: what stands before the first slash. Pure. */
export function classOf(subject: string): string {
  return subject.slice(0, subject.indexOf('/'));
}

/** Scope of a body; `*` when none is written. Pure. */
export function scopeOf(body: Pick<Body, 'scope'>): string {
  return body.scope ?? '*';
}

/** Audience of a body; `operator` when none is written. Pure. */
export function audienceOf(body: Pick<Body, 'audience'>): string {
  return body.audience ?? 'operator';
}

/** True for the kinds that claim something about a subject. Pure. */
export function isClaim(kind: Kind): kind is 'assert' | 'lesson' {
  return kind === 'assert' || kind === 'lesson';
}

function rowOf(value: JsonObject): Result<FieldSets, BodyFault> {
  const { kind, proposes } = value;
  if (typeof kind !== 'string') return refuse('FIELD_MISSING', 'kind is missing');
  if (kind === 'propose') {
    const row = typeof proposes === 'string' ? rowSets.get(`propose ${proposes}`) : undefined;
    return row === undefined ? refuse('FIELD_VALUE', 'propose needs proposes: assert or lesson') : ok(row);
  }
  // A row name with a blank belongs to propose and is no kind.
  const row = kind.includes(' ') ? undefined : rowSets.get(kind);
  return row === undefined ? refuse('KIND_UNKNOWN', 'a kind that this version does not know') : ok(row);
}

function forbidden(name: string): Result<never, BodyFault> {
  const shown = /^[a-z_]{1,32}$/.test(name) ? name : 'another name';
  return refuse('FIELD_FORBIDDEN', `a field that this kind may not carry: ${shown}`);
}

function missingField(missing: number): Result<never, BodyFault> {
  const name = [...fieldBits].find(([, { bit }]) => (missing & bit) !== 0)?.[0] ?? 'a field';
  return refuse('FIELD_MISSING', `${name} is missing`);
}

function faultBetweenFields(value: JsonObject): Result<never, BodyFault> | undefined {
  const kind = value['kind'] === 'propose' ? value['proposes'] : value['kind'];
  if (kind === 'assert' && value['content'] === undefined && value['value'] === undefined) {
    return refuse('FIELD_MISSING', 'assert needs content or value');
  }
  if (kind === 'deny' && value['content'] !== undefined && !isReasonCode(value['content'])) {
    return refuse('FIELD_VALUE', 'content of a deny must be a reason code, as in secret/aws-access-key');
  }
  return undefined;
}

const defaults: Readonly<Record<string, string>> = {
  polarity: 'exists',
  scope: '*',
  audience: 'operator',
  confidence: 'inferred',
  lineage: 'trusted',
};

type Text = string | readonly string[] | undefined;

function isText(value: unknown): value is Text {
  if (Array.isArray(value)) return value.every((item) => typeof item === 'string' && item.isWellFormed());
  return value === undefined || (typeof value === 'string' && value.isWellFormed());
}

/** Undefined: the member is left out. */
function writtenValue(name: string, value: Text): JsonValue | undefined {
  if (value === undefined || value === defaults[name]) return undefined;
  if (typeof value === 'string') return value.normalize('NFC');
  const items = new Set(value.map((item) => item.normalize('NFC')));
  return items.size === 0 ? undefined : [...items].sort(byUnits);
}

/** Ascending by UTF-16 units: the one order of every list in a body. */
function byUnits(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/** A path without a host means another file on every machine. */
function absoluteFile(): Result<never, BodyFault> {
  return refuse('FIELD_VALUE', 'home: an absolute file needs its host in front, as in alpha:file:/etc/hosts');
}

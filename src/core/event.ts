/**
 * The event: what a log line says. Its id is the hash of its canonical form, so it is the same event wherever and
 * however often it is carried. Source: docs/format.md, sections 4 and 5.
 */
import { canonicalJson, isJsonObject, parseCanonical, type JsonObject, type JsonValue } from '../crypto/canonical.ts';
import { sha256Hex } from '../crypto/hash.ts';
import { ok, refuse, type Result } from '../crypto/result.ts';
import { fieldChecks, isReasonCode, type FieldCheck } from './body-fields.ts';
import { jsonDepthMax } from './limits.ts';

/** The nine kinds of event. Source: docs/format.md, kinds. */
export type Kind =
  | 'assert'
  | 'lesson'
  | 'decision'
  | 'question'
  | 'observe'
  | 'propose'
  | 'retract'
  | 'pin'
  | 'deny';

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

/** Why a body is held out. It never ends a log. */
export type BodyFault = 'BODY_SHAPE' | 'KIND_UNKNOWN' | 'FIELD_MISSING' | 'FIELD_FORBIDDEN' | 'FIELD_VALUE';

/** What a writer fills in; `makeBody` adds the stamp. */
export type BodyInput = Omit<Body, 'mesh' | 'host' | 'session' | 'at' | 'nonce'> & { readonly session?: string };

/** What the process, never the caller, says about itself and the moment. `nonce` is 32 random hex digits. */
export type BodyStamp = Pick<Body, 'mesh' | 'host' | 'session' | 'at' | 'nonce'>;

/** Fields of one kind: those it must have and those it may have besides. */
export interface KindFields {
  readonly required: readonly string[];
  readonly optional: readonly string[];
}

const everyKind: KindFields = {
  required: ['mesh', 'host', 'session', 'at', 'nonce', 'kind', 'subject'],
  optional: ['scope', 'audience'],
};

const claimFields: Readonly<Record<'assert' | 'lesson', KindFields>> = {
  assert: {
    required: ['home'],
    optional: [
      'content', 'value', 'polarity', 'hook', 'text', 'basis', 'supersedes', 'names', 'confidence', 'lineage',
    ],
  },
  lesson: {
    required: ['content'],
    optional: ['hook', 'text', 'home', 'basis', 'supersedes', 'names', 'confidence', 'lineage'],
  },
};

/** The field table: for each kind, what it requires and what it may carry besides the fields of every kind. */
export const fieldTable: Readonly<Record<Exclude<Kind, 'propose'>, KindFields>> & {
  readonly propose: Readonly<Record<'assert' | 'lesson', KindFields>>;
} = {
  ...claimFields,
  decision: { required: ['content'], optional: ['text', 'home', 'basis', 'supersedes', 'lineage'] },
  question: { required: ['content'], optional: ['supersedes', 'lineage'] },
  observe: { required: ['home', 'digest'], optional: [] },
  propose: {
    assert: { required: ['proposes', ...claimFields.assert.required], optional: claimFields.assert.optional },
    lesson: { required: ['proposes', ...claimFields.lesson.required], optional: claimFields.lesson.optional },
  },
  retract: { required: ['supersedes'], optional: ['content', 'lineage'] },
  pin: { required: [], optional: [] },
  deny: { required: [], optional: ['content'] },
};

/**
 * Checks a body that `parseCanonical` gave out against the field table: every required field, no other field, every
 * value in its grammar. Whether the mesh is ours, the class registered or the audience declared is for the fold. Pure.
 */
export function parseBody(value: JsonObject): Result<Body, BodyFault> {
  const fields = fieldsOf(value);
  if (!fields.ok) return fields;
  let present = 0;
  for (const name in value) {
    const field = fieldBits.get(name);
    if (field === undefined || (fields.value.allowed & field.bit) === 0) return forbidden(name);
    if (!field.check(value[name] as JsonValue)) return refuse('FIELD_VALUE', `${name} is not well formed`);
    present |= field.bit;
  }
  const missing = fields.value.required & ~present;
  return missing === 0 ? kindFault(value) ?? ok(value as unknown as Body) : missingField(missing);
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
  const members: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries({ ...input, ...stamp })) {
    const written = writtenValue(name, value as JsonValue | undefined);
    if (written !== undefined) members[name] = written;
  }
  const home = members['home'];
  if (typeof home === 'string' && home.startsWith('file:/')) {
    return refuse('FIELD_VALUE', 'home: an absolute file needs the host in front, as in alpha:file:/etc/hosts');
  }
  const parsed = reparse(members);
  return parsed.ok ? parseBody(parsed.value) : parsed;
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

/** Sets of fields as bits: a body is checked in one pass over its members. */
interface FieldSets {
  readonly required: number;
  readonly allowed: number;
}

const fieldBits: ReadonlyMap<string, { readonly bit: number; readonly check: FieldCheck }> = new Map(
  Object.entries(fieldChecks).map(([name, check], index) => [name, { bit: 1 << index, check }]),
);

function bitsOf(names: readonly string[]): number {
  return names.reduce((bits, name) => bits | (fieldBits.get(name)?.bit ?? 0), 0);
}

function setsOf(fields: KindFields): FieldSets {
  const required = bitsOf(everyKind.required) | bitsOf(fields.required);
  return { required, allowed: required | bitsOf(everyKind.optional) | bitsOf(fields.optional) };
}

const { propose, ...plainKinds } = fieldTable;
const plainSets: ReadonlyMap<string, FieldSets> = new Map(
  Object.entries(plainKinds).map(([kind, fields]) => [kind, setsOf(fields)]),
);
const proposeSets: ReadonlyMap<string, FieldSets> = new Map(
  Object.entries(propose).map(([kind, fields]) => [kind, setsOf(fields)]),
);

function fieldsOf(value: JsonObject): Result<FieldSets, BodyFault> {
  const { kind, proposes } = value;
  if (typeof kind !== 'string') return refuse('FIELD_MISSING', 'kind is missing');
  const sets = kind === 'propose' ? proposeSets.get(typeof proposes === 'string' ? proposes : '') : plainSets.get(kind);
  if (sets !== undefined) return ok(sets);
  if (kind === 'propose') return refuse('FIELD_VALUE', 'propose needs proposes: assert or lesson');
  return refuse('KIND_UNKNOWN', 'a kind that this version does not know');
}

function forbidden(name: string): Result<never, BodyFault> {
  return refuse('FIELD_FORBIDDEN', `a field that this kind may not carry: ${shown(name)}`);
}

function missingField(missing: number): Result<never, BodyFault> {
  const name = [...fieldBits].find(([, { bit }]) => (missing & bit) !== 0)?.[0] ?? 'a field';
  return refuse('FIELD_MISSING', `${name} is missing`);
}

/** Rules between fields. */
function kindFault(value: JsonObject): Result<never, BodyFault> | undefined {
  const kind = value['kind'] === 'propose' ? value['proposes'] : value['kind'];
  if (kind === 'assert' && value['content'] === undefined && value['value'] === undefined) {
    return refuse('FIELD_MISSING', 'assert needs content or value');
  }
  if (kind === 'deny' && value['content'] !== undefined && !isReasonCode(value['content'])) {
    return refuse('FIELD_VALUE', 'content of a deny is a reason code');
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

function writtenValue(name: string, value: JsonValue | undefined): JsonValue | undefined {
  if (value === undefined || value === defaults[name]) return undefined;
  if (typeof value === 'string') return normalized(value);
  if (!Array.isArray(value)) return value;
  const items = value.map((item: JsonValue) => (typeof item === 'string' ? normalized(item) : item));
  if (items.length === 0) return undefined;
  return items.every((item) => typeof item === 'string') ? sortedUnique(items as readonly string[]) : items;
}

function normalized(text: string): string {
  return text.normalize('NFC');
}

/** Ascending by UTF-16 units, without repeats: the one order of every list in a body. */
function sortedUnique(items: readonly string[]): readonly string[] {
  return [...new Set(items)].sort((left, right) => (left < right ? -1 : left > right ? 1 : 0));
}

/** Runs a draft through the strict parser, so that a writer can never make what a reader refuses. */
function reparse(members: Readonly<Record<string, JsonValue>>): Result<JsonObject, BodyFault> {
  if (!isPlain(members)) return refuse('BODY_SHAPE', 'a string holds a lone surrogate, or a value is not JSON');
  const parsed = parseCanonical(canonicalJson(members), { depthMax: jsonDepthMax });
  if (!parsed.ok) return refuse('BODY_SHAPE', parsed.detail);
  return isJsonObject(parsed.value) ? ok(parsed.value) : refuse('BODY_SHAPE', 'a body is an object');
}

function isPlain(members: Readonly<Record<string, JsonValue>>): boolean {
  return Object.values(members).every((value) =>
    Array.isArray(value) ? value.every(isPlainString) : isPlainString(value),
  );
}

function isPlainString(value: unknown): boolean {
  return typeof value === 'string' && value.isWellFormed();
}

/** A name from outside, short enough and plain enough for a message. */
function shown(name: string): string {
  return /^[a-z_]{1,32}$/.test(name) ? name : 'another name';
}

import type { BodyInput } from '../../core/event.ts';
import { lineBytesMax } from '../../core/limits.ts';
import { parsePlainJson } from '../../crypto/plain-json.ts';
import { ok, refuse, type Result } from '../../crypto/result.ts';
import { decodeUtf8 } from '../../crypto/text.ts';
import { plainEvent, type PlainEventFault } from './plain-event.ts';
import type { ImportPlan, ImportRemark } from './types.ts';

/** Why a line is left out. */
export type JsonLineFault = PlainEventFault | 'NOT_UTF8' | 'NOT_JSON' | 'NOT_AN_OBJECT' | 'REPEATED_KEY' | 'NOT_PLAIN';

interface JsonLine {
  readonly event: BodyInput;
  readonly hadSession: boolean;
}

/** Fields that the importing host sets. A line that brings them is somebody's log line or body, not a plain event. */
const stampFields = ['mesh', 'host', 'at', 'nonce'] as const;

/**
 * Reads JSON lines: one event body each, without mesh, host, at and nonce. Split at 0x0A only. A line that is not one
 * is named by its number and does not stop the others; blank lines carry nothing. Pure.
 */
export function readJsonLines(bytes: Uint8Array, name: string): ImportPlan {
  const events: BodyInput[] = [];
  const skipped: ImportRemark[] = [];
  const noted: ImportRemark[] = [];
  for (const { what, record } of readRecords(bytes, name)) {
    const read = record.ok ? readEvent(record.value) : record;
    if (!read.ok) skipped.push({ what, why: read.detail });
    else events.push(read.value.event);
    if (read.ok && read.value.hadSession) noted.push({ what, why: 'its session is replaced by import:jsonl' });
  }
  return { kind: 'jsonl', events, skipped, noted };
}

/** One line that is not blank: where it stands (`NAME line N`), and its fields or why it has none. */
export interface RecordLine {
  readonly what: string;
  readonly record: Result<Readonly<Record<string, unknown>>, JsonLineFault>;
}

/**
 * Reads JSON lines as objects, strictly: UTF-8 only (a byte order mark may stand first), no key twice, no field that the
 * host sets. Split at 0x0A only; blank lines carry nothing. Pure.
 */
export function* readRecords(bytes: Uint8Array, name: string): Generator<RecordLine> {
  for (const { what, record } of readObjects(bytes, { name, lineMax: lineBytesMax })) {
    yield { what, record: record.ok ? requirePlain(record.value) : record };
  }
}

/** Reads JSON lines as objects of any shape: UTF-8, one object a line, no key twice. Pure. */
export function* readObjects(
  bytes: Uint8Array,
  { name, lineMax }: { readonly name: string; readonly lineMax: number },
): Generator<RecordLine> {
  for (const [i, line] of splitLines(bytes).entries()) {
    if (!isBlank(line)) yield { what: `${name} line ${i + 1}`, record: readObject(line, lineMax) };
  }
}

function splitLines(bytes: Uint8Array): readonly Uint8Array[] {
  const lines: Uint8Array[] = [];
  let start = 0;
  for (let end = bytes.indexOf(0x0a); end >= 0; end = bytes.indexOf(0x0a, start)) {
    lines.push(bytes.subarray(start, end));
    start = end + 1;
  }
  if (start < bytes.length) lines.push(bytes.subarray(start));
  return lines;
}

function isBlank(line: Uint8Array): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}

function readObject(line: Uint8Array, lineMax: number): RecordLine['record'] {
  if (line.length > lineMax)
    return refuse('TOO_LONG', `${line.length} bytes, more than the ${lineMax} that a line may have`);
  const text = decodeUtf8(line)?.replace(/^\uFEFF/, '');
  return text === undefined ? refuse('NOT_UTF8', 'not UTF-8 text') : parseRecord(text);
}

function requirePlain(record: Readonly<Record<string, unknown>>): RecordLine['record'] {
  const stamped = stampFields.filter((field) => Object.hasOwn(record, field));
  if (stamped.length > 0) return refuse('NOT_PLAIN', `it has ${stamped.join(', ')}: from a log, not a plain event`);
  return ok(record);
}

function readEvent(record: Readonly<Record<string, unknown>>): Result<JsonLine, JsonLineFault> {
  const { session, ...input } = record;
  const event = plainEvent(input as unknown as BodyInput);
  return event.ok ? ok({ event: event.value, hadSession: session !== undefined }) : event;
}

function parseRecord(text: string): Result<Readonly<Record<string, unknown>>, JsonLineFault> {
  const read = parsePlainJson(text);
  if (!read.ok) return read;
  const { value } = read;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return refuse('NOT_AN_OBJECT', 'not a JSON object');
  return ok(value as Readonly<Record<string, unknown>>);
}

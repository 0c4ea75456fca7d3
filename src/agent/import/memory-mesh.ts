/** Logs of the Python memory-mesh: one `events/<host>.ndjson` for each of its hosts. */
import { isHome } from '../../core/body-fields.ts';
import type { BodyInput } from '../../core/event.ts';
import { isSlug } from '../../core/id.ts';
import { importGraphLineBytesMax, valueBytesMax } from '../../core/limits.ts';
import { ok, refuse, type Result } from '../../crypto/result.ts';
import { utf8Length } from '../../crypto/text.ts';
import { readObjects } from './json-lines.ts';
import { plainEvent } from './plain-event.ts';
import { importKey } from './plan-import.ts';
import type { ImportPlan, ImportRemark } from './types.ts';

type Fields = Readonly<Record<string, unknown>>;

interface Gathered {
  readonly events: BodyInput[];
  readonly skipped: ImportRemark[];
  readonly noted: ImportRemark[];
  /** Import key by the id that the event had there. */
  readonly keys: Map<string, string>;
}

/** One event of theirs, where it stands. */
interface Line {
  readonly what: string;
  readonly file: string;
  readonly fields: Fields;
}

/**
 * Reads the logs in the order that is given. What a host said there, and when, stands in `content`: here it is this host
 * that says it, now. An assert carries the plain statement in `value` as well, so that two hosts that said the same agree.
 * Contradictions come along, and park. Pure.
 */
export function readMemoryMesh(files: readonly { readonly name: string; readonly bytes: Uint8Array }[]): ImportPlan {
  const gathered: Gathered = { events: [], skipped: [], noted: [], keys: new Map() };
  const lines: Line[] = [];
  for (const { name, bytes } of files) {
    for (const { what, record } of readObjects(bytes, { name, lineMax: importGraphLineBytesMax })) {
      if (record.ok) lines.push({ what, file: name, fields: record.value });
      else gathered.skipped.push({ what, why: record.detail });
    }
  }
  const made = lines.map((line) => ({ line, event: eventOf(line, gathered.noted) }));
  // Every key before any edge: an event may replace one of a log that is read later.
  for (const { line, event } of made) {
    const id = line.fields['id'];
    if (event.ok && isText(id)) gathered.keys.set(id, importKey(event.value));
  }
  const lessons = new Map<string, string>();
  for (const { line, event } of made) {
    if (!event.ok) gathered.skipped.push({ what: line.what, why: event.detail });
    else if (!isRepeated(line, { lessons, gathered })) takeEvent(line, event.value, gathered);
  }
  const { events, skipped, noted } = gathered;
  return { kind: 'memory-mesh', events, skipped, noted };
}

/**
 * A lesson is compared by its content, and that holds host and time: the same rule of two hosts would contradict itself.
 * The second is the first.
 */
function isRepeated(
  { what, fields }: Line,
  { lessons, gathered }: { readonly lessons: Map<string, string>; readonly gathered: Gathered },
): boolean {
  const { kind, subject, content, id, host } = fields;
  if (kind !== 'lesson') return false;
  const said = JSON.stringify([subject, content]);
  const first = lessons.get(said);
  const key = isText(id) ? (gathered.keys.get(id) ?? '') : '';
  lessons.set(said, first ?? key);
  if (first === undefined) return false;
  if (isText(id)) gathered.keys.set(id, first);
  gathered.noted.push({
    what,
    why: `the same lesson stands before, host ${isText(host) ? host : 'unknown'} says it too`,
  });
  return true;
}

function takeEvent({ what, fields }: Line, event: BodyInput, { events, skipped, noted, keys }: Gathered): void {
  const named = Array.isArray(fields['supersedes']) ? fields['supersedes'].filter(isText) : [];
  const supersedes = [...new Set(named.flatMap((id) => keys.get(id) ?? []))].sort(byUnits);
  const unknown = named.filter((id) => !keys.has(id));
  if (unknown.length > 0) noted.push({ what, why: `it replaces ${unknown.join(', ')}, which was not imported` });
  if (fields['kind'] === 'correct' && named.length === 0)
    noted.push({ what, why: 'a correction that names no event: it stands beside the claims that it meant' });
  if (isText(fields['sig'])) noted.push({ what, why: 'its signature was over another format and is not carried over' });
  if (event.kind !== 'propose' && supersedes.length > 0) events.push({ ...event, supersedes });
  else if (event.kind === 'retract') skipped.push({ what, why: 'a retraction of nothing that was imported' });
  else events.push(event);
}

function byUnits(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

type MeshFault = 'SHAPE' | 'KIND' | 'INVALID' | 'TOO_LONG';

/** Their kinds as ours. */
const kinds: ReadonlyMap<string, Pick<BodyInput, 'kind' | 'proposes'>> = new Map<
  string,
  Pick<BodyInput, 'kind' | 'proposes'>
>([
  ['assert', { kind: 'assert' }],
  ['correct', { kind: 'assert' }],
  ['lesson', { kind: 'lesson' }],
  ['decision', { kind: 'decision' }],
  ['question', { kind: 'question' }],
  ['retract', { kind: 'retract' }],
  ['propose', { kind: 'propose', proposes: 'assert' }],
  ['propose-assert', { kind: 'propose', proposes: 'assert' }],
  ['propose-correct', { kind: 'propose', proposes: 'assert' }],
  ['propose-lesson', { kind: 'propose', proposes: 'lesson' }],
]);

/** One event of theirs as one of ours, without its edges. */
function eventOf({ what, file, fields }: Line, noted: ImportRemark[]): Result<BodyInput, MeshFault> {
  const { kind, subject, content } = fields;
  if (!isText(kind) || !isText(subject)) return refuse('SHAPE', 'no event: it has no kind or no subject');
  if (kind === 'pin') return refuse('KIND', 'a pin: here it has effect only when a signer approves it');
  const ours = kinds.get(kind);
  if (ours === undefined) return refuse('KIND', `kind ${kind.slice(0, 40)} has no counterpart here`);
  if (!isText(content) && ours.kind !== 'retract') return refuse('SHAPE', 'it says nothing: no content');
  const claims = ours.proposes ?? ours.kind;
  const event = plainEvent({
    ...ours,
    subject,
    ...(ours.kind === 'retract' ? { supersedes: [placeholderId] } : {}),
    content: `${isText(content) ? content : 'retracted'} (${originOf(fields)})`,
    ...(claims === 'assert' ? factFields(fields, { what, file, noted }) : {}),
    ...(claims === 'lesson' || claims === 'decision' ? ruleFields(fields) : {}),
    ...(claims === 'assert' || claims === 'lesson' ? confidenceOf(fields['confidence']) : {}),
    ...lineageOf(fields['lineage'], { what, noted }),
    ...(isSlug(fields['audience']) ? { audience: fields['audience'] } : {}),
  });
  if (!event.ok) return event;
  const { supersedes: _, ...edgeless } = event.value;
  return ok(edgeless);
}

/** Stands for the edges of a retraction while its other fields are checked. */
const placeholderId = '0'.repeat(64);

/** Who said it there, and when: their time, as it was written. */
function originOf({ ts, host, session }: Fields): string {
  const words = [isText(ts) ? ts : 'no time', `host ${isText(host) ? host : 'unknown'}`];
  return [...words, ...(isText(session) ? [`session ${session}`] : [])].join(', ').slice(0, 200);
}

interface Place {
  readonly what: string;
  readonly file: string;
  readonly noted: ImportRemark[];
}

function factFields(fields: Fields, { what, file, noted }: Place): Partial<BodyInput> {
  const { polarity, content, home, body } = fields;
  const named = isText(home) ? homeOf(home) : undefined;
  if (named === undefined)
    noted.push({
      what,
      why: `${isText(home) ? 'its home cannot be written here' : 'it has no home'}: its log stands in`,
    });
  return {
    ...(polarity === 'absent' ? { polarity } : {}),
    ...(isText(content) && utf8Length(content) <= valueBytesMax ? { value: content } : {}),
    ...(isText(body) ? { text: body } : {}),
    home: named ?? `file:memory-mesh/${file}`,
  };
}

function ruleFields({ home, body }: Fields): Partial<BodyInput> {
  const named = isText(home) ? homeOf(home) : undefined;
  return { ...(isText(body) ? { text: body } : {}), ...(named === undefined ? {} : { home: named }) };
}

/** `FLEET.md#reachability` is a path in their repository. */
function homeOf(home: string): string | undefined {
  return [home, `file:${home}`].find((one) => isHome(one) && !one.startsWith('file:/'));
}

function confidenceOf(word: unknown): Partial<BodyInput> {
  if (word === 'verified-live' || word === 'verified') return { confidence: 'verified' };
  return word === 'operator-stated' || word === 'stated' ? { confidence: 'stated' } : {};
}

/** A word that is not known is not trusted. */
function lineageOf(word: unknown, { what, noted }: Omit<Place, 'file'>): Partial<BodyInput> {
  if (word === undefined || word === null || trusted.has(word)) return {};
  if (word !== 'contains-untrusted' && word !== 'untrusted')
    noted.push({ what, why: 'its lineage is an unknown word: taken as untrusted' });
  return { lineage: 'untrusted' };
}

const trusted: ReadonlySet<unknown> = new Set(['operator-direct', 'agent-derived', 'trusted']);

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}

/**
 * The file `notes` beside a host's view journal: whether it has a notifier, and what it has told. Signed by the host, so
 * that nobody who passes it on can silence an alarm; still no evidence of anything else. Source: docs/format.md, section 8.
 */
import { decodeBase64, encodeBase64 } from '../../crypto/base64.ts';
import { canonicalJson, isJsonObject, parseCanonical, type JsonObject } from '../../crypto/canonical.ts';
import { verifyEd25519 } from '../../crypto/ed25519.ts';
import { isSlug } from '../id.ts';
import { notifyToldMax, viewNotesBytesMax } from '../limits.ts';
import type { PeerNotes } from './state.ts';

const version = 1;
/** Longer than any kind, subject and host together. */
const keyCharsMax = 300;
/** Nobody hears of the same thing so often; a larger number is a lie, and would never be reached. */
const toldMax = 1_000_000;

export interface NotesOf {
  readonly mesh: string;
  readonly host: string;
}

/** The text of the file, without newline. `sign` gives the 64 bytes of the host's signature. Pure but for `sign`. */
export function printNotes(of: NotesOf, notes: PeerNotes, sign: (message: string) => Uint8Array): string {
  const said = saidJson(of, notes);
  return canonicalJson({ ...said, sig: encodeBase64(sign(messageOf(said))) });
}

/** What a host's notes say; undefined when they are not its own or not well formed. `keys`: 32 raw bytes each. Pure. */
export function readNotesText(text: string, of: NotesOf, keys: readonly Uint8Array[]): PeerNotes | undefined {
  if (text.length > viewNotesBytesMax) return undefined;
  const parsed = parseCanonical(text, { depthMax: 2 });
  if (!parsed.ok || !isJsonObject(parsed.value)) return undefined;
  const { sig, ...said } = parsed.value;
  if (said['host'] !== of.host || said['mesh'] !== of.mesh || said['v'] !== version) return undefined;
  const signature = typeof sig === 'string' ? decodeBase64(sig) : undefined;
  if (signature === undefined) return undefined;
  const message = messageOf(said);
  if (!keys.some((key) => verifyEd25519(key, message, signature))) return undefined;
  const { notifies, told } = said;
  if (typeof notifies !== 'boolean' || told === undefined || !isJsonObject(told)) return undefined;
  const entries = Object.entries(told).flatMap(([key, n]): [string, number][] =>
    key.length <= keyCharsMax && isCount(n) ? [[key, n]] : [],
  );
  return { notifies, told: new Map(entries.slice(0, notifyToldMax)) };
}

function isCount(n: unknown): n is number {
  return typeof n === 'number' && Number.isSafeInteger(n) && n >= 1 && n <= toldMax;
}

function saidJson({ mesh, host }: NotesOf, { notifies, told }: PeerNotes): JsonObject {
  return { host, mesh, notifies, told: Object.fromEntries(told), v: version };
}

function messageOf(said: JsonObject): string {
  return `memd-notes-v1\n${canonicalJson(said)}`;
}

/** Identity of an alarm. `about`: subject, log or item, '' for none; `host`: who is to blame. Pure. */
export function alarmKey(kind: string, about: string, host: string | null): string {
  return `${kind} ${about} ${host ?? ''}`.slice(0, keyCharsMax);
}

/** What a key says: the parts of `alarmKey`. Pure. */
export function standingOf(key: string): {
  readonly key: string;
  readonly kind: string;
  readonly about: string;
  readonly host: string | null;
} {
  const [kind = '', about = '', host = ''] = key.split(' ');
  return { key, kind, about, host: isSlug(host) ? host : null };
}

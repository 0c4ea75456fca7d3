/** The answer of `memd heads`: what a host holds, in one line. Unsigned: it makes the plan of a fetch, it proves nothing. */
import { canonicalJson, isJsonObject, parseCanonical, type JsonObject, type JsonValue } from '../crypto/canonical.ts';
import { ok, refuse, type Result } from '../crypto/result.ts';
import { fitsUtf8 } from '../crypto/text.ts';
import { isId, isSlug } from '../core/id.ts';
import { headsBytesMax } from '../core/limits.ts';
import type { Heads, HeadsTip, ViewTip } from '../core/sync/peer.ts';
import { isObjectId } from './fetch/fetch-v2.ts';

export type { Heads, HeadsTip } from '../core/sync/peer.ts';

/** Nesting of the answer: object, heads, tip. */
const headsDepthMax = 3;
const versionCharsMax = 64;
const addressCharsMax = 512;

/** One line without its newline, canonical. Pure. */
export function printHeads(heads: Heads): string {
  const { mesh, host, heads: tips, trust, addresses, views, version } = heads;
  const said = views === undefined ? {} : { views };
  return canonicalJson({ mesh, host, heads: tips, trust, addresses, version, ...said } as unknown as JsonValue);
}

/**
 * Reads one answer (no newline): canonical, at most 1 MiB, ids of their exact form, slugs as names. Members that this
 * version does not know are passed over, so that a newer host is not cut off. Pure.
 */
export function parseHeads(text: string): Result<Heads, 'NOT_HEADS'> {
  if (!fitsUtf8(text, headsBytesMax)) return refuse('NOT_HEADS', `longer than ${headsBytesMax} bytes`);
  const parsed = parseCanonical(text, { depthMax: headsDepthMax });
  if (!parsed.ok) return refuse('NOT_HEADS', parsed.detail);
  if (!isJsonObject(parsed.value)) return refuse('NOT_HEADS', 'not an object');
  const { mesh, host, heads, trust, addresses, views, version } = parsed.value;
  if (!isId(mesh) || !isSlug(host)) return refuse('NOT_HEADS', 'mesh or host is not well formed');
  if (typeof version !== 'string' || version.length > versionCharsMax)
    return refuse('NOT_HEADS', 'version is not well formed');
  const tips = readMembers(heads, readTip);
  if (tips === undefined) return refuse('NOT_HEADS', 'heads is not a table of tips');
  const hints = readMembers(addresses, readAddress);
  if (hints === undefined) return refuse('NOT_HEADS', 'addresses is not a table of addresses');
  const set = readTrust(trust);
  if (set === undefined) return refuse('NOT_HEADS', 'trust is not {hash, kept, oid}');
  const journals = views === undefined ? {} : readMembers(views, readViewTip);
  if (journals === undefined) return refuse('NOT_HEADS', 'views is not a table of newest lines');
  const said = views === undefined ? {} : { views: journals };
  return ok({ mesh, host, heads: tips, trust: set, addresses: hints, ...said, version });
}

/** A table from host name to something; undefined when it is not. */
function readMembers<T>(
  value: JsonValue | undefined,
  read: (member: JsonValue) => T | undefined,
): Record<string, T> | undefined {
  if (!isJsonObject(value)) return undefined;
  // Host names come from outside, and `constructor` is one.
  const table = Object.create(null) as Record<string, T>;
  for (const [name, member] of Object.entries(value)) {
    const parsed = read(member);
    if (parsed === undefined || !isSlug(name)) return undefined;
    table[name] = parsed;
  }
  return table;
}

function readTip(value: JsonValue): HeadsTip | undefined {
  if (!isJsonObject(value)) return undefined;
  const { oid, seq, link } = value;
  const good = isObjectId(oid) && isId(link) && typeof seq === 'number' && Number.isSafeInteger(seq) && seq >= 1;
  return good ? { oid, seq, link } : undefined;
}

function readViewTip(value: JsonValue): ViewTip | undefined {
  if (!isJsonObject(value)) return undefined;
  const { oid, n, hash } = value;
  const good = isObjectId(oid) && isId(hash) && typeof n === 'number' && Number.isSafeInteger(n) && n >= 1;
  return good ? { oid, n, hash } : undefined;
}

function readTrust(value: JsonValue | undefined): Heads['trust'] | undefined {
  const { oid, hash, kept } = isJsonObject(value) ? value : ({} as JsonObject);
  if (!isObjectId(oid) || !isId(hash)) return undefined;
  if (kept === undefined) return { oid, hash };
  return isId(kept) ? { oid, hash, kept } : undefined;
}

function readAddress(value: JsonValue): string | undefined {
  return typeof value === 'string' && value.length <= addressCharsMax ? value : undefined;
}

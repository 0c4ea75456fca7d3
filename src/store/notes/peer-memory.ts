/**
 * `peers.json`: when each peer was last met and last had news, so that a start does not forget that a peer has been
 * silent for days, and where it is. Derived and disposable: without it counting begins anew.
 */
import fs from 'node:fs';
import { isSlug } from '../../core/id.ts';
import { parsePlainJson } from '../../crypto/plain-json.ts';
import { realDisk, replaceFile, type Disk } from '../disk.ts';
import { systemCode } from '../errors.ts';
import type { Home } from '../home/home.ts';

/** ISO times of this host's own clock; for display and thresholds, never to order anything. */
export interface RememberedPeer {
  /** When it answered for the first time that is remembered. */
  readonly since: string | null;
  readonly lastContact: string | null;
  readonly lastNewEvent: string | null;
  /** Line of this host's own log up to which it was seen to hold it; 0: none. */
  readonly holds: number;
  /** Where it was last known to be, at first hand; a hint. */
  readonly address?: string;
}

const bytesMax = 262_144;

/** What is remembered, by host. A file that cannot be used is none. */
export function readPeerMemory(home: Home): ReadonlyMap<string, RememberedPeer> {
  try {
    const text = fs.readFileSync(home.peerMemory, 'utf8');
    const read = text.length > bytesMax ? undefined : parsePlainJson(text);
    const value = read?.ok === true ? read.value : undefined;
    const entries = isRecord(value) && isRecord(value['peers']) ? Object.entries(value['peers']) : [];
    return new Map(entries.flatMap(([host, one]) => (isSlug(host) && isPeer(one) ? [[host, one]] : [])));
  } catch (error) {
    if (systemCode(error) !== '') return new Map();
    throw error;
  }
}

/** Replaces the file, durably. Errors: as `replaceFile`. */
export async function writePeerMemory(
  home: Home,
  peers: ReadonlyMap<string, RememberedPeer>,
  disk: Disk = realDisk,
): Promise<void> {
  const data = Buffer.from(`${JSON.stringify({ peers: Object.fromEntries(peers), v: 1 })}\n`);
  await replaceFile(disk, { file: home.peerMemory, data });
}

function isPeer(value: unknown): value is RememberedPeer {
  if (!isRecord(value)) return false;
  const { since, lastContact, lastNewEvent, holds, address = '' } = value;
  const isCount = Number.isSafeInteger(holds) && Number(holds) >= 0;
  return [since, lastContact, lastNewEvent].every(isTime) && isCount && typeof address === 'string';
}

function isTime(value: unknown): boolean {
  return value === null || (typeof value === 'string' && !Number.isNaN(Date.parse(value)));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

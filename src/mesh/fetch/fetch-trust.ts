/** The trust set of a peer: its branch is fetched, read for the ops that we lack, and thrown away. Ops prove themselves. */
import { fetchSlackBytes, trustOpBytesMax, trustOpsMax } from '../../core/limits.ts';
import type { FetchPackFault } from '../../core/sync/peer.ts';
import { setImmediate } from 'node:timers/promises';
import { parseTrustForm, type OfferedOp } from '../../core/trust/op.ts';
import { ok, refuse, type Result } from '../../crypto/result.ts';
import type { Repository } from '../../store/git/repository.ts';
import { readTrustCommit, type StoredTrustOp } from '../../store/trust-store.ts';
import { fetchPack } from './fetch-pack.ts';
import type { PeerConnection } from '../ssh/ssh-client.ts';

export interface TrustFetch {
  readonly connection: PeerConnection;
  readonly repository: Repository;
  /** Commit of the peer's branch `trust`. */
  readonly commit: string;
  /** Ops that need not be read. */
  readonly holds: (id: string) => boolean;
  readonly deadlineMs: number;
}

/** A file of the branch that is not the op its name says. */
export interface BadTrustFile {
  readonly id: string;
  readonly detail: string;
}

export interface FetchedTrust {
  /** Well-formed ops that we lack, keys unread; whether they are valid is for the trust set to say. */
  readonly ops: readonly OfferedOp[];
  readonly bad: readonly BadTrustFile[];
}

/** Every op once brought a commit, a root, a folder and a file; a pack of the largest set stays far below this. */
const trustObjectsMax: number = trustOpsMax * 8;
const trustBytesMax: number = 64 * trustOpBytesMax * 4 + fetchSlackBytes;

/** Reads what the peer's branch adds. Throws OperatingError for failures of this machine. */
export async function fetchTrust(fetch: TrustFetch): Promise<Result<FetchedTrust, FetchPackFault | 'TRUST_SHAPE'>> {
  const { connection, repository, commit, deadlineMs } = fetch;
  const bounds = { bytesMax: trustBytesMax, objectsMax: trustObjectsMax };
  const fetched = await fetchPack({
    connection,
    repository,
    wants: [commit],
    haves: [],
    // It is read and thrown away: damage in our own objects has no say in it.
    alone: true,
    form: 'pack',
    deadlineMs,
    ...bounds,
  });
  if (!fetched.ok) return fetched;
  const { quarantine } = fetched.value;
  try {
    const read = await readTrustCommit(quarantine.view, commit, fetch.holds);
    return read.ok ? ok(await parseFiles(read.value.ops)) : refuse('TRUST_SHAPE', `${read.detail} (${read.code})`);
  } finally {
    quarantine.remove();
  }
}

/** Ops parsed in one turn of the event loop. */
const opsAtATime = 64;

async function parseFiles(files: readonly StoredTrustOp[]): Promise<FetchedTrust> {
  const ops: OfferedOp[] = [];
  const bad: BadTrustFile[] = [];
  for (const [index, { id, text }] of files.entries()) {
    if (index % opsAtATime === 0) await setImmediate();
    const op = parseTrustForm(text);
    if (!op.ok) bad.push({ id, detail: `${op.detail} (${op.code})` });
    else if (op.value.id !== id) bad.push({ id, detail: 'holds another op than its name says' });
    else ops.push(op.value);
  }
  return { ops, bad };
}

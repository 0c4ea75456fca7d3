/** What a purge keeps of an event. Source: docs/format.md, section 3; docs/fold.md T5. */
import { sha256Hex } from '../../crypto/hash.ts';
import { eventId, type Body } from '../event.ts';
import type { PurgeSkeleton } from '../trust/op.ts';
import { claimKey } from './claim-keys.ts';

/** The skeleton of an event that has this level. Pure. */
export function skeletonOf(body: Body, level: PurgeSkeleton['level']): PurgeSkeleton {
  const isClaim = body.kind === 'assert' || body.kind === 'lesson';
  const isObserve = body.kind === 'observe';
  return {
    id: eventId(body),
    host: body.host,
    kind: body.kind,
    subject: body.subject,
    scope: body.scope ?? '*',
    audience: body.audience ?? 'operator',
    lineage: body.lineage ?? 'trusted',
    level,
    key: isClaim ? claimDigest(body) : null,
    home: isObserve ? (body.home ?? null) : null,
    digest: isObserve ? (body.digest ?? null) : null,
    supersedes: body.supersedes ?? [],
    basis: body.basis ?? [],
  };
}

/**
 * sha256 of the key of R4.1 with null in the place of the class's `claims`: claims of one subject have equal digests iff
 * they have equal keys, whatever becomes of the class, and the words themselves are gone. Pure.
 */
export function claimDigest(body: Body): string {
  return sha256Hex(claimKey(null, body));
}

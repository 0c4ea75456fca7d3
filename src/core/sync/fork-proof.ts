/** The proof of a fork, made by whoever meets the second of two lines of one seq. Source: docs/format.md, fork-proof. */
import { canonicalJson, type JsonValue } from '../../crypto/canonical.ts';
import { sha256Hex } from '../../crypto/hash.ts';
import type { Line } from '../line.ts';
import type { CharterHost } from '../trust/charter-types.ts';
import { forkProofText, parseTrustOp, type TrustOp } from '../trust/op.ts';
import type { SignedHeader } from '../trust/op-types.ts';

/** Two lines of one seq of one log, of different links. */
export type ForkedLines = readonly [ours: Line, theirs: Line];

/**
 * The op that proves it: it rests on the op that brought the key of that seq. Whether both signatures are good is for the
 * trust set to judge, as of every op. Undefined when no key is in force there. Pure.
 */
export function forkProofOf(mesh: string, host: CharterHost, lines: ForkedLines): TrustOp | undefined {
  const [{ seq }] = lines;
  const span = host.spans.find(({ from, upto }) => seq >= from && (upto === null || seq <= upto));
  if (span === undefined) return undefined;
  const [first, second] = lines.toSorted((a, b) => (a.link < b.link ? -1 : 1));
  if (first === undefined || second === undefined) return undefined;
  const headers = [headerOf(mesh, first), headerOf(mesh, second)] as const;
  const op = parseTrustOp(forkProofText({ mesh, op: 'fork-proof', prev: [span.op], host: host.name, lines: headers }));
  return op.ok ? op.value : undefined;
}

function headerOf(mesh: string, { auth, id, log, prev, seq, v, sig }: Line): SignedHeader {
  const authHash = auth === null ? null : sha256Hex(canonicalJson(auth as unknown as JsonValue));
  return { header: { auth: authHash, id, log, mesh, prev, seq, v }, sig };
}

/**
 * A host that goes on behind a pin: which lines leave its log, what of them is said again and by whom, and up to where the
 * next pin says that the log stands. Source: docs/operations.md, Recovery.
 */
import type { Auth, Body } from './event.ts';
import { eventView, type Fold, type FoldPorts } from './fold/fold.ts';
import type { Line } from './line.ts';
import { extendLog, type LogStart } from './log.ts';
import type { Charter, CharterHost } from './trust/charter.ts';
import type { TrustSet } from './trust/set.ts';
import { canonicalJson, type JsonValue } from '../crypto/canonical.ts';

/** What becomes one line. */
export interface Said {
  readonly body: Body;
  readonly auth: Auth | null;
}

/** Where a log stops being usable, and why. */
interface Cut {
  readonly log: string;
  readonly seq: number;
  readonly code: string;
}

/** Cuts that a pin made: not damage, and not to be mended. Pure. */
export function pinCuts<One extends Cut>(
  cuts: readonly One[],
  hosts: ReadonlyMap<string, CharterHost>,
): readonly One[] {
  return cuts.filter(({ log, seq, code }) => {
    const host = hosts.get(log);
    if (host === undefined || host.pins.length === 0) return false;
    if (code === 'WRONG_BRANCH') return true;
    return (code === 'SIGNATURE' || code === 'KEY_SPAN') && host.pins.some((pin) => pin.seq === seq - 1);
  });
}

/** The first of these lines, as far as one key that the host ever had vouches for them. Anything else is damage. Pure. */
export function signedByAny(
  lines: readonly Line[],
  host: CharterHost,
  { mesh, verify }: Pick<LogStart, 'mesh' | 'verify'>,
): readonly Line[] {
  const [first] = lines;
  if (first === undefined) return [];
  const from = { seq: first.seq - 1, link: first.prev };
  const start = { host: host.name, mesh, from, purged: { has: () => true }, ...(verify && { verify }) };
  const texts = lines.map(({ text }) => text);
  const counts = host.keys.map(
    (key) => extendLog({ ...start, keys: [{ key, from: 1, upto: null }] }, texts).lines.length,
  );
  return lines.slice(0, Math.max(0, ...counts));
}

/**
 * The last pin settled a fork of this host: then nothing of either side is to be lost. A pin that merely ends earlier than the
 * log did says that somebody else wrote the rest. Pure.
 */
export function settlesFork({ charter, set }: { charter: Charter; set: TrustSet }, host: string): boolean {
  const [before, last] = (charter.hosts.get(host)?.pins ?? []).slice(-2);
  const pin = last ?? before;
  if (pin === undefined) return false;
  const from = last === undefined ? 0 : (before?.seq ?? 0);
  return Array.from(set.forks.values(), ({ body }) => body).some(({ host: of, lines: [{ header }] }) => {
    return of === host && header.seq > from && header.seq - 1 <= pin.seq;
  });
}

/**
 * What a host said on branches of its log that count no more, and says nowhere else: to be said again, in the order of the
 * branches. Pure.
 */
export function unsaidOf(
  branches: readonly (readonly Line[])[],
  fold: Fold,
  { own, approve }: { readonly own: string; readonly approve: FoldPorts['approve'] },
): readonly Said[] {
  const found = new Map<string, Said>();
  for (const { id, body, auth } of branches.flat()) {
    if (body === null || found.has(id) || fold.charter.purges.has(id)) continue;
    const carried = eventView(fold, id)?.lines.some(({ log }) => log === own) === true;
    if (carried || (auth === null && body.host !== own)) continue;
    if (auth !== null && !isApproved(fold, { body, auth }, approve)) continue;
    found.set(id, { body, auth });
  }
  return [...found.values()];
}

/** What a signer approved and no usable line carries, among lines that are held and not usable. Pure. */
export function approvedUnused(
  lines: readonly Line[],
  fold: Fold,
  { approve }: { readonly approve: FoldPorts['approve'] },
): readonly Said[] {
  const found = new Map<string, Said>();
  for (const { id, body, auth } of lines) {
    if (body === null || auth === null || found.has(id) || fold.charter.purges.has(id)) continue;
    if (eventView(fold, id)?.level === 'signed' || !isApproved(fold, { body, auth }, approve)) continue;
    found.set(id, { body, auth });
  }
  return [...found.values()];
}

/** By a signer whose word still stands: that of a revoked one would not, said again after the revocation. */
function isApproved({ charter }: Fold, { body, auth }: Said, approve: FoldPorts['approve']): boolean {
  if (auth === null || charter.signers.get(auth.signer)?.status !== 'active') return false;
  return approve(charter, auth, canonicalJson(body as unknown as JsonValue), body.subject) === 'ok';
}

interface PinBook {
  readonly head: (log: string) => { readonly seq: number; readonly link: string } | undefined;
  readonly linkAt: (log: string, seq: number) => string | undefined;
}

/** The last line of a log that everybody can use: of a forked one the line before the split. None: the log has no such line. Pure. */
export function pinFor(book: PinBook, charter: Charter, host: string): { seq: number; link: string } | undefined {
  const last = book.head(host);
  const end = charter.hosts.get(host)?.end ?? last?.seq;
  if (last === undefined || end === undefined || end === 0) return undefined;
  const seq = Math.min(end, last.seq);
  const link = book.linkAt(host, seq);
  return link === undefined ? undefined : { seq, link };
}

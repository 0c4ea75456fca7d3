/**
 * Planted bugs: wrong versions of single parts, put in at the ports of the simulator. A simulator that does not find them
 * finds nothing. None of them is in the program.
 */
import { eventView } from '../../src/core/fold/fold.ts';
import type { VerifiedLine } from '../../src/core/log.ts';
import { recordKey } from '../../src/core/fold/state.ts';
import type { Bug, Memory, Said, SimHost } from './types.ts';

export const noBug: Bug = { name: 'none' };

export const bugs: readonly Bug[] = [
  /** Of contradicting claims the one with the latest clock is served. */
  { name: 'last-write-wins', answers: serveLatest },
  /** The first claim that came is served, of those that say the same. */
  { name: 'arrival-order', answers: serveFirstSeen },
  /** A log that the charter cuts keeps what was taken from it before. */
  { name: 'forgotten-cut', usable: Math.max },
  /** An append is acknowledged when it is written, and synced later. */
  { name: 'acknowledge-before-durable', acknowledgesEarly: true },
  /** An unsigned correction of a signed claim takes effect. */
  { name: 'unsigned-supersedes-signed', answers: serveUnsigned },
  /** A correction that comes before what it corrects corrects nothing. */
  { name: 'dropped-late-edge', foldLine: dropUnseenTargets },
  /** Any hole passes. */
  { name: 'hole-accepted-without-purge', purged: () => ({ has: () => true }) },
  /** The trust set of a peer is fetched one cycle after its logs. */
  { name: 'trust-fetched-after-logs', heads: trustNextTime() },
  /** A write that failed is acknowledged. */
  { name: 'acknowledge-failed-write', acknowledgesFailed: true },
  /** What a failed write left on the branch is not looked for. */
  { name: 'persisted-write-forgotten', forgetsPersisted: true },
  /** What a failed write left on the branch is told to others before it is flushed. */
  { name: 'persisted-write-not-flushed', takesUnflushed: true },
  /** A host says that it purged before it did. */
  { name: 'receipt-before-purge', saysPurgedEarly: true },
  /** A purge rewrites the branches and leaves the objects they were at. */
  { name: 'purge-leaves-objects', keepsObjects: true },
  /** A purge of which a write failed counts as done. */
  { name: 'purge-fault-forgotten', forgetsPurgeFault: true },
  /** A relay that has not purged yet brings a body back. */
  { name: 'purged-body-relayed', storesAsFetched: true },
  /** A host goes on with the key that was replaced. */
  { name: 'old-key-kept', keepsOldKey: true },
  /** What stood on the losing branch of a fork is not said again. */
  { name: 'losing-branch-forgotten', forgetsUnsaid: true },
  /** A rekey gives a log another key, and ends nothing. */
  { name: 'rekey-ignored', keys: ({ spans }) => spans.slice(0, 1).map((span) => ({ ...span, upto: null })) },
  /** A view line names the new heads and the root of before. */
  { name: 'root-of-before', root: rootOfBefore() },
];

export function bugNamed(name: string): Bug | undefined {
  return [noBug, ...bugs].find((bug) => bug.name === name);
}

function claimsOn({ memory }: SimHost, key: string): readonly VerifiedLine[] {
  return [...(memory?.logs.values() ?? [])].flatMap(({ lines }) =>
    lines.filter(({ body }) => body?.kind === 'assert' && recordKey(body.subject, body.scope ?? '*') === key),
  );
}

function serveLatest(host: SimHost, said: Map<string, Said>): void {
  for (const [key, { status }] of said) {
    if (status !== 'parked') continue;
    const latest = claimsOn(host, key).toSorted((a, b) => ((a.body?.at ?? '') < (b.body?.at ?? '') ? 1 : -1))[0];
    if (latest !== undefined) said.set(key, { status: 'served', served: latest.id });
  }
}

/** The order in which a host's logs came to it. */
function serveFirstSeen(host: SimHost, said: Map<string, Said>): void {
  for (const [key, { status, served }] of said) {
    const shown = served === null ? undefined : host.memory && eventView(host.memory.fold, served);
    if (status !== 'served' || shown?.level !== 'unsigned') continue;
    const first = claimsOn(host, key).find(
      ({ id, body, auth }) => auth === null && body?.value === shown.body?.value && id !== '',
    );
    if (first !== undefined) said.set(key, { status, served: first.id });
  }
}

function serveUnsigned(host: SimHost, said: Map<string, Said>): void {
  for (const [key, { served }] of said) {
    if (served === null || host.memory?.fold.nodes.get(served)?.level !== 'signed') continue;
    const over = claimsOn(host, key).find(
      ({ auth, body }) => auth === null && body?.supersedes?.includes(served) === true,
    );
    if (over !== undefined) said.set(key, { status: 'served', served: over.id });
  }
}

function dropUnseenTargets({ fold }: Memory, line: VerifiedLine): VerifiedLine {
  const { body } = line;
  if (body?.supersedes?.some((id) => (fold.nodes.get(id)?.carrier ?? null) === null) !== true) return line;
  const { supersedes: _, ...rest } = body;
  return { ...line, body: rest };
}

/** Hides that a trust set is another one, the first time that a host hears of it. */
function trustNextTime(): NonNullable<Bug['heads']> {
  const heard = new WeakMap<Memory, Set<string>>();
  return (memory, heads) => {
    const { hash, kept } = memory.trust;
    if (heads.trust.hash === hash) return heads;
    const known = heard.get(memory) ?? new Set();
    heard.set(memory, known);
    const name = `${heads.host} ${heads.trust.hash}`;
    if (known.has(name)) return heads;
    known.add(name);
    return { ...heads, trust: { ...heads.trust, hash, kept } };
  };
}

/** The root of the last line of a host, for one more line. */
function rootOfBefore(): NonNullable<Bug['root']> {
  const last = new WeakMap<Memory, string>();
  return ({ memory }, root) => {
    if (memory === undefined) return root;
    const before = last.get(memory) ?? root;
    last.set(memory, root);
    return before;
  };
}

/**
 * A second opinion on one promise, without edges, levels or the fold: two hosts say different things on one subject, in
 * words that nobody has corrected and no signer has touched. Then neither may be served.
 */
import type { VerifiedLine } from '../../src/core/log.ts';
import { recordKey } from '../../src/core/fold/state.ts';
import { usableLines } from './usable.ts';
import type { Memory } from './types.ts';

/** What is served although it is in plain contradiction; undefined when nothing is. */
export function findContradiction(memory: Memory, subject: string): string | undefined {
  const { charter } = memory.trust;
  if ((charter.classes.get(subject.split('/')[0] ?? '')?.claims ?? null) === null) return undefined;
  const lines = [...memory.logs.keys()].flatMap((log) => usableLines(charter, memory, log));
  const about = lines.filter(({ body }) => body?.subject === subject);
  const purged = [...charter.purges.values()].map(({ target }) => target);
  if (purged.some((target) => target.subject === subject || target.level !== 'unsigned')) return undefined;
  const named = new Set([
    ...lines.flatMap(({ body }) => body?.supersedes ?? []),
    ...purged.flatMap(({ supersedes }) => supersedes),
  ]);
  // Where a signer had a word, in the subject or on any event of it, other rules hold.
  if (about.some(({ auth }) => auth !== null)) return undefined;
  if (about.some(({ id }) => lines.some(({ auth, body }) => auth !== null && body?.supersedes?.includes(id) === true)))
    return undefined;
  const plain = about.filter((line) => isPlain(line) && !named.has(line.id));
  for (const scope of new Set(plain.map(({ body }) => body?.scope ?? '*'))) {
    const values = new Set(plain.filter(({ body }) => (body?.scope ?? '*') === scope).map(({ body }) => body?.value));
    const said = memory.answers.get(recordKey(subject, scope));
    if (values.size > 1 && said !== undefined && said.served !== null)
      return `${said.served.slice(0, 12)} on ${subject} ${scope}, where ${values.size} values stand`;
  }
  return undefined;
}

/** A claim in its own host's log, trusted, that rests on nothing and names nothing. */
function isPlain({ body, log, fault }: VerifiedLine): boolean {
  if (body === null || fault !== null || body.host !== log || body.value === undefined) return false;
  if (body.kind !== 'assert' && body.kind !== 'lesson') return false;
  return (
    body.basis === undefined &&
    body.supersedes === undefined &&
    body.lineage === undefined &&
    body.polarity === undefined
  );
}

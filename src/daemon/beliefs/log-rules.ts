/** What of a charter decides which lines of a log are usable, and how they read. */
import { purgesAlike } from '../../core/fold/fold.ts';
import type { Charter, CharterHost } from '../../core/trust/charter.ts';
import type { Repository } from '../../store/git/repository.ts';
import { commitOf } from './commits-on-disk.ts';

/**
 * Whether a log in the repository reads differently under another charter: its host has other keys, pins or another end,
 * is none any more, or is one again; or other events are purged. A host that is merely new has no log here yet.
 */
export function readsOtherwise(repository: Repository, before: Charter, after: Charter): boolean {
  // Bodies become holes, and a hole that no purge names any more ends its log.
  if (!purgesAlike(before, after)) return true;
  const names = new Set([...before.hosts.keys(), ...after.hosts.keys()]);
  return [...names].some((name) => {
    const [old, now] = [before, after].map(({ hosts }) => printLogRules(hosts.get(name)));
    return old !== now && commitOf(repository, name) !== null;
  });
}

/** Everything of a host that says which lines of its log are usable. */
function printLogRules(host: CharterHost | undefined): string {
  const { spans = [], pins = [], end = null } = host ?? {};
  const keys = spans.map(({ key, from, upto }) => [...key, from, upto]);
  return JSON.stringify([keys, pins.map(({ seq, link }) => [seq, link]), end]);
}

/** What counted ops add to the charter beside its items: delegations and purges. Source: docs/fold.md T5, R1. */
import type { CharterDelegation, CharterHost, CharterPurge } from './charter-types.ts';
import { isKeyOf } from './host-log.ts';
import { byIdOrder, byText, keyOf, type Held } from './register.ts';
import { coversEverything } from './scope.ts';

/** Counted delegations whose host has the key, or had it for some of its lines. By op id. Pure. */
export function delegationsOf(
  counted: readonly Held[],
  hosts: ReadonlyMap<string, CharterHost>,
): readonly CharterDelegation[] {
  const delegations = counted.toSorted(byIdOrder).map((held): CharterDelegation | undefined => {
    const { body, id } = held.op;
    if (body.op !== 'delegate') return undefined;
    const key = keyOf(held, body.key);
    const isKnown = hosts.get(body.host)?.spans.some((span) => isKeyOf(span, key)) === true;
    const { by, host, subjects, kinds, from, upto } = body;
    return isKnown ? { op: id, by, host, key, subjects, kinds, from, upto } : undefined;
  });
  return delegations.filter((delegation) => delegation !== undefined);
}

/**
 * Targets of counted purges by whoever may say anything about any subject: nobody can hold a skeleton against a body that
 * is gone, so the subject in it must not be what gives the right to purge. Of several ops about one event the lowest id. Pure.
 */
export function purgesOf(counted: readonly Held[]): ReadonlyMap<string, CharterPurge> {
  const purges = new Map<string, CharterPurge>();
  for (const { op, scopes } of counted.toSorted(byIdOrder)) {
    const { body } = op;
    if (body.op !== 'purge' || !coversEverything(scopes)) continue;
    for (const target of body.targets) {
      if (purges.has(target.id)) continue;
      purges.set(target.id, { op: op.id, by: body.by, reason: body.reason, target });
    }
  }
  return new Map([...purges].toSorted(([left], [right]) => byText(left, right)));
}

/**
 * What the fold reads of a body to decide by. The words of a body are most of its bytes and decide nothing once claims are
 * numbered, so they are kept apart (`Bodies`). Source: docs/fold.md, Input.
 */
import { audienceOf, type Body, type Kind } from '../event.ts';

/** The members that decide, defaults filled in. */
export interface Said {
  readonly mesh: string;
  readonly host: string;
  readonly kind: Kind;
  readonly audience: string;
  readonly lineage: 'trusted' | 'untrusted';
  readonly home: string | undefined;
  readonly digest: string | undefined;
}

/** Where a fold keeps bodies: it asks for one when somebody wants to read it, never to decide. */
export interface Bodies {
  /** Keeps a body for as long as the fold lives. @returns its place. */
  readonly keep: (body: Body) => number;
  /** The same members in the same order. */
  readonly read: (place: number) => Body;
}

/** Bodies as they come. */
export function plainBodies(): Bodies {
  const bodies: Body[] = [];
  return { keep: (body) => bodies.push(body) - 1, read: (place) => bodies[place] as Body };
}

/** What a body says. Without a home it says what many others say: `known` has one object for all of them. */
export function saidOf(known: Map<string, Said>, body: Body): Said {
  const { mesh, host, kind, lineage = 'trusted', home, digest } = body;
  const said: Said = { mesh, host, kind, audience: audienceOf(body), lineage, home, digest };
  if (home !== undefined || digest !== undefined) return said;
  // None of them holds a space.
  const name = `${kind} ${host} ${said.audience} ${lineage} ${mesh}`;
  const same = known.get(name);
  if (same === undefined) known.set(name, said);
  return same ?? said;
}

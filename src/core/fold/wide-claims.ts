/**
 * The claims of scope `*`, laid out for the other scopes of their subject. Each scope is judged together with them, and
 * going through them for each would cost scopes × claims: a host with a few thousand of both could keep all the others
 * busy. Here a scope looks up the group of its key; everything else is worked out once. Source: docs/fold.md R4.
 */
import { representative, summarizeKeys, type Judgement, type KeySummary, type LiveClaims } from './claims.ts';
import { lowest, partOf, type WidePart } from './id-list.ts';
import { recordIdsMax } from '../limits.ts';
import { handout, keyGroups, type Handout } from './key-groups.ts';
import type { EventNode } from './node.ts';
import { byCodeUnits } from './order.ts';

/** The claims of `*` as every other scope of the subject needs them. */
export interface WideClaims {
  /** Every live one. */
  readonly live: WidePart;
  /** Of those that are compared. */
  readonly summary: KeySummary | null;
  /** Those that are served, or agree, where this key is served; undefined: none. */
  readonly withKey: (key: number) => WideGroup | undefined;
  /** Those that park for the reason of this judgement on another scope, and that were not handed out for it before. */
  readonly takeParked: (judgement: Judgement) => readonly EventNode[];
}

/** The claims of `*` with one key. */
export interface WideGroup {
  readonly claims: readonly EventNode[];
  /** Served, unless a claim of the scope itself comes before it. */
  readonly best: EventNode;
  readonly hosts: ReadonlySet<string>;
  /** Of those that name one. */
  readonly homes: ReadonlySet<string>;
  readonly all: WidePart;
  readonly withoutBest: WidePart;
  /** The other live claims: all of them park. */
  readonly beside: WidePart;
}

/** Lays out the live claims of scope `*`. */
export function wideClaimsOf({ above, alone, compared }: LiveClaims): WideClaims {
  const live = [...above, ...alone, ...compared].sort(byId);
  const whole = partOf(idsOf(live));
  const [aloneGroups, comparedGroups] = [keyGroups(alone), keyGroups(compared)];
  const groups = new Map<number, WideGroup>();
  const withKey = (key: number): WideGroup | undefined => {
    // Never both: of a key that parks alone no signed claim is live, and if there is one the key is compared.
    const claims = comparedGroups.get(key) ?? aloneGroups.get(key);
    if (claims === undefined) return undefined;
    const group = groups.get(key) ?? groupOf(claims, live, whole);
    groups.set(key, group);
    return group;
  };
  const handouts = new Map<string, { readonly compared: Handout; readonly alone: Handout }>();
  const takeParked = ({ served, reason, parked }: Judgement): readonly EventNode[] => {
    const left = handouts.get(reason) ?? { compared: handout(comparedGroups), alone: handout(aloneGroups) };
    handouts.set(reason, left);
    // What a signer took away and a signed claim of this scope says again is compared here.
    const said = aloneGroups.size === 0 ? [] : parked.flatMap((park) => (park.reason === reason ? park.claims : []));
    const again = said.filter(({ level }) => level === 'signed').flatMap(({ key }) => left.alone.takeKey(key));
    return [...left.compared.take(served?.key ?? null), ...again];
  };
  return { live: whole, summary: summarizeKeys(compared, null), withKey, takeParked };
}

function groupOf(claims: readonly EventNode[], live: readonly EventNode[], whole: WidePart): WideGroup {
  const best = representative(claims) as EventNode;
  const sorted = claims.toSorted(byId);
  const isHere = new Set(claims);
  return {
    claims,
    best,
    hosts: new Set(claims.map(({ said }) => said?.host ?? '')),
    homes: new Set(claims.flatMap(({ said }) => said?.home ?? [])),
    all: partOf(idsOf(sorted)),
    withoutBest: partOf(idsOf(sorted.filter((node) => node !== best))),
    beside: {
      count: live.length - claims.length,
      first: lowestIds(live, isHere),
      digest: whole.digest,
    },
  };
}

/** The lowest ids of sorted claims without some: no more of them are gone through than there are in `without`, and a few. */
function lowestIds(sorted: readonly EventNode[], without: ReadonlySet<EventNode>): readonly string[] {
  const some = sorted.slice(0, without.size + recordIdsMax);
  return lowest(some.filter((node) => !without.has(node)).map(({ id }) => id));
}

function byId(a: EventNode, b: EventNode): number {
  return byCodeUnits(a.id, b.id);
}

function idsOf(nodes: readonly EventNode[]): readonly string[] {
  return nodes.map(({ id }) => id);
}

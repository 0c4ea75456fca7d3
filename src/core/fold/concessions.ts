/**
 * CONCEDED: what is served would be contradicted by another host, had that host not withdrawn its own claim.
 * Source: docs/fold.md R3.
 */
import type { Judgement } from './claims.ts';
import { handout, keyGroups, type Handout, type KeyGroups } from './key-groups.ts';
import { isClaim, takesPart, type EventNode } from './node.ts';
import { sortedUnique } from './order.ts';
import type { WideClaims } from './wide-claims.ts';

/** A concession: the host that made it and the claims that it withdrew, but for those of `*` that stood in one before. */
export interface Concession {
  readonly host: string;
  readonly claims: readonly EventNode[];
}

/** What was given up in scope `*`, as every other scope of the subject needs it. */
export interface WideConcessions {
  readonly hosts: readonly string[];
  /** What this host gave up, seen from the claims of `*` that have the served key. */
  readonly givenBy: (host: string, key: number) => GivenUp;
}

interface GivenUp {
  /** Such a claim is another host's. */
  readonly opposed: boolean;
  /** All that leads to a claim of another host, or that one leads to. */
  readonly reached: ReadonlySet<EventNode>;
  /** What was given up and is not reached: by key, and all of it. */
  readonly apart: KeyGroups;
  readonly members: ReadonlySet<EventNode>;
  /** Of these, what no concession named yet. */
  readonly untold: Handout;
}

/** The concessions behind a served record, by host name. Empty unless the status is served. */
export function concessionsOf(
  members: readonly EventNode[],
  { status, served, agreeing }: Judgement,
  wide: WideConcessions | null,
): readonly Concession[] {
  if (status !== 'served' || served === null) return [];
  const { key } = served;
  const given = members.filter((node) => isGivenUp(node) && node.key !== key);
  const hosts = sortedUnique([...given.map(hostOf), ...(wide?.hosts ?? [])]);
  // What is served of `*` was walked from with its group.
  const side = wide !== null && served.scope === '*' ? agreeing : [served, ...agreeing];
  return hosts.flatMap((host) => {
    const others = side.filter((node) => hostOf(node) !== host);
    const before = wide?.givenBy(host, key) ?? noneGiven;
    if (others.length === 0 && !before.opposed) return [];
    const reached = reachedFrom(others);
    const isApart = (node: EventNode): boolean => !reached.has(node) && !before.reached.has(node);
    const own = given.filter((node) => hostOf(node) === host && isApart(node));
    if (own.length === 0 && countApart(before, key, reached) === 0) return [];
    return [{ host, claims: [...own, ...before.untold.take(key, (node) => !isApart(node))] }];
  });
}

/** What was given up in scope `*`, for the other scopes of the subject. `members`: the events of `*`. */
export function wideConcessionsOf(members: readonly EventNode[], claims: WideClaims): WideConcessions {
  const byHost = Map.groupBy(members.filter(isGivenUp), hostOf);
  const known = new Map<string, GivenUp>();
  const givenBy = (host: string, key: number): GivenUp => {
    const nodes = byHost.get(host) ?? [];
    const group = claims.withKey(key);
    const opposed = group !== undefined && (group.hosts.size > 1 || !group.hosts.has(host));
    const name = opposed ? `${host} ${key}` : host;
    const given =
      known.get(name) ?? givenUp(nodes, opposed ? group.claims.filter((node) => hostOf(node) !== host) : []);
    known.set(name, given);
    return given;
  };
  return { hosts: [...byHost.keys()], givenBy };
}

function givenUp(nodes: readonly EventNode[], others: readonly EventNode[]): GivenUp {
  const reached = reachedFrom(others);
  const apart = keyGroups(nodes.filter((node) => !reached.has(node)));
  const members = new Set([...apart.values()].flat());
  return { opposed: others.length > 0, reached, apart, members, untold: handout(apart) };
}

const noneGiven: GivenUp = {
  opposed: false,
  reached: new Set(),
  apart: new Map(),
  members: new Set(),
  untold: handout(new Map()),
};

/** How many of what was given up in `*` have another key and are not reached from the scope either. */
function countApart({ apart, members }: GivenUp, key: number, reached: ReadonlySet<EventNode>): number {
  let count = members.size - (apart.get(key)?.length ?? 0);
  for (const node of reached) if (node.key !== key && members.has(node)) count -= 1;
  return count;
}

/** Withdrawn by its own host and by nobody else. */
function isGivenUp(node: EventNode): boolean {
  if (node.by.length === 0 || node.withdrawnBySigned || node.purge !== null || !isClaim(node) || !takesPart(node))
    return false;
  return node.by.every((from) => hostOf(from) === hostOf(node));
}

/** The claims, everything of their subject that they lead to, and everything that leads to them. */
function reachedFrom(claims: readonly EventNode[]): ReadonlySet<EventNode> {
  const below = walk(claims, ({ reaches }) => [reaches]);
  const above = walk(claims, ({ by, revisers }) => [by, revisers]);
  return above.size <= claims.length ? below : new Set([...below, ...above]);
}

function walk(
  start: readonly EventNode[],
  along: (node: EventNode) => readonly (readonly EventNode[])[],
): ReadonlySet<EventNode> {
  const seen = new Set<EventNode>();
  const stack = [...start];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (seen.has(node) || node.subject !== start[0]?.subject) continue;
    seen.add(node);
    for (const neighbours of along(node)) for (const next of neighbours) stack.push(next);
  }
  return seen;
}

function hostOf(node: EventNode): string {
  return node.said?.host ?? '';
}

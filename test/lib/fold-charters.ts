/**
 * What the charter says in a random history: signers who were revoked, with marks that are right, wrong or out of reach;
 * delegations; hosts with new keys; purges.
 */
import { eventId, type Body, type Kind } from '../../src/core/event.ts';
import { skeletonOf } from '../../src/core/fold/skeleton.ts';
import { usualCharter, type CharterInput, type DelegationInput, type Marks, type PurgeInput } from './fold-builders.ts';
import { hosts, pick, randomBody, type Random, type Step } from './fold-histories.ts';

/** How a charter may lie to what the logs hold. */
export interface CharterBounds {
  /** True: marks and delegations end within the logs, and marks name the links that stand there. */
  readonly settled: boolean;
}

/** A charter for a history: one in three says nothing of all this. */
export function randomCharter(random: Random, steps: readonly Step[], bounds: CharterBounds): CharterInput {
  if (random() < 0.33) return usualCharter;
  const revoked: Record<string, readonly Marks[]> = {};
  if (random() < 0.5) revoked['dana'] = randomRevocations(random, steps, bounds);
  if (random() < 0.1) revoked['craig'] = randomRevocations(random, steps, bounds);
  return {
    ...usualCharter,
    revoked,
    ...(random() < 0.5 ? { delegations: randomDelegations(random, steps, bounds) } : {}),
    ...(random() < 0.2 ? { rekeyed: { [pick(random, hosts)]: Math.floor(random() * 4) } } : {}),
    ...(random() < 0.4 ? { purges: randomPurges(random, steps) } : {}),
  };
}

/** Another charter that purges the same: what a host may have believed before it learned of `charter`. */
export function otherCharter(random: Random, steps: readonly Step[], charter: CharterInput): CharterInput {
  const { purges = [] } = charter;
  const other = random() < 0.5 ? charter : randomCharter(random, steps, { settled: false });
  const { bob, craig, dana } = usualCharter.signers;
  const { note, lesson, policy } = usualCharter.classes;
  const signers = pick(random, [{ craig }, { craig, bob: dana }, { bob, craig, dana }]);
  const younger = {
    signers,
    classes: pick(random, [
      { note, lesson },
      { note: policy, lesson, policy },
      { ...usualCharter.classes, policy: note },
    ]),
    audiences: pick(random, [usualCharter.audiences, { operator: [], agents: ['operator'] }]),
  };
  return { ...other, ...(random() < 0.6 ? younger : {}), purges };
}

function lengthOf(steps: readonly Step[], log: string): number {
  return steps.filter((step) => step.log === log).length;
}

function randomRevocations(random: Random, steps: readonly Step[], { settled }: CharterBounds): readonly Marks[] {
  const marksOf = (): Marks =>
    Object.fromEntries(
      hosts.flatMap((host): [string, Marks[string]][] => {
        if (random() < 0.3) return [];
        const seq = Math.floor(random() * (lengthOf(steps, host) + (settled ? 1 : 3)));
        return [[host, settled || random() < 0.85 ? seq : { seq, link: 'f'.repeat(64) }]];
      }),
    );
  return random() < 0.75 ? [marksOf()] : [marksOf(), marksOf()];
}

const kindLists: readonly (readonly Kind[])[] = [
  ['assert', 'lesson', 'retract'],
  ['assert'],
  ['retract', 'question', 'decision', 'observe', 'pin', 'propose'],
];

function randomDelegations(
  random: Random,
  steps: readonly Step[],
  { settled }: CharterBounds,
): readonly DelegationInput[] {
  return Array.from({ length: random() < 0.6 ? 1 : 2 }, () => {
    const host = pick(random, hosts);
    const length = lengthOf(steps, host);
    const from = 1 + Math.floor(random() * (length + 1));
    const upto = from + Math.floor(random() * (length + 2));
    return {
      host,
      from,
      upto: settled ? Math.min(upto, length) : upto,
      key: random() < 0.85 ? 'first' : 'second',
      subjects: pick(random, [['*'], ['note/*'], ['note/two', 'policy/*']]),
      kinds: random() < 0.6 ? (kindLists[0] ?? []) : pick(random, kindLists),
    };
  });
}

/** Up to two ids of events, whatever came first: a skeleton can close a circle, which no body can. */
function idsAmong(random: Random, known: readonly Body[]): readonly string[] {
  const picked = Array.from({ length: Math.floor(random() * 3) }, () => eventId(pick(random, known)));
  return [...new Set(picked)].toSorted();
}

/**
 * Skeletons of events, some of which no log carries any more; a purger who had not seen an approval calls it unsigned, and
 * one in five names events that the body did not name.
 */
function randomPurges(random: Random, steps: readonly Step[]): readonly PurgeInput[] {
  if (steps.length === 0) return [];
  const chosen = new Map<string, PurgeInput>();
  for (let left = 1 + Math.floor(random() * 3); left > 0; left -= 1) {
    const known = steps.map((step) => step.body);
    const body = random() < 0.15 ? randomBody(random, pick(random, hosts), known) : pick(random, known);
    const isGone = !known.includes(body);
    const isSigned = isGone || steps.some((step) => step.body === body && step.carriage.sign !== undefined);
    const below = pick(random, ['unsigned', 'unsigned', 'delegated'] as const);
    const level = isSigned && random() < 0.9 ? 'signed' : below;
    const lies = random() < 0.2 ? { supersedes: idsAmong(random, known), basis: idsAmong(random, known) } : {};
    chosen.set(eventId(body), { target: { ...skeletonOf(body, level), ...lies } });
  }
  return [...chosen].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, purge]) => purge);
}

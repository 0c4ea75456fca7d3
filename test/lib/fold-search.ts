/** Checks of one history, the search over many seeds, and the shrinking of what fails. */
import { createFold, foldLines, setCharter, type Fold, type FoldLine } from '../../src/core/fold/fold.ts';
import type { Charter } from '../../src/core/trust/charter.ts';
import { randomAuthorityAttack } from './fold-attacks.ts';
import { fakeCharter, fakePorts, trust, usualCharter, type CharterInput } from './fold-builders.ts';
import { otherCharter, randomCharter } from './fold-charters.ts';
import {
  askOracle,
  brokenAuthority,
  brokenByAttack,
  brokenSignedPromise,
  dumpComparable,
  dumpFold,
  dumpOracle,
  type Broken,
} from './fold-checks.ts';
import {
  crowdedHistory,
  describeSteps,
  hosts,
  interleave,
  linesOf,
  pick,
  randomAttack,
  randomHistory,
  split,
  type Random,
  type Step,
} from './fold-histories.ts';
import { randomFrom } from './random.ts';

/** One history: what the charter says, what was written, and what attackers wrote behind it. */
export interface History {
  readonly charter: CharterInput;
  readonly steps: readonly Step[];
  readonly attack: readonly Step[];
}

export type Property = 'crowded' | 'equality' | 'safety' | 'authority';

/** The whole history in one go. */
export function foldAtOnce(steps: readonly Step[], charter: CharterInput = usualCharter): Fold {
  const fold = createFold(fakeCharter(charter), trust, fakePorts);
  foldLines(fold, linesOf(steps));
  return fold;
}

/** The fold against itself in other orders, and against the oracle. `random` chooses the orders. */
export function brokenEquality(history: History, random: Random): Broken {
  const steps = [...history.steps, ...history.attack];
  const charter = fakeCharter(history.charter);
  const lines = linesOf(steps);
  const fold = foldAtOnce(steps, history.charter);
  if (dumpComparable(fold) !== dumpOracle(charter, lines)) return 'the fold and the oracle differ';
  const whole = dumpFold(fold);
  for (const how of ['line by line', 'in portions'] as const) {
    const order = interleave(random, lines);
    const portions = how === 'line by line' ? order.map((line) => [line]) : split(random, order);
    if (dumpFold(foldPortions(charter, portions)) !== whole) return `another order, ${how}, gives another state`;
  }
  if (dumpFold(foldPortions(charter, [withHoles(charter, lines)])) !== whole)
    return 'holes in the place of purged bodies give another state';
  const younger = otherCharter(random, steps, history.charter);
  const path = [younger, otherCharter(random, steps, history.charter), history.charter].map(fakeCharter);
  return dumpFold(foldThroughCharters(path, split(random, interleave(random, lines)))) === whole
    ? undefined
    : 'a charter that came later gives another state';
}

/** The safety promises: on the history, and after an attack by one host. */
export function brokenSafety({ charter, steps, attack }: History, host: string): Broken {
  const before = foldAtOnce(steps, charter);
  const after = foldAtOnce([...steps, ...attack], charter);
  const undisputed = new Set(askOracle(fakeCharter(charter), linesOf(steps)).undisputed);
  return (
    brokenSignedPromise(before, fakeCharter(charter)) ??
    brokenSignedPromise(after, fakeCharter(charter)) ??
    brokenByAttack({ before, after, hosts: new Set([host]), undisputed })
  );
}

/** What no attack without a signer's key may ever do, whoever takes part in it. */
export function brokenBySignerless({ charter, steps, attack }: History): Broken {
  const before = foldAtOnce(steps, charter);
  const after = foldAtOnce([...steps, ...attack], charter);
  const attackers = new Set(attack.map(({ log }) => log));
  const undisputed = new Set(askOracle(fakeCharter(charter), linesOf(steps)).undisputed);
  return (
    brokenAuthority(before, after) ??
    brokenSignedPromise(after, fakeCharter(charter)) ??
    (attackers.size < hosts.length ? brokenByAttack({ before, after, hosts: attackers, undisputed }) : undefined)
  );
}

export interface SearchOptions {
  readonly from: number;
  readonly runs: number;
  readonly property: Property;
}

/** Runs the property on `runs` seeds; text about the first failure, shrunk, with how to replay it. */
export function searchFailure({ from, runs, property }: SearchOptions): string | undefined {
  for (let seed = from; seed < from + runs; seed += 1) {
    const { history, check } = drawn(seed, property);
    if (check(history) !== undefined) return failureText(seed, property, shrink(history, check), check);
  }
  return undefined;
}

type Check = (history: History) => Broken;

function drawn(seed: number, property: Property): { readonly history: History; readonly check: Check } {
  const random = randomFrom(seed);
  const steps = property === 'crowded' ? crowdedHistory(random) : randomHistory(random);
  if (property === 'equality' || property === 'crowded') {
    const charter = randomCharter(random, steps, { settled: false });
    return {
      history: { charter, steps, attack: [] },
      check: (history) => brokenEquality(history, randomFrom(seed)),
    };
  }
  const charter = property === 'safety' ? usualCharter : randomCharter(random, steps, { settled: true });
  if (property === 'authority') {
    const attack = randomAuthorityAttack(random, { charter, steps });
    return { history: { charter, steps, attack }, check: brokenBySignerless };
  }
  const host = pick(random, hosts);
  return {
    history: { charter, steps, attack: randomAttack(random, host, steps) },
    check: (history) => brokenSafety(history, host),
  };
}

/** Leaves out what is not needed. Marks and delegations name places, so steps before the attack keep theirs if there are any. */
function shrink(history: History, check: Check): History {
  const { charter, steps, attack } = history;
  const smaller = [
    ...(['purges', 'revoked', 'delegations', 'rekeyed'] as const).map((name) => ({
      ...history,
      charter: { ...charter, [name]: undefined } as CharterInput,
    })),
    ...attack.map((_, i) => ({ ...history, attack: attack.toSpliced(i, 1) })),
    ...steps.map((_, i) => ({ ...history, steps: steps.toSpliced(i, 1) })),
  ].filter((one) => JSON.stringify(one) !== JSON.stringify(history));
  const found = smaller.find((one) => check(one) !== undefined);
  return found === undefined ? history : shrink(found, check);
}

function failureText(seed: number, property: string, history: History, check: Check): string {
  const { charter, steps, attack } = history;
  const { revoked, delegations, rekeyed, purges = [] } = charter;
  const purged = purges.map(({ target }) => [target.id.slice(0, 6), target.level]);
  return [
    `${check(history)}`,
    `replay: FOLD_SEED=${seed} FOLD_RUNS=1 npx vitest run test/property/fold.test.ts -t ${property}`,
    JSON.stringify({ revoked, delegations, rekeyed, purged }),
    describeSteps(steps),
    attack.length > 0 ? `then the attack:\n${describeSteps(attack)}` : '',
    `to keep it, put this into test/regressions/fold/NAME.json:`,
    JSON.stringify({ property, note: '', charter, attack, steps }),
  ].join('\n');
}

function foldPortions(charter: Charter, portions: readonly (readonly FoldLine[])[]): Fold {
  const fold = createFold(charter, trust, fakePorts);
  for (const portion of portions) foldLines(fold, portion);
  return fold;
}

/** The lines as a host has them that has dropped every purged body. */
function withHoles(charter: Charter, lines: readonly FoldLine[]): readonly FoldLine[] {
  return lines.map((line) =>
    charter.purges.has(line.id) ? ({ ...line, body: null, held: null, fault: 'HOLE' } as unknown as FoldLine) : line,
  );
}

/** A part of the lines under each charter, one after the other. */
function foldThroughCharters(charters: readonly Charter[], portions: readonly (readonly FoldLine[])[]): Fold {
  const [first, ...rest] = charters;
  const fold = createFold(first ?? fakeCharter(), 'd'.repeat(64), fakePorts);
  const size = Math.ceil(portions.length / charters.length);
  for (const portion of portions.slice(0, size)) foldLines(fold, portion);
  for (const [i, charter] of rest.entries()) {
    setCharter(fold, charter, trust);
    for (const portion of portions.slice(size * (i + 1), size * (i + 2))) foldLines(fold, portion);
  }
  return fold;
}

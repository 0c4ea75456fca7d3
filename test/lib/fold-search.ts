/** Checks of one history, the search over many seeds, and the shrinking of what fails. */
import { createFold, foldLines, setCharter, type Fold, type FoldLine } from '../../src/core/fold/fold.ts';
import { fakeCharter, fakePorts, trust, usualCharter } from './fold-builders.ts';
import {
  askOracle,
  brokenByAttack,
  brokenSignedPromise,
  dumpComparable,
  dumpFold,
  dumpOracle,
  type Broken,
} from './fold-checks.ts';
import {
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

const charter = fakeCharter();
/** bob is not a signer yet, and neither policy nor staff are declared. */
const youngerCharter = fakeCharter({
  signers: { craig: usualCharter.signers.craig },
  classes: { note: usualCharter.classes.note, lesson: usualCharter.classes.lesson },
  audiences: { operator: [], agents: ['operator'] },
});

/** The whole history in one go. */
export function foldAtOnce(steps: readonly Step[]): Fold {
  const fold = createFold(charter, trust, fakePorts);
  foldLines(fold, linesOf(steps));
  return fold;
}

/** The fold against itself in other orders, and against the oracle. `random` chooses the orders. */
export function brokenEquality(steps: readonly Step[], random: Random): Broken {
  const lines = linesOf(steps);
  const fold = foldAtOnce(steps);
  if (dumpComparable(fold) !== dumpOracle(charter, lines)) return 'the fold and the oracle differ';
  const whole = dumpFold(fold);
  for (const how of ['line by line', 'in portions'] as const) {
    const order = interleave(random, lines);
    const portions = how === 'line by line' ? order.map((line) => [line]) : split(random, order);
    if (dumpFold(foldPortions(portions)) !== whole) return `another order, ${how}, gives another state`;
  }
  return dumpFold(foldThroughCharters(split(random, interleave(random, lines)))) === whole
    ? undefined
    : 'a charter that came later gives another state';
}

/** The safety promises: on the history, and after an attack by one host. */
export function brokenSafety(steps: readonly Step[], host: string, attack: readonly Step[]): Broken {
  const before = foldAtOnce(steps);
  const after = foldAtOnce([...steps, ...attack]);
  const undisputed = new Set(askOracle(charter, linesOf(steps)).undisputed);
  return (
    brokenSignedPromise(before, charter) ??
    brokenSignedPromise(after, charter) ??
    brokenByAttack({ before, after, host, undisputed })
  );
}

export interface SearchOptions {
  readonly from: number;
  readonly runs: number;
  readonly property: 'equality' | 'safety';
}

/** Runs the property on `runs` seeds; text about the first failure, shrunk, with how to replay it. */
export function searchFailure({ from, runs, property }: SearchOptions): string | undefined {
  for (let seed = from; seed < from + runs; seed += 1) {
    const random = randomFrom(seed);
    const steps = randomHistory(random);
    const host = pick(random, hosts);
    const attack = property === 'safety' ? randomAttack(random, host, steps) : [];
    const check = (some: readonly Step[], attacking: readonly Step[]): Broken =>
      property === 'safety' ? brokenSafety(some, host, attacking) : brokenEquality(some, randomFrom(seed));
    if (check(steps, attack) !== undefined) return failureText(seed, property, shrink(steps, attack, check), check);
  }
  return undefined;
}

interface Case {
  readonly steps: readonly Step[];
  readonly attack: readonly Step[];
}

function shrink(
  steps: readonly Step[],
  attack: readonly Step[],
  check: (a: readonly Step[], b: readonly Step[]) => Broken,
): Case {
  for (let index = 0; index < steps.length; index += 1) {
    const fewer = steps.toSpliced(index, 1);
    if (check(fewer, attack) !== undefined) return shrink(fewer, attack, check);
  }
  for (let index = 0; index < attack.length; index += 1) {
    const fewer = attack.toSpliced(index, 1);
    if (check(steps, fewer) !== undefined) return shrink(steps, fewer, check);
  }
  return { steps, attack };
}

function failureText(
  seed: number,
  property: string,
  { steps, attack }: Case,
  check: (a: readonly Step[], b: readonly Step[]) => Broken,
): string {
  return [
    `${check(steps, attack)}`,
    `replay: FOLD_SEED=${seed} FOLD_RUNS=1 npx vitest run test/property/fold.test.ts -t ${property}`,
    describeSteps(steps),
    attack.length > 0 ? `then the attack:\n${describeSteps(attack)}` : '',
    `to keep it, put this into test/regressions/fold/NAME.json:`,
    JSON.stringify({ property, note: '', attack, steps }),
  ].join('\n');
}

function foldPortions(portions: readonly (readonly FoldLine[])[]): Fold {
  const fold = createFold(charter, trust, fakePorts);
  for (const portion of portions) foldLines(fold, portion);
  return fold;
}

function foldThroughCharters(portions: readonly (readonly FoldLine[])[]): Fold {
  const fold = createFold(youngerCharter, 'd'.repeat(64), fakePorts);
  const half = Math.floor(portions.length / 2);
  for (const portion of portions.slice(0, half)) foldLines(fold, portion);
  setCharter(fold, charter, trust);
  for (const portion of portions.slice(half)) foldLines(fold, portion);
  return fold;
}

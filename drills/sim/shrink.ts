/** Makes a failing plan smaller: without actions that it fails without, with fewer hosts, sooner. */
import type { Plan } from './plan.ts';
import { runPlan } from './run.ts';
import type { Bug } from './types.ts';

/** What kind of promise it was: the words before the colon. */
export function kindOf(violation: string | undefined): string | undefined {
  return violation?.split(':')[0];
}

/** The smallest plan found that breaks the same promise. `triesMax`: how many runs that may take. */
export function shrinkPlan(plan: Plan, bug: Bug, triesMax: number): Plan {
  const kind = kindOf(runPlan(plan, bug).violation);
  let [best, left] = [plan, triesMax];
  const isStillBroken = (smaller: Plan): boolean => {
    left -= 1;
    return left >= 0 && kindOf(runPlan(smaller, bug).violation) === kind;
  };
  for (let size = Math.ceil(plan.actions.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let from = 0; from < best.actions.length;) {
      const smaller = { ...best, actions: best.actions.toSpliced(from, size) };
      if (isStillBroken(smaller)) best = smaller;
      else from += size;
    }
  }
  for (const smaller of simpler(best)) if (isStillBroken(smaller)) best = smaller;
  return best;
}

function simpler(plan: Plan): readonly Plan[] {
  const last = Math.max(0, ...plan.actions.map(({ at }) => at));
  return [
    { ...plan, dropShare: 0, untilMs: last + 30_000 },
    { ...plan, untilMs: last + 30_000 },
    { ...plan, dropShare: 0 },
  ];
}

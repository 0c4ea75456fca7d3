import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bugNamed, bugs, noBug } from '../../drills/sim/bugs.ts';
import { drawPlan, type Plan } from '../../drills/sim/plan.ts';
import { runPlan } from '../../drills/sim/run.ts';
import { kindOf, shrinkPlan } from '../../drills/sim/shrink.ts';

/**
 * A plan that once broke a promise, and what it breaks when the bug that it found is planted (or null: that one was real
 * and is gone).
 */
interface Regression {
  readonly note: string;
  readonly bug: string | null;
  readonly plan: Plan;
}

const folder = join(import.meta.dirname, 'sim');
const files = readdirSync(folder).filter((name) => name.endsWith('.json'));

test.each(files)('simulator: %s holds every promise, and finds its bug when that is planted', (name) => {
  const { note, bug, plan } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as Regression;
  expect(note).not.toBe('');
  expect(runPlan(plan, noBug).violation).toBeUndefined();
  const planted = bug === null ? undefined : bugNamed(bug);
  if (planted !== undefined) expect(runPlan(plan, planted).violation).toBeDefined();
});

test('simulator: every planted bug has a plan that finds it', () => {
  const found = files.map((name) => (JSON.parse(readFileSync(join(folder, name), 'utf8')) as Regression).bug);
  for (const { name } of bugs) expect(found).toContain(name);
});

describe('the simulator itself', () => {
  test('the same seed gives the same trace, twice and in any company', () => {
    const alone = runPlan(drawPlan(7), noBug);
    runPlan(drawPlan(8), noBug);
    expect(runPlan(drawPlan(7), noBug)).toEqual(alone);
    expect(runPlan(drawPlan(8), noBug).trace).not.toBe(alone.trace);
  });

  test('a plan that fails is made smaller and still fails in the same way', { timeout: 120_000 }, () => {
    const bug = bugNamed('last-write-wins') ?? noBug;
    const plan = drawPlan(2);
    const before = runPlan(plan, bug).violation;
    const smaller = shrinkPlan(plan, bug, 60);
    expect(smaller.actions.length).toBeLessThan(plan.actions.length);
    expect(kindOf(runPlan(smaller, bug).violation)).toBe(kindOf(before));
  });
});

/**
 * `npm run sim -- --seeds N [--seed S] [--bug NAME|all [--keep]] [--trace] [--plan FILE]`: the deterministic simulator. Seeds from S
 * on, each a mesh of its own; a failing one is made smaller, and how to replay it is printed. `--bug` plants a wrong part
 * and is content only when that is found. Exit code 0 when all is as it should be.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bugNamed, bugs, noBug } from './sim/bugs.ts';
import { drawPlan, type Plan } from './sim/plan.ts';
import { runPlan, type RunResult } from './sim/run.ts';
import { shrinkPlan } from './sim/shrink.ts';
import type { Bug } from './sim/types.ts';

const shrinkTriesMax = 300;
const bugSeedsMax = 2_000;
const tailLines = 60;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
    bug: { type: 'string' },
    plan: { type: 'string' },
    trace: { type: 'boolean', default: false },
    shrink: { type: 'boolean', default: true },
    keep: { type: 'boolean', default: false },
  },
  allowNegative: true,
});

process.exitCode = main();

function main(): number {
  const from = Number(values.seed);
  console.log(`sim: commit ${commit()}, node ${process.version}, seed ${from}`);
  if (values.plan !== undefined) return replay(JSON.parse(readFileSync(values.plan, 'utf8')) as Plan);
  if (values.bug === undefined) return search(noBug, { from, seeds: Number(values.seeds) }) ? 1 : 0;
  const wanted: readonly (Bug | undefined)[] = values.bug === 'all' ? bugs : [bugNamed(values.bug)];
  if (wanted.includes(undefined)) {
    console.error(`no bug ${values.bug}; known: ${bugs.map(({ name }) => name).join(', ')}`);
    return 2;
  }
  const seeds = process.argv.some((arg) => arg.startsWith('--seeds')) ? Number(values.seeds) : bugSeedsMax;
  return findBugs(
    wanted.flatMap((bug) => bug ?? []),
    { from, seeds },
  );
}

interface Range {
  readonly from: number;
  readonly seeds: number;
}

/** Every planted bug must be found, and the same seeds without it must be clean. */
function findBugs(planted: readonly Bug[], range: Range): number {
  let missed = 0;
  for (const bug of planted) {
    const found = firstFailure(bug, range);
    const control = found === undefined ? undefined : runPlan(drawPlan(found.seed), noBug).violation;
    if (found === undefined || control !== undefined) missed += 1;
    const text =
      found === undefined
        ? `NOT FOUND in ${range.seeds} seeds`
        : `found by seed ${found.seed}: ${firstLine(found.result.violation)}`;
    const clean =
      found === undefined ? '' : control === undefined ? '; control clean' : `; CONTROL FAILED: ${firstLine(control)}`;
    console.log(`${bug.name}: ${text}${clean}`);
    if (values.keep && found !== undefined) keepPlan(bug, found.seed);
  }
  console.log(`${planted.length - missed} passed, ${missed} failed`);
  return missed === 0 ? 0 : 1;
}

function keepPlan(bug: Bug, seed: number): void {
  const plan = shrinkPlan(drawPlan(seed), bug, shrinkTriesMax);
  const note = `found by seed ${seed}: ${firstLine(runPlan(plan, bug).violation)}`;
  const file = join(import.meta.dirname, '..', 'test', 'regressions', 'sim', `${bug.name}.json`);
  writeFileSync(file, `${JSON.stringify({ note, bug: bug.name, plan }, null, 1)}\n`);
}

function firstFailure(bug: Bug, { from, seeds }: Range): { seed: number; result: RunResult } | undefined {
  for (let seed = from; seed < from + seeds; seed += 1) {
    const result = runPlan(drawPlan(seed), bug);
    if (result.violation !== undefined) return { seed, result };
  }
  return undefined;
}

/** @returns true when a promise was broken. */
function search(bug: Bug, { from, seeds }: Range): boolean {
  const start = performance.now();
  let [steps, lines, forked] = [0, 0, 0];
  for (let seed = from; seed < from + seeds; seed += 1) {
    const result = runPlan(drawPlan(seed), bug);
    steps += result.steps;
    lines += result.lines;
    forked += result.forked > 0 ? 1 : 0;
    if (values.trace) console.log(`seed ${seed} trace ${result.trace} steps ${result.steps}`);
    if (result.violation === undefined) continue;
    report(seed, bug, result);
    return true;
  }
  const seconds = (performance.now() - start) / 1_000;
  const rate = (seeds / seconds).toFixed(1);
  console.log(
    `${seeds} seeds clean (${forked} with a fork) in ${seconds.toFixed(1)} s: ${rate} seeds/s, ${Math.round(steps / seeds)} steps and ${Math.round(lines / seeds)} lines each`,
  );
  return false;
}

function report(seed: number, bug: Bug, { violation, at, trace }: RunResult): void {
  console.log(`seed ${seed} breaks a promise at ${at} ms: ${violation}`);
  console.log(`trace ${trace}; replay: npm run sim -- --seed ${seed} --seeds 1`);
  if (!values.shrink) return;
  const plan = shrinkPlan(drawPlan(seed), bug, shrinkTriesMax);
  const file = `sim-${seed}.json`;
  writeFileSync(file, `${JSON.stringify(plan, null, 1)}\n`);
  console.log(`smallest plan found: ${plan.actions.length} actions, in ${file}; to keep it: test/regressions/sim/`);
  replay(plan);
}

function replay(plan: Plan): number {
  const result = runPlan(plan, noBug, tailLines);
  for (const line of result.tail) console.log(`  ${line}`);
  console.log(`trace ${result.trace}; ${result.violation ?? 'every promise held'}`);
  return result.violation === undefined ? 0 : 1;
}

function firstLine(text: string | undefined): string {
  return text?.split('\n')[0] ?? '';
}

function commit(): string {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty'], {
      encoding: 'utf8',
      cwd: import.meta.dirname,
    }).trim();
  } catch {
    return 'unknown';
  }
}

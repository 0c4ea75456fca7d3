/**
 * `npm run check`: everything that must hold before a commit. `--no-tests` leaves the suite out (a CI that has just run
 * it). The last line is `N passed, N failed`: tests, and every step that failed as one more failure.
 */
import { runNode, runStep } from './lib/step.ts';
import { runTests, type TestCount } from './lib/vitest.ts';

interface Step {
  readonly name: string;
  readonly run: () => Promise<boolean>;
}

const tool = (pkg: string, script: string, ...args: string[]) => ({
  run: async (): Promise<boolean> => (await runStep(pkg, script, args)).code === 0,
});
const script = (file: string) => ({
  run: async (): Promise<boolean> => (await runNode([file])).code === 0,
});

const withTests = !process.argv.includes('--no-tests');
let count: TestCount = { passed: 0, failed: 0, skipped: 0 };

const steps: readonly Step[] = [
  // The whole build: a bundle that is older than what the compiler wrote is not used, and the tests would try the long way.
  { name: 'types', ...script('scripts/build.ts') },
  { name: 'types of tests', ...tool('typescript', 'bin/tsc', '-p', 'tsconfig.test.json') },
  { name: 'lint', ...tool('oxlint', 'bin/oxlint') },
  { name: 'layers', ...script('scripts/check-source.ts') },
  { name: 'format', ...tool('oxfmt', 'bin/oxfmt', '--check') },
  { name: 'dead code', ...tool('knip', 'bin/knip.js') },
  { name: 'canary', ...script('scripts/canary.ts') },
  { name: 'tidy', ...script('scripts/tidy.ts') },
  ...(withTests ? [{ name: 'tests', run: runSuite }] : []),
];

async function runSuite(): Promise<boolean> {
  count = await runTests([]);
  return count.failed === 0;
}

const results: { name: string; good: boolean; seconds: string }[] = [];
for (const { name, run } of steps) {
  console.log(`\n== ${name}`);
  const start = performance.now();
  const good = await run();
  results.push({ name, good, seconds: ((performance.now() - start) / 1000).toFixed(1) });
}

console.log();
for (const { name, good, seconds } of results) console.log(`${good ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)`);
if (count.skipped > 0) console.log(`${count.skipped} tests skipped`);
const broken = results.filter(({ name, good }) => !good && name !== 'tests').length;
if (broken > 0) console.log(`${broken} of ${results.length} steps failed; each counts as one failure below`);
console.log(`${count.passed} passed, ${count.failed + broken} failed`);
process.exitCode = results.every(({ good }) => good) ? 0 : 1;

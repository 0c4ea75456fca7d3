/** Runs the test suite and counts. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runStep } from './step.ts';

/** What a run of the suite amounts to. A file that did not load counts as one failure: its tests were not run. */
export interface TestCount {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

interface JsonReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly {
    readonly status: string;
    readonly assertionResults: readonly { status: string }[];
  }[];
}

/** Runs vitest once over the files that match `filters` (all without any). */
export async function runTests(filters: readonly string[]): Promise<TestCount> {
  const folder = mkdtempSync(join(tmpdir(), 'memctl-report-'));
  try {
    const file = join(folder, 'report.json');
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
    const { code } = await runStep('vitest', 'vitest.mjs', ['run', ...reporters, ...filters]);
    return countTests(readReport(file), code);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Numbers of one report. Whatever went wrong outside a test (exit code without a failed test) is one failure. Pure. */
export function countTests(report: JsonReport | undefined, exitCode: number): TestCount {
  if (!report) return { passed: 0, failed: 1, skipped: 0 };
  const unloaded = report.testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((one) => one.status === 'failed'),
  ).length;
  const counted = report.numFailedTests + unloaded;
  const failed = counted === 0 && exitCode !== 0 ? 1 : counted;
  return { passed: report.numPassedTests, failed, skipped: report.numPendingTests + report.numTodoTests };
}

function readReport(file: string): JsonReport | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as JsonReport;
  } catch {
    return undefined;
  }
}

import { expect, test } from 'vitest';
import { pinnedNodes } from '../../../scripts/bootstrap/node-runtime.mjs';
import { countTests } from '../../../scripts/lib/vitest.ts';

const report = (numPassedTests: number, numFailedTests: number, ...files: [string, ...string[]][]) => ({
  numPassedTests,
  numFailedTests,
  numPendingTests: 0,
  numTodoTests: 0,
  testResults: files.map(([status, ...tests]) => ({
    status,
    assertionResults: tests.map((one) => ({ status: one })),
  })),
});

test('a clean run counts its tests', () => {
  expect(countTests(report(2, 0, ['passed', 'passed', 'passed']), 0)).toEqual({ passed: 2, failed: 0, skipped: 0 });
});

test('a file that did not load is a failure', () => {
  expect(countTests(report(2, 0, ['passed', 'passed', 'passed'], ['failed']), 1).failed).toBe(1);
  expect(countTests(report(1, 1, ['failed', 'passed', 'failed'], ['failed']), 1).failed).toBe(2);
});

test('a run that failed without a failed test, or without a report, is a failure', () => {
  expect(countTests(report(2, 0, ['passed', 'passed']), 1).failed).toBe(1);
  expect(countTests(undefined, 0)).toEqual({ passed: 0, failed: 1, skipped: 0 });
});

test('every platform has a pinned Node 24 with a whole sha512', () => {
  expect(Object.keys(pinnedNodes)).toEqual(['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64']);
  for (const { version, integrity } of Object.values(pinnedNodes)) {
    expect(version).toMatch(/^24\./);
    expect(Buffer.from(integrity.replace('sha512-', ''), 'base64')).toHaveLength(64);
  }
});

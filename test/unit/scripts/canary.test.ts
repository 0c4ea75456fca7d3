import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseVersion, typeStrippingFlags } from '../../../scripts/bootstrap/versions.mjs';
import { checkout, runToEnd } from './processes.ts';

const flags = typeStrippingFlags(parseVersion(process.version) ?? [24, 0, 0]);
const canary = (...args: string[]) =>
  runToEnd([process.execPath, ...flags, join(checkout, 'scripts/canary.ts'), ...args], process.env);

test('canary: every mark fires under the configuration as it is', async () => {
  const ended = await canary();
  expect(ended.stdout).toMatch(/^canary: all \d+ marks fired\n$/);
  expect(ended.code).toBe(0);
});

test.each([
  'no-restricted-imports',
  'no-restricted-globals',
  'no-restricted-properties',
  'typescript/require-array-sort-compare',
])('canary: it fails when %s is switched off', async (rule) => {
  const ended = await canary('--without', rule);
  expect(ended.code).toBe(1);
  expect(ended.stdout).toMatch(new RegExp(`\\(${rule.split('/').at(-1)}\\) did not fire`));
});

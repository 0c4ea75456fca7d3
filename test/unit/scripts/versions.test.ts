import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  isAtLeast,
  nodeNeeded,
  parseVersion,
  showVersion,
  typeStrippingFlags,
} from '../../../scripts/bootstrap/versions.mjs';

test.each([
  ['git version 2.39.5 (Apple Git-154)', [2, 39, 5]],
  ['git version 2.47.windows.1', [2, 47, 0]],
  ['OpenSSH_9.2p1 Debian-2+deb12u6, OpenSSL 3.0.19 27 Jan 2026', [9, 2, 0]],
  ['OpenSSH_for_Windows_8.6p1, LibreSSL 3.4.3', [8, 6, 0]],
  ['v20.20.2', [20, 20, 2]],
  ['nothing of the kind', undefined],
])('the version in "%s" is read', (text, version) => {
  expect(parseVersion(text)).toEqual(version);
});

test('versions are compared number by number, not as text', () => {
  expect(isAtLeast([2, 36, 0], [2, 36, 0])).toBe(true);
  expect(isAtLeast([2, 9, 9], [2, 36, 0])).toBe(false);
  expect(isAtLeast([10, 0, 0], [9, 9, 9])).toBe(true);
  expect(isAtLeast([22, 11, 9], [22, 12, 0])).toBe(false);
});

test('a version is shown as short as it can be', () => {
  expect(showVersion([22, 12, 0])).toBe('22.12');
  expect(showVersion([24, 22, 3])).toBe('24.22.3');
});

test('only a Node that does not strip types by itself is asked to', () => {
  expect(typeStrippingFlags([22, 14, 0])).not.toEqual([]);
  expect(typeStrippingFlags([22, 18, 0])).toEqual([]);
  expect(typeStrippingFlags([23, 5, 0])).not.toEqual([]);
  expect(typeStrippingFlags([24, 0, 0])).toEqual([]);
});

test('the oldest Node is the same for the package, the launchers, the bootstrap and the doctor', () => {
  const text = showVersion(nodeNeeded);
  const read = (file: string): string => readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8');
  const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } };
  expect(engines.node).toBe(`>=${text}`);
  expect(read('bin/launch.js')).toContain(`const needed = [${nodeNeeded.slice(0, 2).join(', ')}];`);
  expect(read('src/cli/doctor/machine-checks.ts')).toContain(`node: [${nodeNeeded.slice(0, 2).join(', ')}]`);
});

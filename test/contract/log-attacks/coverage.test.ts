/** Every attack that was collected outside has a test here, or is named with the test elsewhere, or with the reason why not. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const outside = fileURLToPath(new URL('../../../../shared/vectors/log-attacks.json', import.meta.url));
const folder = dirname(fileURLToPath(import.meta.url));
const root = join(folder, '../../..');

/** Attacks on what lies around the core: git, ssh, disk. Each has its test at the level where it happens. */
const elsewhere: Readonly<Record<string, { readonly file: string; readonly says: string }>> = {
  'rollback-remote': {
    file: 'test/e2e/mesh/attacks.test.ts',
    says: 'a host that lost lines of its own log has rolled back',
  },
  'ref-deleted': { file: 'test/e2e/mesh/attacks.test.ts', says: 'and so has one without any log' },
  'zip-bomb': { file: 'test/contract/mesh/git-vectors.test.ts', says: "describe('bombs'" },
  'crash-mid-append': { file: 'drills/kill-mid-write.ts', says: 'every acknowledged event' },
  'checkout-eol': { file: 'test/e2e/git-around.test.ts', says: 'B11: a clone by plain git over ssh with autocrlf' },
  'git-config-injection': { file: 'test/unit/mesh/address.test.ts', says: 'ext::sh -c id' },
  'host-key-change': { file: 'test/e2e/mesh/ssh-client.test.ts', says: 'HOST_KEY_MISMATCH' },
};

/** Attacks on something that this program does not have. */
const nothingToAttack: Readonly<Record<string, string>> = {
  'hash-extension': 'no secret is ever hashed together with a message: ids, links and roots are hashes of public bytes',
  'local-timezone-window': 'no key has a time window: authority is bounded by log positions, and times are shown only',
};

/** Titles of the tests of this folder begin with the name of the attack. */
function translated(): Set<string> {
  const files = readdirSync(folder).filter((name) => name.endsWith('.test.ts') && name !== 'coverage.test.ts');
  const titles = files.flatMap((name) => [
    ...readFileSync(join(folder, name), 'utf8').matchAll(/['"`]([a-z0-9]+(?:-[a-z0-9]+)*): /g),
  ]);
  return new Set(titles.map(([, id = '']) => id));
}

describe('attacks whose test stands elsewhere', () => {
  test.each(Object.entries(elsewhere))('%s is where it is said to be', (_, { file, says }) => {
    expect(readFileSync(join(root, file), 'utf8')).toContain(says);
  });

  test.each(Object.entries(nothingToAttack))('%s has nothing to attack: %s', (_, reason) => {
    expect(reason).not.toBe('');
  });
});

test('log attacks: each of the outside list is translated, elsewhere, or without an object; none is left out', ({
  skip,
}) => {
  if (!existsSync(outside)) {
    const notice = 'NOT RUN: ../shared/vectors/log-attacks.json is not here, so the list cannot be compared';
    console.warn(notice);
    skip(notice);
  }
  const listed = (JSON.parse(readFileSync(outside, 'utf8')) as { id: string }[]).map(({ id }) => id);
  const here = translated();
  const known = [...here, ...Object.keys(elsewhere), ...Object.keys(nothingToAttack)];
  expect(listed.filter((id) => !known.includes(id))).toEqual([]);
  expect(known.filter((id) => !listed.includes(id))).toEqual([]);
  expect(known.length).toBe(new Set(known).size);
});

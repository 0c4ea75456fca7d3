import { expect, test } from 'vitest';
import { describeDraft } from '../../../src/cli/sign/draft-text.ts';
import type { ClaimJson } from '../../../src/daemon/api/api-types.ts';

const claim = (n: number): ClaimJson => ({
  id: n.toString(16).padStart(64, '0'),
  host: 'gamma',
  seq: n,
  at: '2026-07-27T11:00:00.000Z',
  kind: 'assert',
  subject: 'note/one',
  value: `v${n}`,
  level: 'unsigned',
  confidence: 'inferred',
  session: 'cli',
  status: 'parked',
});

test('what is signed is shown whole, and a flood of what stays beside it does not push it away', () => {
  const sides = (from: number, count: number): ClaimJson[] =>
    Array.from({ length: count }, (_, at) => claim(from + at));
  const draft = {
    body: '{"kind":"assert","subject":"note/one","value":"b"}',
    id: 'ab'.repeat(32),
    subject: 'note/one',
    signer: 'craig',
    mesh: 'cd'.repeat(32),
    existing: false,
    replaces: sides(0, 64),
    unknown: [],
    withdrawnBy: [],
    agrees: sides(100, 500),
    leaves: sides(1_000, 2_000),
    questions: sides(5_000, 100),
  };
  const lines = describeDraft(draft, Date.parse('2026-07-27T12:00:00.000Z'));
  expect(lines.filter((line) => line.startsWith('  replaces '))).toHaveLength(64);
  expect(lines).toContain('  agrees with it, and stays (488 more)');
  expect(lines).toContain('  says otherwise, and stays beside it (1988 more)');
  expect(lines).toContain('  stays open (88 more)');
  expect(lines.length).toBeLessThan(120);
});

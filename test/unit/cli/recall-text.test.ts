import { describe, expect, test } from 'vitest';
import { describeRecall, exitOfRecall } from '../../../src/cli/recall-text.ts';
import { withHome, type RecalledJson, type Standing } from '../../../src/cli/recall-home.ts';
import { parseConfig } from '../../../src/daemon/config/config.ts';
import type { ClaimJson, RecallJson } from '../../../src/daemon/api/api-types.ts';
import { sha256Hex } from '../../../src/crypto/hash.ts';
import { temporaryFolder } from '../../lib/temporary.ts';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const now = Date.parse('2026-07-27T12:00:00.000Z');

function claim(fields: Partial<ClaimJson> = {}): ClaimJson {
  return {
    id: 'ab'.repeat(32),
    host: 'alpha',
    seq: 7,
    at: '2026-07-27T11:00:00.000Z',
    kind: 'assert',
    subject: 'endpoint/api',
    value: 'nas:3000',
    level: 'unsigned',
    confidence: 'stated',
    session: 'cli',
    status: 'served',
    ...fields,
  };
}

function answer(fields: Partial<RecalledJson>): RecalledJson {
  return {
    subject: 'endpoint/api',
    scope: '*',
    status: 'served',
    host: 'beta',
    age: 3_600,
    flags: [],
    corroboration: 1,
    ...fields,
  };
}

const said = (fields: Partial<RecalledJson>): string => describeRecall(answer(fields), now).join('\n');

describe('recall text', () => {
  test('served: what it says, who says it and how old it is', () => {
    expect(said({ claim: claim(), corroboration: 3 })).toBe(
      'nas:3000\n  abababababab · alpha:7 · unsigned · cli · 1 h ago · stated · served\n  3 hosts say so',
    );
  });

  test('the place is that of the log that it stands in, also where it is the word of another host', () => {
    expect(
      said({ status: 'held', claims: [claim({ host: 'beta', seq: 13, log: 'gamma', status: 'held' })] }),
    ).toContain('abababababab · gamma:13 of beta · unsigned');
  });

  test('what stands beside a served claim is named', () => {
    const claims = [claim({ kind: 'question', content: 'really?', status: 'open', host: 'beta' })];
    expect(said({ claim: claim({ level: 'signed', signer: 'craig' }), claims, flags: ['undecided'] })).toMatch(
      /^nas:3000\n[^]*flags: undecided\n {2}beside it:\n {2}abababababab · beta:7/,
    );
  });

  test('a home that was not read makes it a copy, and names who could read it last', () => {
    const home = {
      ref: 'file:a.md',
      checked: false,
      fresh: false,
      reason: 'it is a file of host gamma',
      last: { host: 'gamma', at: '2026-07-24T12:00:00.000Z' },
    };
    expect(said({ claim: claim(), home })).toMatch(
      /^COULD NOT CHECK \(it is a file of host gamma\); last by host gamma, 3 d ago\ncopy: nas:3000\n/,
    );
  });

  test('a home that changed says so first', () => {
    const home = { ref: 'file:a.md', checked: true, fresh: false, reason: 'it has no section #x' };
    expect(said({ claim: claim(), home })).toMatch(/^HOME CHANGED \(it has no section #x\)\ncopy: nas:3000/);
  });

  test('a long home is cut for people', () => {
    const home = { ref: 'file:a.md', checked: true, fresh: true, from: '/a.md', text: 'line\n'.repeat(100) };
    const lines = said({ claim: claim(), home }).split('\n');
    expect(lines.filter((line) => line === '  | line')).toHaveLength(40);
    expect(lines.at(-1)).toMatch(/there is more/);
  });

  test('a tombstone says what stands in its place, not what stood there', () => {
    const text = said({
      status: 'superseded',
      claims: [claim({ value: 'old:1', status: 'superseded' })],
      replacedBy: claim({ id: 'cd'.repeat(32), subject: 'endpoint/new', value: 'new:2' }),
    });
    expect(text).toMatch(/^SUPERSEDED: endpoint\/api\n/);
    expect(text).not.toContain('old:1');
    expect(text).toContain('replaced by cdcdcdcdcdcd on endpoint/new: new:2');
    expect(text).toContain('next: memctl recall endpoint/new');
  });

  test('neither side of a contradiction comes first, and all are named', () => {
    const claims = [claim({ value: 'a', status: 'parked' }), claim({ value: 'b', host: 'beta', status: 'parked' })];
    const text = said({ status: 'parked', claims });
    expect(text).toMatch(/^UNRESOLVED: endpoint\/api/);
    expect(text).toMatch(/ {2}a\n[\s\S]* {2}b\n/);
  });

  test('parked without anybody who says otherwise: nothing is said of a contradiction', () => {
    const claims = [claim({ status: 'parked' }), claim({ content: 'so it is', status: 'parked', host: 'beta' })];
    const text = said({ status: 'parked', claims, flags: ['purged'] });
    expect(text).toMatch(
      /^UNRESOLVED: endpoint\/api is claimed and not served: a signer, or a claim of another scope,/,
    );
    expect(text).not.toContain('contradict');
    expect(text).toMatch(
      /way out: memctl show [0-9a-f]+ says what; on the host that was wrong, memctl retract endpoint\/api;/,
    );
    const other = [claim({ status: 'parked' }), claim({ polarity: 'absent', status: 'parked' })];
    expect(said({ status: 'parked', claims: other })).toContain('contradicting claims');
  });

  test('every other status has a first word of its own', () => {
    const firsts = {
      contested: 'CONTESTED',
      stale: 'STALE',
      undecided: 'UNDECIDED',
      retracted: 'RETRACTED',
      quarantined: 'QUARANTINED',
      held: 'HELD',
      none: 'NOT FOUND',
    } as const;
    for (const [status, word] of Object.entries(firsts)) {
      expect(said({ status: status as keyof typeof firsts, claim: claim(), claims: [] })).toMatch(
        new RegExp(`^${word}: `),
      );
    }
  });

  test('a subject that is known only elsewhere or only talked about is not "nothing"', () => {
    expect(said({ status: 'none', elsewhere: ['web'] })).toContain('known only in scope web');
    expect(said({ status: 'none', claims: [claim({ kind: 'decision' })] })).toContain('what else was said');
  });

  test('exit codes are those of the contract', () => {
    expect(exitOfRecall).toEqual({
      served: 0,
      contested: 0,
      parked: 3,
      purged: 7,
      undecided: 3,
      stale: 4,
      quarantined: 6,
      held: 6,
      superseded: 7,
      retracted: 7,
      none: 7,
    });
  });
});

describe('recall: the home of an answer', () => {
  const recalled = async (fields: Partial<RecallJson>, text: string) => {
    const root = temporaryFolder();
    writeFileSync(join(root, 'a.md'), text);
    const standing: Standing = {
      memd: '/nonexistent/home',
      config: { config: parseConfig(`[homes]\nroots = [${JSON.stringify(root)}]`, { file: '/x/c.toml', user: '/x' }) },
      project: undefined,
      check: false,
    };
    return withHome(answer({ claim: claim({ home: 'file:a.md' }), ...fields }), standing);
  };

  test('this host saw that what it observed has changed: stale at once', async () => {
    const digest = `sha256:${sha256Hex('old\n')}`;
    const changed = await recalled({ observed: { host: 'beta', at: claim().at, digest } }, 'new\n');
    expect(changed).toMatchObject({ status: 'stale', home: { checked: true, fresh: false, text: 'new\n' } });
    const same = await recalled({ observed: { host: 'beta', at: claim().at, digest } }, 'old\n');
    expect(same).toMatchObject({ status: 'served', home: { fresh: true } });
  });

  test('what another host observed differs here legitimately', async () => {
    const digest = `sha256:${sha256Hex('old\n')}`;
    const other = await recalled({ observed: { host: 'gamma', at: claim().at, digest } }, 'new\n');
    expect(other).toMatchObject({ status: 'served', home: { fresh: true } });
  });

  test('a claim without a home is answered as it is', async () => {
    expect(await recalled({ claim: claim() }, '')).toEqual(answer({ claim: claim() }));
  });
});

/** What stands in the log of a peer, or in our copy of it: it can end its own log, and nothing else. */
import { cpSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { readLogWithGit } from '../../drills/lib/check-log.ts';
import type { ApiConnection } from '../../drills/lib/api.ts';
import { converge, enrol } from '../../drills/lib/hosts.ts';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';
import { forgeLines, replaceLog, stamped } from '../lib/hosts-forge.ts';

const bench = openBench();
let alpha: BenchHost;
let beta: BenchHost;
let gamma: BenchHost;

interface Status {
  readonly root: string;
  readonly heads: Record<string, { seq: number }>;
  readonly counts: Record<string, number>;
  readonly alarms: { kind: string; host?: string; subject?: string; detail: string }[];
}

/** Three hosts in one mesh, each with notes of its own, all of them held by all. Nothing runs afterwards. */
beforeAll(async () => {
  [alpha, beta, gamma] = await Promise.all([bench.lay('alpha'), bench.lay('beta'), bench.lay('gamma')]);
  const { mesh } = await alpha.json<{ mesh: string }>('init', '--host', 'alpha', '--listen', alpha.address);
  await alpha.start();
  for (const host of [beta, gamma]) {
    await enrol(alpha, host, mesh);
    await host.start();
  }
  for (const host of [alpha, beta, gamma]) {
    const events = [1, 2, 3, 4].map((n) => ({
      kind: 'lesson',
      subject: `lesson/${host.name}-${n}`,
      content: `rule ${n}`,
    }));
    await host.append(events.map((event) => JSON.stringify(event)).join('\n'));
  }
  await converge([alpha, beta, gamma]);
  await Promise.all([alpha, beta, gamma].map((host) => host.stop()));
}, 60_000);

let copies = 0;

/** A copy of a home with nothing running: what a test does to it stays there. */
async function copy(host: BenchHost): Promise<BenchHost> {
  const made = await bench.lay(`copy-${(copies += 1)}`);
  cpSync(host.home, made.home, { recursive: true });
  return made;
}

/** What recall says of each subject, in one word. */
async function statusesOf(api: ApiConnection, subjects: readonly string[]): Promise<string[]> {
  const statuses = [];
  for (const subject of subjects) {
    const { result } = await api.call('recall', { subject });
    statuses.push((result as { status: string }).status);
  }
  return statuses;
}

const four = (name: string): string[] => [1, 2, 3, 4].map((n) => `lesson/${name}-${n}`);

describe('our copy of a log', () => {
  const damages: [string, (lines: string[]) => string, number][] = [
    ['A5: a torn line in the middle', ([a, , c, d]) => `${a}\n{"a":\n${c}\n${d}\n`, 2],
    ['B10: a conflict marker', ([a, b, c, d]) => `${a}\n${b}\n<<<<<<< HEAD\n${c}\n=======\n${d}\n>>>>>>> theirs\n`, 3],
    ['A4: a torn tail', ([a, b, c, d]) => `${a}\n${b}\n${c}\n${d?.slice(0, -30)}`, 4],
    ['A4: no newline at the end, though the line is whole', ([a, b, c, d]) => `${a}\n${b}\n${c}\n${d}`, 4],
    ['A2: two lines in one', ([a, b, c, d]) => `${a}\n${b}${c}\n${d}\n`, 2],
    ['B11: line ends made CR LF', ([a, b, c, d]) => `${a}\r\n${b}\r\n${c}\r\n${d}\r\n`, 1],
    ['H5: a key twice', ([a, b, c, d]) => `${a}\n${b}\n${c?.replace('"seq":3', '"seq":3,"seq":3')}\n${d}\n`, 3],
    ['a byte order mark', ([a, b, c, d]) => `${a}\n${b}\n\uFEFF${c}\n${d}\n`, 3],
    ['a line left out', ([a, b, , d]) => `${a}\n${b}\n${d}\n`, 3],
    ['an empty line', ([a, b, c, d]) => `${a}\n\n${b}\n${c}\n${d}\n`, 2],
    ['a changed word', ([a, b, c, d]) => `${a}\n${b}\n${c?.replace('rule 3', 'rule 4')}\n${d}\n`, 3],
  ];

  test.each(damages)(
    '%s of a peer: cut there, with host and line; all others fold on, and we may write',
    async (_, damage, line) => {
      const host = await copy(alpha);
      replaceLog(host.home, 'beta', damage(readLogWithGit(host.home, 'beta')));
      await host.start();
      const api = await host.api();
      const status = (await api.call('status', {})).result as Status;
      expect(status.alarms).toContainEqual(
        expect.objectContaining({
          kind: 'LOG_CUT',
          host: 'beta',
          detail: expect.stringContaining(`log beta is cut at line ${line} `),
        }),
      );
      expect(status.heads).toMatchObject({ alpha: { seq: 4 }, gamma: { seq: 4 } });
      expect(status.heads['beta']?.seq ?? 0).toBe(line - 1);
      expect(await statusesOf(api, four('beta'))).toEqual([1, 2, 3, 4].map((n) => (n < line ? 'served' : 'none')));
      expect(await statusesOf(api, ['lesson/alpha-4', 'lesson/gamma-4'])).toEqual(['served', 'served']);
      expect((await api.call('recall', { subject: 'lesson/never-said' })).result).toMatchObject({
        status: 'none',
        incomplete: expect.arrayContaining([expect.stringContaining(`log beta is cut at line ${line} `)]),
      });
      const written = { kind: 'lesson', subject: 'lesson/alpha-5', content: 'rule 5' };
      expect((await api.call('append', { events: [written] })).error).toBeUndefined();
      expect((await api.call('verify', {})).result).toMatchObject({
        ok: false,
        problems: expect.arrayContaining([expect.stringContaining(`log beta line ${line}`)]),
      });
      await host.stop();
    },
  );

  test.each(damages.slice(0, 4))(
    '%s of our own: cut there, and nothing is written until it is repaired',
    async (_, damage, line) => {
      const host = await copy(beta);
      replaceLog(host.home, 'beta', damage(readLogWithGit(host.home, 'beta')));
      expect(await host.refused(1, ['lesson', 'lesson/beta-5', 'rule 5'])).toMatchObject({
        code: 'OWN_LOG_DAMAGED',
        message: expect.stringContaining(`damaged at line ${line} `),
      });
      expect((await host.ctl('recall', 'lesson/alpha-4')).code).toBe(0);
    },
  );

  test('B1: the branch of a peer is empty: that log is cut, and the others fold on', async () => {
    const host = await copy(alpha);
    writeFileSync(join(host.repository, 'refs', 'heads', 'log', 'gamma'), '');
    const { alarms, heads } = await host.json<Status>('status');
    expect(alarms).toContainEqual(
      expect.objectContaining({
        kind: 'LOG_CUT',
        host: 'gamma',
        detail: expect.stringContaining('refs/heads/log/gamma'),
      }),
    );
    expect(heads).toMatchObject({ alpha: { seq: 4 }, beta: { seq: 4 } });
    expect((await host.ctl('lesson', 'lesson/alpha-5', 'rule 5')).code).toBe(0);
  });
});

describe('what a peer serves', () => {
  test('B8: a rewritten log is refused with an alarm, ours is kept, and the branch never moves back', async () => {
    const honest = await copy(beta);
    const [ours, theirs] = [await copy(alpha), await copy(beta)];
    replaceLog(theirs.home, 'beta', `${readLogWithGit(theirs.home, 'beta').slice(0, 1).join('\n')}\n`);
    forgeLines(
      theirs.home,
      [2, 3, 4, 5].map((n) => ({ body: rule(theirs, `lesson/beta-${n}`, `rewritten ${n}`) })),
    );
    const before = readLogWithGit(ours.home, 'beta');
    await serveAs(theirs, beta);
    await ours.start();
    await ours.ctl('fetch', 'beta');
    const after = await ours.json<Status>('status');
    expect(after.alarms).toContainEqual(expect.objectContaining({ kind: 'NOT_EXTENSION', host: 'beta' }));
    expect(readLogWithGit(ours.home, 'beta')).toEqual(before);
    // Both are kept: ours where it was, theirs beside it.
    const [other = '', ...more] = readdirSync(join(ours.home, 'forks'));
    expect([other, ...more]).toEqual([expect.stringMatching(/^beta-2-[0-9a-f]{12}\.jsonl$/)]);
    expect(readFileSync(join(ours.home, 'forks', other), 'utf8')).toContain('rewritten 5');
    // The host signed both: from there on its log counts nowhere, until a signer says which one it is.
    await expect.poll(async () => (await ours.json<Status>('status')).heads['beta']).toMatchObject({ seq: 1 });
    expect((await ours.ctl('recall', 'lesson/beta-2')).stdout).not.toContain('rewritten');
    await theirs.stop();
    await serveAs(honest, beta);
    expect(await ours.json('fetch', 'beta')).toMatchObject([{ state: 'up', new: 0 }]);
    await Promise.all([ours.stop(), honest.stop()]);
  });

  test('bodies that are no event are held out one by one, in every form, and nothing else stops', async () => {
    const [ours, theirs] = [await copy(alpha), await copy(beta)];
    const foreign = 'ab'.repeat(32);
    const cases: { body: Record<string, unknown>; v?: number; alarm: string; held?: string }[] = [
      { body: { kind: 'prophecy', subject: 'note/a', content: 'x' }, alarm: 'INVALID', held: 'note/a' },
      {
        body: { kind: 'lesson', subject: 'lesson/extra', content: 'x', mood: 'good' },
        alarm: 'INVALID',
        held: 'lesson/extra',
      },
      { body: { kind: 'lesson', subject: 'Lesson/Case', content: 'x' }, alarm: 'INVALID' },
      { body: { kind: 'lesson', subject: 'lesson/../../up', content: 'x' }, alarm: 'INVALID' },
      {
        body: { kind: 'lesson', subject: 'lesson/when', content: 'x', at: '2026-02-30T00:00:00.000Z' },
        alarm: 'INVALID',
        held: 'lesson/when',
      },
      {
        body: { kind: 'lesson', subject: 'lesson/long', content: 'x'.repeat(4_001) },
        alarm: 'INVALID',
        held: 'lesson/long',
      },
      { body: { kind: 'lesson', subject: 'lesson/scope', content: 'x', scope: '../up' }, alarm: 'INVALID' },
      {
        body: { kind: 'lesson', subject: 'lesson/foreign', content: 'x', mesh: foreign },
        alarm: 'FOREIGN_MESH',
        held: 'lesson/foreign',
      },
      {
        body: { kind: 'lesson', subject: 'lessen/unknown', content: 'x' },
        alarm: 'UNNORMALIZED',
        held: 'lessen/unknown',
      },
      {
        body: { kind: 'lesson', subject: 'lesson/nobody', content: 'x', audience: 'nobody' },
        alarm: 'UNDECLARED_AUDIENCE',
        held: 'lesson/nobody',
      },
      { body: { anything: ['at', 'all'] }, v: 2, alarm: 'UNKNOWN_VERSION' },
      { body: { kind: 'lesson', subject: 'lesson/as-alpha', content: 'x', host: 'alpha' }, alarm: '' },
    ];
    const ids = forgeLines(
      theirs.home,
      cases.map(({ body, v }) => ({ body: stamped(theirs.home, body as never), ...(v === undefined ? {} : { v }) })),
    );
    forgeLines(theirs.home, [{ body: rule(theirs, 'lesson/after-all', 'the log goes on') }]);
    await serveAs(theirs, beta);
    await ours.start();
    expect(await ours.json('fetch', 'beta')).toMatchObject([{ state: 'up' }]);
    const { alarms, heads, counts } = await ours.json<Status>('status');
    expect(heads['beta']?.seq).toBe(4 + cases.length + 1);
    const api = await ours.api();
    for (const alarm of new Set(cases.map((one) => one.alarm).filter((name) => name !== ''))) {
      expect(alarms).toContainEqual(expect.objectContaining({ kind: alarm, host: 'beta' }));
    }
    expect(counts['held']).toBe(cases.length);
    for (const { held } of cases) if (held !== undefined) expect(await statusesOf(api, [held])).toEqual(['held']);
    for (const id of ids) expect((await api.call('show', { id })).result).toMatchObject({ status: 'held' });
    expect(await statusesOf(api, ['lesson/after-all', 'lesson/alpha-1', 'lesson/as-alpha'])).toEqual([
      'served',
      'served',
      'held',
    ]);
    expect(await ours.json('verify', '--deep')).toMatchObject({ ok: true });
    expect((await ours.ctl('log', 'beta')).code).toBe(0);
    await Promise.all([ours.stop(), theirs.stop()]);
  }, 60_000);

  test('a line whose own signature is bad and that a later one vouches for counts, is told, and cuts no export', async () => {
    const [ours, theirs] = [await copy(alpha), await copy(beta)];
    forgeLines(theirs.home, [{ body: rule(theirs, 'lesson/beta-5', 'badly signed') }]);
    forgeLines(theirs.home, [{ body: rule(theirs, 'lesson/beta-6', 'well signed') }]);
    const lines = readLogWithGit(theirs.home, 'beta');
    const sig = /"sig":"[^"]*"/;
    const bad = lines.map((line, at) => (at === 4 ? line.replace(sig, sig.exec(lines[0] ?? '')?.[0] ?? '') : line));
    replaceLog(theirs.home, 'beta', `${bad.join('\n')}\n`);
    await serveAs(theirs, beta);
    await ours.start();
    await ours.json('fetch', 'beta');
    expect((await ours.ctl('recall', 'lesson/beta-5')).code).toBe(0);
    const { root } = await ours.json<{ root: string }>('status');
    const { code, stdout } = await ours.ctl('verify', '--deep', '--json');
    expect({ code, said: JSON.parse(stdout) as unknown }).toMatchObject({
      code: 1,
      said: { root, problems: [expect.stringMatching(/^log beta line 5: .*only a later line vouches for it$/)] },
    });
    const exported = await ours.ctl('export', join(bench.folder(), 'export'), '--json');
    expect(JSON.parse(exported.stdout)).toMatchObject({ root, problems: [expect.stringContaining('log beta line 5')] });
    await Promise.all([ours.stop(), theirs.stop()]);
  }, 60_000);

  test('E7: a clock in 2082 wins nothing: a later correction of the same host stands, and the time is told as what it is', async () => {
    const [ours, theirs] = [await copy(alpha), await copy(beta)];
    const body = stamped(theirs.home, { ...claim('endpoint/db', '5432'), at: '2082-01-01T00:00:00.000Z' });
    const [wrong = ''] = forgeLines(theirs.home, [{ body }]);
    forgeLines(theirs.home, [{ body: stamped(theirs.home, { ...claim('endpoint/db', '6432'), supersedes: [wrong] }) }]);
    await serveAs(theirs, beta);
    await ours.start();
    await ours.json('fetch', 'beta');
    expect(await ours.json('recall', 'endpoint/db')).toMatchObject({ status: 'served', claim: { value: '6432' } });
    expect((await ours.ctl('log', 'endpoint/db')).stdout).toMatch(/claims 2082-01-01T00:00:00\.000Z, in the future/);
    // Against another host's claim the future is no argument either: both are parked.
    const [, other] = forgeLines((await stopped(theirs)).home, [
      { body: rule(theirs, 'lesson/filler', 'x') },
      { body: stamped(theirs.home, { ...claim('endpoint/cache', 'late'), at: '2082-01-01T00:00:00.000Z' }) },
    ]);
    expect(other).toMatch(/^[0-9a-f]{64}$/);
    await ours.json('assert', 'endpoint/cache', '--value', 'now', '--home', 'file:a.md');
    await serveAs(theirs, beta);
    await ours.json('fetch', 'beta');
    expect((await ours.ctl('recall', 'endpoint/cache')).code).toBe(3);
    const { line, warnings } = await ours.json<{ line: string; warnings: readonly string[] }>('status');
    expect(line).toContain('newest 0 min ago');
    expect(warnings.join('\n')).toMatch(/the newest line of beta claims 2082-01-01T00:00:00\.000Z, in the future/);
    await Promise.all([ours.stop(), theirs.stop()]);
  }, 60_000);
});

/** Starts a home at the address under which the mesh knows the host it is a copy of. */
async function serveAs(host: BenchHost, known: BenchHost): Promise<void> {
  await host.startAt(known.address);
}

async function stopped(host: BenchHost): Promise<BenchHost> {
  await host.stop();
  return host;
}

function claim(subject: string, value: string): Record<string, string> {
  return { kind: 'assert', subject, value, home: 'file:a.md' };
}

function rule(host: BenchHost, subject: string, content: string) {
  return stamped(host.home, { kind: 'lesson', subject, content });
}

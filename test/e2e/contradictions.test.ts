/** Two hosts that disagree, correct, withdraw and propose: what memctl says on both is the same, and it is loud. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { converge, formMesh } from '../../drills/lib/hosts.ts';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';
import { canonicalJson, type JsonObject } from '../../src/crypto/canonical.ts';
import { sha256Hex } from '../../src/crypto/hash.ts';
import { forgeLines, stamped } from '../lib/hosts-forge.ts';

const bench = openBench();
let alpha: BenchHost;
let beta: BenchHost;

beforeAll(async () => {
  [alpha, beta] = await Promise.all([bench.lay('alpha'), bench.lay('beta')]);
  await formMesh([alpha, beta]);
}, 60_000);

interface Recalled {
  readonly status: string;
  readonly claim?: { readonly id: string; readonly host: string; readonly value?: string; readonly content?: string };
  readonly claims?: readonly { readonly host: string; readonly value?: string; readonly status?: string }[];
}

/** Recall on both hosts, after both know the same; requires that they say the same. */
async function agreed(subject: string): Promise<{ code: number; answer: Recalled; said: string }> {
  await converge([alpha, beta]);
  const answers = await Promise.all(
    [alpha, beta].map(async (host) => {
      const { code, stdout } = await host.ctl('recall', subject, '--json');
      const { status, claim, claims = [] } = JSON.parse(stdout) as Recalled;
      return { code, answer: { status, claims, ...(claim === undefined ? {} : { claim }) } };
    }),
  );
  const [first] = answers;
  if (first === undefined) throw new Error('no answer');
  expect(answers[1]).toEqual(first);
  return { ...first, said: (await beta.ctl('recall', subject)).stdout };
}

const idOf = (body: JsonObject): string => sha256Hex(canonicalJson(body));

const say = (host: BenchHost, subject: string, value: string, ...more: string[]): Promise<{ id: string }> =>
  host.json('assert', subject, '--value', value, '--home-ref', 'file:a.md', ...more);

test('E1: two hosts name two ports at once: both are parked and shown, neither is current anywhere', async () => {
  await say(alpha, 'endpoint/db', '5432');
  await say(beta, 'endpoint/db', '6432');
  const { code, answer, said } = await agreed('endpoint/db');
  expect({ code, status: answer.status, claim: answer.claim }).toEqual({ code: 3, status: 'parked', claim: undefined });
  expect(answer.claims?.map(({ host, value }) => `${host}=${value}`).toSorted()).toEqual(['alpha=5432', 'beta=6432']);
  expect(said).toMatch(/^UNRESOLVED: endpoint\/db/);
  for (const host of [alpha, beta]) {
    const index = (await host.ctl('index')).stdout;
    expect(index).toContain('`endpoint/db`');
    expect(index).not.toMatch(/5432|6432/);
    expect((await host.ctl('parks', '--json')).stdout).toMatch(/5432.*6432|6432.*5432/);
    expect((await host.json<{ line: string }>('status')).line).toMatch(/1 parked/);
  }
  await beta.json('retract', 'endpoint/db', 'read from the wrong file');
  expect((await agreed('endpoint/db')).answer).toMatchObject({ status: 'served', claim: { value: '5432' } });
});

test('E2: another fact about the same thing retires nothing', async () => {
  await say(alpha, 'install/web1-server', 'nginx');
  await say(alpha, 'note/web1-rack', 'rack 4');
  await beta.json('lesson', 'lesson/web1', 'web1 is in rack 4 now, nginx or not');
  expect((await agreed('install/web1-server')).answer).toMatchObject({ status: 'served', claim: { value: 'nginx' } });
  expect((await agreed('note/web1-rack')).answer).toMatchObject({ status: 'served', claim: { value: 'rack 4' } });
});

test('E4: two claims of one instant are a tie in either order of their ids; only an explicit link ends it', async () => {
  await Promise.all([alpha, beta].map((host) => host.stop()));
  const at = '2026-11-30T12:00:00.000Z';
  const claim = (host: BenchHost, subject: string, value: string): JsonObject =>
    stamped(host.home, { kind: 'assert', subject, value, home: 'file:a.md', at });
  const subjects = [1, 2, 3, 4].map((n) => `note/tie-${n}`);
  const theirs = subjects.map((subject) => claim(beta, subject, 'b'));
  // The nonce is drawn until the ids are in the order that is wanted: first ours, then theirs, and so on.
  const ours = subjects.map((subject, n) => {
    for (;;) {
      const drawn = claim(alpha, subject, 'a');
      if (idOf(drawn) < idOf(theirs[n] ?? {}) === (n % 2 === 0)) return drawn;
    }
  });
  const [first = ''] = forgeLines(
    alpha.home,
    ours.map((body) => ({ body })),
  );
  forgeLines(
    beta.home,
    theirs.map((body) => ({ body })),
  );
  await Promise.all([alpha, beta].map((host) => host.start()));
  for (const subject of subjects) expect((await agreed(subject)).answer.status).toBe('parked');
  await say(alpha, 'note/tie-1', 'b', '--supersedes', first);
  expect((await agreed('note/tie-1')).answer).toMatchObject({ status: 'served', claim: { value: 'b' } });
}, 60_000);

test('E5: what was superseded is not current, and says by what; both ids are named', async () => {
  const { id: old } = await say(alpha, 'endpoint/grafana', 'nas:3000');
  await converge([alpha, beta]);
  const { id: next } = await say(alpha, 'endpoint/grafana', 'nas2:3000', '--supersedes', old);
  expect((await agreed('endpoint/grafana')).answer).toMatchObject({
    status: 'served',
    claim: { id: next, value: 'nas2:3000' },
  });
  expect(await beta.json('show', old)).toMatchObject({ status: 'superseded', supersededBy: [next] });
  const { stdout } = await beta.ctl('log', 'endpoint/grafana');
  expect(stdout).toContain(old.slice(0, 12));
  expect(stdout).toContain('superseded');
  for (const host of [alpha, beta]) expect((await host.ctl('index')).stdout).not.toContain('nas:3000');
});

test('E8: a retraction survives a rebuild, an old export and a late edit; nothing withdrawn comes back by itself', async () => {
  const claimed = JSON.stringify({ kind: 'assert', subject: 'capability/gpu', value: 'yes', home: 'file:a.md' });
  const file = join(bench.folder(), 'old.jsonl');
  writeFileSync(file, `${claimed}\n`);
  await alpha.json('import', file);
  await converge([alpha, beta]);
  await alpha.json('retract', 'capability/gpu', 'sold');
  // Beta has not heard of that and says it again, later by its own clock.
  await say(beta, 'capability/gpu', 'yes', '--confidence', 'verified');
  const both = await agreed('capability/gpu');
  expect(both.answer).toMatchObject({ status: 'served', claim: { host: 'beta' } });
  await beta.json('retract', 'capability/gpu');
  expect(await agreed('capability/gpu')).toMatchObject({ code: 7, answer: { status: 'retracted' } });
  expect(await alpha.json('import', file)).toMatchObject({ new: 0, unchanged: 1 });
  await alpha.json('rebuild');
  expect(await agreed('capability/gpu')).toMatchObject({ code: 7, answer: { status: 'retracted' } });
  // That it is gone is a claim of its own: against it a late edit is parked.
  await alpha.json('assert', 'capability/gpu', '--value', 'yes', '--polarity', 'absent', '--home-ref', 'file:a.md');
  await say(beta, 'capability/gpu', 'yes');
  expect(await agreed('capability/gpu')).toMatchObject({ code: 3, answer: { status: 'parked' } });
}, 40_000);

test('E11: a proposal has no effect: what it would replace governs on', async () => {
  await beta.json('lesson', 'lesson/deploys', 'deploy on Mondays');
  await converge([alpha, beta]);
  const governing = (await agreed('lesson/deploys')).answer.claim?.id ?? '';
  const proposal = { kind: 'propose', proposes: 'lesson', subject: 'lesson/deploys', content: 'deploy at any time' };
  await alpha.append(JSON.stringify({ ...proposal, supersedes: [governing] }));
  expect((await agreed('lesson/deploys')).answer).toMatchObject({
    status: 'served',
    claim: { id: governing, content: 'deploy on Mondays' },
  });
  await alpha.append(
    JSON.stringify({ kind: 'propose', proposes: 'lesson', subject: 'lesson/new', content: 'only proposed' }),
  );
  const { code, said } = await agreed('lesson/new');
  expect(code).toBe(7);
  expect(said).toMatch(/^NOT FOUND: nothing is claimed about lesson\/new; .*memctl log lesson\/new/);
  expect((await beta.ctl('index')).stdout).not.toContain('only proposed');
});

test('a question makes a subject undecided on every host until its own host closes it', async () => {
  const { id } = await beta.json<{ id: string }>('question', 'project/move', 'does it move with the rack?');
  expect(await agreed('project/move')).toMatchObject({ code: 3, answer: { status: 'undecided' } });
  await alpha.json('question', 'project/move', 'closed', '--supersedes', id);
  expect((await agreed('project/move')).answer.status).toBe('undecided');
});

test('roots and view files are equal on both at the end, whatever was said', async () => {
  await converge([alpha, beta]);
  const roots = await Promise.all(
    [alpha, beta].map(async (host) => (await host.json<{ root: string }>('verify', '--deep')).root),
  );
  expect(new Set(roots).size).toBe(1);
  for (const name of ['INDEX.md', 'index.json', 'CONFLICTS.md', 'QUARANTINE.md', 'STALE.md']) {
    const [ours, theirs] = [alpha, beta].map((host) => readFileSync(join(host.home, 'views', 'operator', name)));
    expect(ours?.equals(theirs ?? Buffer.alloc(0))).toBe(true);
  }
});

/** `memctl doctor --repair` in a mesh: what is nowhere here any more comes from peers, and what nobody answers for waits. */
import { cpSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { converge, enrol } from '../../drills/lib/hosts.ts';
import { branchFile, emptyObjects, gitIn, objectFile, removeCopies } from '../lib/damage.ts';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';

const bench = openBench();
let alpha: BenchHost;
let beta: BenchHost;
let sound: string;
let root: string;

interface Repaired {
  readonly repaired: { what: string; detail: string }[];
  readonly left: { what: string; detail: string; fix: string }[];
}

/** Alpha runs; beta does not, and both hold five lines of alpha and four of beta, each in a commit of its own. */
beforeAll(async () => {
  [alpha, beta] = [await bench.lay('alpha'), await bench.lay('beta')];
  sound = join(bench.folder(), 'sound');
  const { mesh } = await alpha.json<{ mesh: string }>('init', '--host', 'alpha', '--listen', alpha.address);
  await alpha.start();
  await enrol(alpha, beta, mesh);
  for (let n = 1; n <= 5; n += 1) await alpha.json('lesson', `lesson/a${n}`, 'x');
  await beta.start();
  for (let n = 1; n <= 4; n += 1) await beta.json('lesson', `lesson/b${n}`, 'x');
  await converge([alpha, beta]);
  await beta.stop();
  root = (await alpha.json<{ root: string }>('status')).root;
  cpSync(beta.home, sound, { recursive: true });
}, 90_000);

function restore(): void {
  rmSync(beta.home, { recursive: true });
  cpSync(sound, beta.home, { recursive: true });
}

async function repair(...args: string[]): Promise<Repaired> {
  return JSON.parse((await beta.ctl('doctor', '--repair', ...args, '--json')).stdout) as Repaired;
}

async function requireWhole(done: Repaired): Promise<void> {
  expect(done.left).toEqual([]);
  const heads = { alpha: { lines: 5 }, beta: { lines: 4 } };
  expect(await beta.json('verify', '--deep')).toMatchObject({ ok: true, root, logs: heads });
  expect(gitIn(beta.home, 'fsck', '--strict', '--full', '--no-dangling')).toBe('');
}

const damages: [string, () => void][] = [
  [
    'its own log, every object and the branch',
    () => (emptyObjects(beta.home, 'log/beta'), writeFileSync(branchFile(beta.home, 'log/beta'), '')),
  ],
  ['the log of another host, every object', () => emptyObjects(beta.home, 'log/alpha')],
  ['the trust set, every object', () => emptyObjects(beta.home, 'trust')],
  [
    'everything that git holds',
    () => ['log/alpha', 'log/beta', 'trust', 'view/alpha'].forEach((name) => emptyObjects(beta.home, name)),
  ],
  ['repo.git itself', () => rmSync(beta.repository, { recursive: true })],
  ['history that no line needs', () => truncateSync(objectFile(beta.home, 'log/beta~3'), 0)],
];

test.each(damages)(
  'B1: %s comes back from a peer, without any plain copy, and work goes on',
  { timeout: 60_000 },
  async (_what, damage) => {
    restore();
    removeCopies(beta.home);
    damage();
    await requireWhole(await repair());
    expect(await beta.json('lesson', 'lesson/after', 'x')).toMatchObject({ seq: 5 });
  },
);

test(
  'no peer answers: what they may hold is waited for, and nothing takes its number',
  { timeout: 90_000 },
  async () => {
    restore();
    removeCopies(beta.home);
    emptyObjects(beta.home, 'log/beta');
    await alpha.stop();
    const done = await repair();
    expect(done.left).toMatchObject([
      { what: 'lines', fix: expect.stringContaining('start memd on alpha') as unknown },
    ]);
    expect(await beta.refused(1, ['lesson', 'lesson/x', 'x'])).toMatchObject({
      code: expect.stringMatching(/DAMAGED|REWOUND/) as unknown,
    });
    await alpha.start();
    await requireWhole(await repair());
  },
);

test('peers that answer and hold less are no proof that there was no more', { timeout: 90_000 }, async () => {
  restore();
  await beta.json('lesson', 'lesson/unheard', 'x', '--offline');
  removeCopies(beta.home);
  rmSync(objectFile(beta.home, 'log/beta'));
  for (const name of ['last-heads.json', 'journal.jsonl', 'repo.git/refs/heads/view/beta'])
    rmSync(join(beta.home, name));
  for (const _ of [1, 2])
    expect((await repair()).left).toMatchObject([
      { what: 'lines', fix: expect.stringContaining('no peer that was asked holds it') as unknown },
    ]);
  expect(await beta.refused(1, ['lesson', 'lesson/x', 'x'])).toMatchObject({ code: 'BRANCH_REWOUND' });
});

test(
  "B8: another host's branch that a hand moved under a running memd comes back with the next fetch",
  { timeout: 60_000 },
  async () => {
    restore();
    await beta.start();
    await beta.json('fetch');
    writeFileSync(branchFile(beta.home, 'log/alpha'), `${gitIn(beta.home, 'rev-parse', 'log/alpha~2')}\n`);
    await alpha.json('lesson', 'lesson/a6', 'x');
    expect(await beta.json('fetch')).toMatchObject([{ peer: 'alpha', state: 'up' }]);
    expect(gitIn(beta.home, 'rev-parse', 'log/alpha')).toBe(gitIn(alpha.home, 'rev-parse', 'log/alpha'));
    expect(await beta.json('recall', 'lesson/a6')).toMatchObject({ status: 'served' });
    expect(await beta.json('verify', '--deep')).toMatchObject({ ok: true });
    await beta.stop();
  },
);

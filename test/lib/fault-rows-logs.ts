/** Rows of the fault table: everything that is written into the repository. */
import fs from 'node:fs';
import path from 'node:path';
import { forkBranchesMax } from '../../src/core/limits.ts';
import type { Line } from '../../src/core/line.ts';
import { openQuarantine, startIntake } from '../../src/mesh/fetch/quarantine.ts';
import { takeOver } from '../../src/mesh/fetch/take-over.ts';
import { keepBranch, listBranches, purgeBranches } from '../../src/store/logs/fork-branches.ts';
import { dropUnreachable } from '../../src/store/git/drop-unreachable.ts';
import { packObjects } from '../../src/store/git/maintenance.ts';
import { mergePacks, packLoose } from '../../src/store/git/repack.ts';
import { encodeObject } from '../../src/store/git/object-id.ts';
import { writeObjects } from '../../src/store/git/objects.ts';
import { compareAndSwapRef, logRef, readRef } from '../../src/store/git/refs.ts';
import { initRepository, openRepository, runGit, type Repository } from '../../src/store/git/repository.ts';
import { salvagePack } from '../../src/store/git/salvage.ts';
import { openReader } from '../../src/store/git/reader.ts';
import type { Home } from '../../src/store/home/home.ts';
import { restoreLog } from '../../src/store/logs/log-salvage.ts';
import { cutLog, rewriteLog } from '../../src/store/logs/log-rewrite.ts';
import { createLogStore, readLog } from '../../src/store/logs/log-store.ts';
import { addTrustOps, readTrust } from '../../src/store/trust-store.ts';
import { openViewWriter, readNotes, readViewLines } from '../../src/store/logs/view-journal.ts';
import { bodyOf, lessons, logOf, mesh } from './events.ts';
import type { FaultRow, Found } from './fault-rows.ts';
import { testLines } from './store-lines.ts';
import { viewLines, viewMesh } from './view-lines.ts';

const repositoryOf = (home: Home): Repository => openRepository(home.repository);

/** A repository with so many lines in log alpha. */
const withLines =
  (count: number) =>
  async (home: Home): Promise<void> => {
    const repository = await initRepository(home.repository, { host: 'alpha' });
    const store = createLogStore({ repository, meshId: mesh });
    if (count > 0) await (await store.openWriter('alpha')).append(testLines(1, count));
  };

/** Exactly the first lines: `old` of them, or `now`. */
const linesAre =
  (old: number, now: number) =>
  async (home: Home): Promise<Found> => {
    const { lines } = await readLog(repositoryOf(home), 'alpha');
    const wanted = testLines(1, lines.length).map((line) => line.text);
    if (lines.length !== old && lines.length !== now) throw new Error(`${lines.length} lines`);
    if (!lines.every((line, index) => line === wanted[index])) throw new Error('a line is not what was written');
    return lines.length === now ? 'new' : 'old';
  };

/** Appends lines up to `total`; nothing where they are there: a failed append may have persisted. */
async function appendUpTo(home: Home, total: number, bulk: boolean): Promise<void> {
  const repository = repositoryOf(home);
  const { lines } = await readLog(repository, 'alpha');
  if (lines.length === total) return;
  const writer = await createLogStore({ repository, meshId: mesh }).openWriter('alpha');
  const added = testLines(lines.length + 1, total - lines.length);
  if (bulk) await writer.appendBulk([added]);
  else await writer.append(added);
}

const appendRows: readonly FaultRow[] = [
  {
    name: 'the first append of a log',
    before: withLines(0),
    write: (home) => appendUpTo(home, 1, false),
    find: linesAre(0, 1),
    durable: true,
  },
  {
    name: 'an append that fills a segment and begins another',
    before: withLines(26),
    write: (home) => appendUpTo(home, 31, false),
    find: linesAre(26, 31),
    durable: true,
  },
  {
    name: 'a bulk append',
    before: withLines(3),
    write: (home) => appendUpTo(home, 203, true),
    find: linesAre(3, 203),
    durable: true,
    step: 2,
  },
];

const secret = 'the-word-that-must-go';
const secretLines: readonly Line[] = logOf([
  ...lessons(2),
  bodyOf({ kind: 'lesson', subject: 'lesson/secret', content: secret }, 999),
]);
const secretId = secretLines[2]?.id ?? '';

async function withSecret(home: Home): Promise<void> {
  const repository = await initRepository(home.repository, { host: 'alpha' });
  await (await createLogStore({ repository, meshId: mesh }).openWriter('alpha')).append(secretLines);
}

async function secretIsOut(home: Home): Promise<Found> {
  const { lines } = await readLog(repositoryOf(home), 'alpha');
  if (lines.length !== secretLines.length) throw new Error(`${lines.length} lines`);
  return lines.some((line) => typeof line === 'string' && line.includes(secret)) ? 'old' : 'new';
}

const rewriteOf = (home: Home) => ({
  repository: repositoryOf(home),
  host: 'alpha',
  meshId: mesh,
  purged: new Set([secretId]),
});

const rewriteRows: readonly FaultRow[] = [
  {
    name: 'a log rewritten with holes',
    before: withSecret,
    write: (home) => rewriteLog(rewriteOf(home)),
    find: secretIsOut,
    durable: true,
    step: 2,
  },
  {
    name: 'a log cut to its first lines',
    before: withLines(5),
    write: (home) => cutLog({ ...rewriteOf(home), purged: new Set() }, 2),
    find: linesAre(5, 2),
    durable: true,
    step: 2,
  },
  {
    name: 'a log cut to nothing',
    before: withLines(5),
    write: (home) => cutLog({ ...rewriteOf(home), purged: new Set() }, 0),
    find: linesAre(5, 0),
    durable: true,
  },
  {
    name: 'a log restored from lines',
    before: withLines(5),
    write: (home) => {
      const lines = testLines(1, 9).map(({ text }) => text);
      return restoreLog({ repository: repositoryOf(home), host: 'alpha', meshId: mesh, lines });
    },
    find: linesAre(5, 9),
    durable: true,
    step: 2,
  },
];

const opOf = (digit: string): { id: string; text: string } => ({ id: digit.repeat(64), text: `{"op":"${digit}"}` });
const trusted = { author: 'memd <a@b>', seconds: 1 };

const trustRow: FaultRow = {
  name: 'a trust op',
  async before(home) {
    await addTrustOps(await initRepository(home.repository, { host: 'alpha' }), { ...trusted, ops: [opOf('a')] });
  },
  write: (home) => addTrustOps(repositoryOf(home), { ...trusted, ops: [opOf('a'), opOf('b')] }),
  async find(home) {
    const { ops } = await readTrust(repositoryOf(home));
    const ids = ops.map(({ id }) => id.slice(0, 1)).join('');
    if (ids !== 'a' && ids !== 'ab') throw new Error(`ops ${ids}`);
    return ids === 'ab' ? 'new' : 'old';
  },
  durable: true,
};

const [firstView, secondView] = viewLines('alpha', 2);

async function viewWriter(home: Home): ReturnType<typeof openViewWriter> {
  return openViewWriter({ repository: repositoryOf(home), host: 'alpha', meshId: viewMesh });
}

async function withView(home: Home): Promise<void> {
  await initRepository(home.repository, { host: 'alpha' });
  if (firstView !== undefined) await (await viewWriter(home)).append(firstView);
}

const viewRows: readonly FaultRow[] = [
  {
    name: 'a line of the view journal',
    before: withView,
    async write(home) {
      const writer = await viewWriter(home);
      if (writer.newest()?.n === 1 && secondView !== undefined) await writer.append(secondView);
    },
    async find(home) {
      const held: number[] = [];
      for await (const line of readViewLines(repositoryOf(home), 'alpha')) held.push(line.n);
      if (held.join() !== '1' && held.join() !== '2,1') throw new Error(`lines ${held.join()}`);
      return held.length === 2 ? 'new' : 'old';
    },
    durable: true,
  },
  {
    name: 'the notes beside the view journal',
    before: withView,
    write: async (home) => (await viewWriter(home)).writeNotes('told\n'),
    async find(home) {
      const notes = await readNotes(repositoryOf(home), 'alpha');
      if (notes !== null && notes !== 'told\n') throw new Error(`notes ${String(notes)}`);
      return notes === null ? 'old' : 'new';
    },
    durable: true,
    step: 2,
  },
];

const branchOf = (from: number): readonly Line[] => secretLines.slice(from);
const purged = { meshId: mesh, purged: new Set([secretId]) };

const forkRows: readonly FaultRow[] = [
  {
    name: 'the other side of a fork',
    write: (home) => keepBranch(home, branchOf(1)),
    find: (home) => branchState(home, 0),
    durable: true,
  },
  {
    name: 'a longer side of a fork in the place of a shorter one',
    before: (home) => keepBranch(home, branchOf(1).slice(0, 1)),
    write: (home) => keepBranch(home, branchOf(1)),
    find: (home) => branchState(home, 1),
    durable: true,
  },
  {
    name: 'a purge in the branches that are kept',
    before: (home) => keepBranch(home, branchOf(1)),
    write: (home) => purgeBranches(home, purged),
    find(home) {
      const [branch] = listBranches(home, 'alpha');
      if (branch?.lines.length !== 2) throw new Error('the branch is not whole');
      return branch.lines.some((line) => line.includes(secret)) ? 'old' : 'new';
    },
    durable: true,
  },
];

function branchState(home: Home, before: number): Found {
  const branches = listBranches(home, 'alpha');
  const count = branches[0]?.lines.length ?? 0;
  if (branches.length > forkBranchesMax || (count !== before && count !== 2)) throw new Error(`${count} lines`);
  return count === 2 ? 'new' : 'old';
}

/** A pack as a peer sends it, beside the repository that is to take it in. */
async function withPack(home: Home): Promise<void> {
  await withLines(3)(home);
  const peer = path.join(home.dir, 'peer.git');
  const theirs = await initRepository(peer, { host: 'alpha' });
  const store = createLogStore({ repository: theirs, meshId: mesh });
  await (await store.openWriter('alpha')).append(testLines(1, 40));
  const { stdout } = await runGit(theirs, { args: ['pack-objects', '-q', '--all', '--stdout'], input: '' });
  fs.writeFileSync(path.join(home.dir, 'peer.pack'), stdout);
  fs.writeFileSync(path.join(home.dir, 'peer.tip'), readRef(theirs, logRef('alpha')) ?? '');
  fs.rmSync(peer, { recursive: true });
}

async function takeIn(home: Home): Promise<void> {
  const repository = repositoryOf(home);
  const next = fs.readFileSync(path.join(home.dir, 'peer.tip'), 'utf8');
  const quarantine = openQuarantine(repository);
  try {
    const intake = startIntake(quarantine, 'pack', { bytesMax: 1_000_000, objectsMax: 1_000 });
    try {
      // What it comes without, as where a history comes in rounds.
      intake.cutAt(next);
    } catch (error) {
      intake.kill();
      await intake.done.catch(() => undefined);
      throw error;
    }
    intake.stdin.end(fs.readFileSync(path.join(home.dir, 'peer.pack')));
    const judged = await intake.done;
    if (!judged.ok) throw new Error(judged.detail);
    await takeOver(repository, quarantine, { commits: [next], base: undefined });
    await compareAndSwapRef(repository, { ref: logRef('alpha'), expected: undefined, next });
  } finally {
    quarantine.remove();
  }
}

const intakeRow: FaultRow = {
  name: 'a pack of a peer',
  before: withPack,
  write: takeIn,
  find: linesAre(3, 40),
  durable: true,
  step: 2,
};

async function withLoose(home: Home): Promise<void> {
  await withLines(0)(home);
  for (let total = 1; total <= 6; total += 1) await appendUpTo(home, total, false);
}

const stray = encodeObject('blob', Buffer.from('nothing reaches this\n'));

const schedule = { signal: new AbortController().signal, commitsMax: 1_000 };

const maintenanceRows: readonly FaultRow[] = [
  {
    name: 'what is good in a damaged pack',
    before: async (home) => {
      await withLines(6)(home);
      await packObjects(repositoryOf(home));
    },
    write(home) {
      const folder = path.join(home.repository, 'objects', 'pack');
      const pack = fs.readdirSync(folder).find((name) => name.endsWith('.pack')) ?? '';
      return salvagePack(repositoryOf(home), { file: path.join(folder, pack), index: null });
    },
    find: linesAre(6, 6),
    durable: true,
    step: 2,
  },
  {
    name: 'the loose objects of new commits packed on schedule',
    before: withLoose,
    write: (home) => packLoose(repositoryOf(home), {}, schedule),
    find: linesAre(6, 6),
    durable: true,
    // Every removal of a loose file is one operation.
    step: 7,
  },
  {
    name: 'packs merged on schedule',
    before: async (home) => {
      await withLines(2)(home);
      await packObjects(repositoryOf(home));
      await appendUpTo(home, 4, false);
      await packObjects(repositoryOf(home));
      await appendUpTo(home, 6, false);
    },
    write: (home) => mergePacks(repositoryOf(home), { tips: {}, packs: [] }, schedule),
    find: linesAre(6, 6),
    durable: true,
    step: 3,
  },
  {
    name: 'packing',
    before: withLoose,
    write: (home) => packObjects(repositoryOf(home)),
    find: linesAre(6, 6),
    durable: true,
  },
  {
    name: 'dropping what no branch reaches',
    before: async (home) => {
      await withLines(2)(home);
      await packObjects(repositoryOf(home));
      await appendUpTo(home, 6, false);
      await writeObjects(repositoryOf(home), [stray]);
      fs.mkdirSync(path.join(home.repository, 'objects', 'pack', 'a-folder'));
    },
    step: 4,
    write: (home) => dropUnreachable(repositoryOf(home)),
    async find(home) {
      await linesAre(6, 6)(home);
      const reader = openReader(repositoryOf(home));
      try {
        const [answer] = await reader.read([stray.oid], { type: 'blob', bytesMax: 1_000 });
        return answer?.ok === true ? 'old' : 'new';
      } finally {
        await reader.close();
      }
    },
    durable: true,
  },
];

const initRow: FaultRow = {
  name: 'a new repository',
  write: (home) => initRepository(home.repository, { host: 'alpha' }),
  find(home) {
    if (!fs.existsSync(path.join(home.repository, 'config'))) return 'old';
    return fs.readFileSync(path.join(home.repository, 'config'), 'utf8').includes('fsckObjects') ? 'new' : 'between';
  },
  durable: true,
  mayBeBetween: true,
};

export const repositoryRows: readonly FaultRow[] = [
  initRow,
  ...appendRows,
  ...rewriteRows,
  trustRow,
  ...viewRows,
  ...forkRows,
  intakeRow,
  ...maintenanceRows,
];

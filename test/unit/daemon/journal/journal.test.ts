/** When a view line is written, and what it says: over a real repository, with a clock that is set by hand. */
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { viewLineCalmMs, viewLineMinMs } from '../../../../src/core/limits.ts';
import { publicKeyOf } from '../../../../src/crypto/ed25519.ts';
import { sha256Hex } from '../../../../src/crypto/hash.ts';
import { judgeViewLine, type ViewLine } from '../../../../src/core/view-line.ts';
import { createJournal, type Journal, type JournalOptions } from '../../../../src/daemon/journal/journal.ts';
import type { FoldListener } from '../../../../src/daemon/beliefs/beliefs.ts';
import type { ObjectGate } from '../../../../src/mesh/object-gate.ts';
import { realDisk } from '../../../../src/store/disk.ts';
import { OperatingError } from '../../../../src/store/errors.ts';
import { readFineLines } from '../../../../src/store/logs/fine-journal.ts';
import { initRepository, type Repository } from '../../../../src/store/git/repository.ts';
import { homePaths } from '../../../../src/store/home/home.ts';
import { readViewLines } from '../../../../src/store/logs/view-journal.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';
import { viewKey } from '../../../lib/view-lines.ts';
import { viewMesh } from '../../../lib/view-mesh.ts';

const hastyDisk = { ...realDisk, syncFile: () => Promise.resolve(), syncDirectory: () => Promise.resolve() };
const host = 'alpha';
/** Lines of the mesh are folded without links. */
const linkOf = (seq: number): string => sha256Hex(`link ${seq}`);
const keys = [publicKeyOf(viewKey(host))];

interface Bench {
  readonly journal: Journal;
  /** Says something, and tells the journal of it. */
  say(subject: string, value: string): void;
  /** Time passes, and what is under way afterwards comes to its end. */
  pass(ms: number): Promise<void>;
  /** Published lines, oldest first. */
  lines(): Promise<readonly ViewLine[]>;
  fine(): number;
  fault: OperatingError | undefined;
  /** Where last-heads.json saw the journal. */
  seen: { readonly n: number; readonly hash: string } | undefined;
}

interface World {
  readonly dir: string;
  readonly repository: Repository;
  readonly mesh: ReturnType<typeof viewMesh>;
  /** Milliseconds since ten o'clock. */
  at: number;
}

/** Work that waits for its time. */
interface Due {
  readonly at: number;
  readonly work: () => void;
}

async function newWorld(): Promise<World> {
  const dir = temporaryFolder();
  const repository = await initRepository(path.join(dir, 'repo.git'), { host, disk: hastyDisk });
  return { dir, repository, mesh: viewMesh(), at: 0 };
}

/** Everything that is under way has come to its end, and what follows from it has been asked for. */
async function settled(under: readonly Promise<unknown>[]): Promise<void> {
  for (let done = -1; done < under.length;) {
    done = under.length;
    await Promise.all(under);
    await new Promise(setImmediate);
  }
}

/** A process that opens the home. */
function openBench(world: World, options: Partial<JournalOptions> = {}): Bench {
  const { dir, repository, mesh } = world;
  let timers: Due[] = [];
  const under: Promise<unknown>[] = [];
  const gate: ObjectGate = {
    use: (work) => {
      const done = work();
      under.push(done.catch(() => undefined));
      return done;
    },
    alone: (work) => work(),
    isClosed: () => false,
    onClose: () => () => undefined,
    onOpen: () => () => undefined,
  };
  const listeners: FoldListener[] = [];
  const home = homePaths(dir);
  const head = (): ReturnType<JournalOptions['beliefs']['book']['head']> => {
    const last = mesh.lines.at(-1);
    return last === undefined ? undefined : { oid: '0'.repeat(40), seq: last.seq, link: linkOf(last.seq) };
  };
  const book = { logs: () => (mesh.lines.length === 0 ? [] : [host]), head };
  const beliefs: JournalOptions['beliefs'] = {
    fold: () => Promise.resolve(mesh.fold),
    book,
    onChanged: (listener) => void listeners.push(listener),
    viewCache: () => new Map(),
    headsFault: () => bench.fault,
    lastView: () => bench.seen,
  };
  const { meshId } = mesh.fold.charter;
  const time: Partial<JournalOptions> = {
    clock: () => world.at,
    now: () => new Date(Date.UTC(2026, 6, 27, 10) + world.at),
    after(ms, work) {
      const due = { at: world.at + ms, work };
      timers.push(due);
      return () => void (timers = timers.filter((other) => other !== due));
    },
  };
  const usual = { home, host, meshId, repository, key: () => viewKey(host), beliefs, gate, log: undefined, ...time };
  const journal = createJournal({ ...usual, isEnrolled: () => true, isPurged: () => true, daemon: true, ...options });
  const bench: Bench = {
    journal,
    fault: undefined,
    seen: undefined,
    say(subject, value) {
      mesh.say(host, { kind: 'assert', subject, value, home: 'file:x' });
      mesh.settle();
      for (const listener of listeners) listener('all');
    },
    async pass(ms) {
      const end = world.at + ms;
      for (;;) {
        await Promise.all(under);
        const next = timers.toSorted((left, right) => left.at - right.at)[0];
        if (next === undefined || next.at > end) break;
        timers = timers.filter((other) => other !== next);
        world.at = Math.max(world.at, next.at);
        next.work();
        await settled(under);
      }
      world.at = end;
    },
    async lines() {
      const lines: ViewLine[] = [];
      for await (const line of readViewLines(repository, host)) lines.unshift(line);
      return lines;
    },
    fine: () => [...readFineLines(home)].length,
  };
  return bench;
}

describe('the view journal', () => {
  test('says what is believed, signed and chained, dated by the change and not by the writing', async () => {
    const world = await newWorld();
    const bench = openBench(world);
    bench.journal.open();
    bench.say('ssh-route/mini', 'bastion');
    await bench.pass(5_000);
    bench.say('ssh-route/mini', 'direct');
    await bench.pass(5_000);
    const [first, second, ...more] = await bench.lines();
    if (first === undefined || second === undefined) throw new Error('two lines');
    expect(more).toEqual([]);
    expect([first.at, second.at]).toEqual(['2026-07-27T10:00:00.000Z', '2026-07-27T10:00:05.000Z']);
    expect([...second.heads]).toEqual([[host, { seq: 2, link: linkOf(2) }]]);
    expect([...second.views.keys()]).toEqual(['all', 'operator', 'web']);
    const { meshId } = world.mesh.fold.charter;
    expect(judgeViewLine(first, { host, mesh: meshId, before: null, keys })).toEqual({ ok: true, value: 0 });
    expect(judgeViewLine(second, { host, mesh: meshId, before: first, keys })).toEqual({ ok: true, value: 0 });
  });

  test('is written at once for a park, else a minute after the last line; the fine journal has every second', async () => {
    const bench = openBench(await newWorld());
    bench.journal.open();
    bench.say('ssh-route/a', 'one');
    await bench.pass(1_500);
    expect(await bench.lines()).toHaveLength(1);
    for (let n = 0; n < 3; n += 1) {
      bench.say(`ssh-route/b${n}`, 'one');
      await bench.pass(1_500);
    }
    expect(await bench.lines()).toHaveLength(1);
    expect(bench.fine()).toBe(4);
    await bench.pass(viewLineCalmMs);
    const lines = await bench.lines();
    expect(lines.map(({ heads }) => heads.get(host)?.seq)).toEqual([1, 4]);
    bench.say('ssh-route/a', 'two');
    await bench.pass(1_100);
    expect(await bench.lines()).toHaveLength(3);
  });

  test('has at most one line a second, however much changes', async () => {
    const bench = openBench(await newWorld());
    bench.journal.open();
    await bench.pass(0);
    for (let n = 0; n < 20; n += 1) {
      bench.say(`ssh-route/a${n >> 1}`, `value ${n}`);
      await bench.pass(100);
    }
    await bench.pass(viewLineMinMs);
    const lines = await bench.lines();
    expect(lines.length).toBeLessThanOrEqual(4);
    expect(lines.at(-1)?.heads.get(host)?.seq).toBe(20);
    const counted = bench.fine();
    // Publishing is no change.
    await bench.pass(10 * viewLineCalmMs);
    expect([await bench.lines(), bench.fine()]).toEqual([lines, counted]);
  });

  test('publishes nothing before peers have said what they hold of it', async () => {
    const bench = openBench(await newWorld());
    bench.say('ssh-route/a', 'one');
    await bench.pass(2 * viewLineCalmMs);
    expect([await bench.lines(), bench.fine()]).toEqual([[], 1]);
    bench.journal.open();
    await bench.pass(viewLineMinMs);
    expect(await bench.lines()).toHaveLength(1);
  });

  test('that holds less than it did is a fault until it has gone on from what peers could give back', async () => {
    const world = await newWorld();
    const before = openBench(world);
    before.journal.open();
    before.say('ssh-route/a', 'one');
    await before.pass(viewLineMinMs);
    const restored = openBench(world);
    restored.seen = { n: 9, hash: 'f'.repeat(64) };
    await restored.journal.load();
    const kinds = (): readonly string[] => restored.journal.faults().map(({ kind }) => kind);
    restored.say('ssh-route/a', 'two');
    await restored.pass(2 * viewLineCalmMs);
    expect([kinds(), restored.journal.ownTip()?.hasGoneOn]).toEqual([['VIEW_REWOUND'], false]);
    restored.journal.open();
    await restored.pass(viewLineCalmMs);
    expect(await restored.lines()).toHaveLength(2);
    expect([kinds(), restored.journal.ownTip()?.hasGoneOn]).toEqual([[], true]);
  });

  test('publishes nothing while something that is purged is still in the home, since a line says that it is not', async () => {
    const home = { isPurged: false };
    const bench = openBench(await newWorld(), { isPurged: () => home.isPurged });
    bench.journal.open();
    bench.say('ssh-route/a', 'one');
    await bench.journal.publish();
    await bench.pass(2 * viewLineCalmMs);
    expect([await bench.lines(), bench.fine()]).toEqual([[], 1]);
    home.isPurged = true;
    await bench.journal.publishOnceOpen();
    expect(await bench.lines()).toHaveLength(1);
  });

  test('goes on after a crash: what was not said is said by the next process, and nothing twice', async () => {
    const world = await newWorld();
    const first = openBench(world);
    first.journal.open();
    first.say('ssh-route/a', 'one');
    await first.pass(1_500);
    // The line of this event is lost with the process.
    first.say('ssh-route/b', 'one');
    const second = openBench(world);
    second.journal.open();
    await second.pass(1_500);
    expect((await second.lines()).map(({ n, heads }) => [n, heads.get(host)?.seq])).toEqual([
      [1, 1],
      [2, 2],
    ]);
    const third = openBench(world);
    third.journal.open();
    await third.pass(viewLineCalmMs);
    expect(await third.lines()).toHaveLength(2);
    expect(third.journal.tips.get(host)?.n).toBe(2);
  });

  test('without memd has one line at the end of a process that changed something', async () => {
    const world = await newWorld();
    const reader = openBench(world, { daemon: false });
    await reader.journal.close();
    expect(await reader.lines()).toEqual([]);
    const appender = openBench(world, { daemon: false });
    appender.say('ssh-route/a', 'one');
    appender.say('ssh-route/a', 'two');
    await appender.pass(viewLineCalmMs);
    expect(await appender.lines()).toEqual([]);
    await appender.journal.close();
    expect((await appender.lines()).map(({ heads }) => heads.get(host)?.seq)).toEqual([2]);
  });

  test('is silent while the home is rewound, and tries again', async () => {
    const bench = openBench(await newWorld());
    bench.fault = new OperatingError('BRANCH_REWOUND', 'log alpha');
    bench.journal.open();
    bench.say('ssh-route/a', 'one');
    await bench.pass(10 * viewLineMinMs);
    expect(await bench.lines()).toEqual([]);
    bench.fault = undefined;
    await bench.pass(viewLineCalmMs);
    expect(await bench.lines()).toHaveLength(1);
  });

  test('takes notes before it has a line, by writing one', async () => {
    const bench = openBench(await newWorld());
    expect(await bench.journal.readNotes(host)).toBeUndefined();
    bench.say('ssh-route/a', 'one');
    await bench.journal.writeNotes('told');
    expect(await bench.lines()).toHaveLength(1);
    expect(await bench.journal.readNotes(host)).toBe('told');
  });

  test('keeps notes until it may begin, and has the newest of them with its first line', async () => {
    const bench = openBench(await newWorld(), { hasPeers: () => true });
    bench.say('ssh-route/a', 'one');
    await bench.journal.writeNotes('too old');
    await bench.journal.writeNotes('told');
    expect(await bench.journal.readNotes(host)).toBeUndefined();
    bench.journal.open();
    await bench.pass(viewLineCalmMs);
    expect(await bench.lines()).toHaveLength(1);
    expect(await bench.journal.readNotes(host)).toBe('told');
  });

  test('that another process put in its place is gone on from', async () => {
    const world = await newWorld();
    const bench = openBench(world);
    bench.journal.open();
    bench.say('ssh-route/a', 'one');
    await bench.pass(1_500);
    const other = openBench(world);
    await other.journal.load();
    other.say('ssh-route/a', 'two');
    await other.journal.publish();
    const lines = await other.lines();
    bench.journal.store.took(host, lines.slice(-1));
    bench.say('ssh-route/c', 'three');
    await bench.journal.publish();
    expect((await bench.lines()).map(({ n }) => n)).toEqual([1, 2, 3]);
  });
});

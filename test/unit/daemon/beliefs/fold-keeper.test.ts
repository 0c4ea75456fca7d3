/** The book of logs and the fold over them belong together, whoever reads and rebuilds meanwhile. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readState } from '../../../../src/core/fold/fold.ts';
import type { VerifiedLine } from '../../../../src/core/log.ts';
import { charterOf } from '../../../../src/core/trust/charter.ts';
import { addOps, emptyTrustSet, trustHash } from '../../../../src/core/trust/set.ts';
import { createFoldKeeper, type FoldKeeper } from '../../../../src/daemon/beliefs/fold-keeper.ts';
import { createLogBook } from '../../../../src/daemon/beliefs/log-book.ts';
import type { TrustState } from '../../../../src/daemon/trust/trust-keeper.ts';
import { initRepository, type Repository } from '../../../../src/store/git/repository.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';
import { genesisOf, testSigner } from '../../../lib/trust-ops.ts';

/** Of a line that nobody made. */
function linkOf(seq: number): string {
  return String(seq).padStart(64, '0');
}

const genesis = genesisOf(testSigner('craig', 1), {});

function trustState(): TrustState {
  const { set } = addOps(emptyTrustSet(genesis.id), [genesis]);
  const hash = trustHash(set);
  return {
    set,
    charter: charterOf(set),
    hash,
    kept: hash,
    oid: 'a'.repeat(40),
    files: new Set<string>(),
    filesEver: 0,
    unreadable: [],
  };
}

async function newRepository(): Promise<Repository> {
  return initRepository(join(temporaryFolder(), 'repo.git'), { host: 'alpha' });
}

function keeperOf(repository: Repository, trust: () => TrustState, loads: number[] = []): FoldKeeper {
  return createFoldKeeper({
    repository,
    trust,
    progress: () => undefined,
    onLoaded: (lines) => void loads.push(lines.length),
  });
}

test('it loads when it is first asked, once for all who ask', async () => {
  const loads: number[] = [];
  const keeper = keeperOf(await newRepository(), trustState, loads);
  expect(keeper.isAskedFor()).toBe(false);
  const [one, two] = await Promise.all([keeper.latest(), keeper.latest()]);
  expect(one).toBe(two);
  expect(loads).toEqual([0]);
});

test('a load that fails is told to who asked, and the next one tries again', async () => {
  let failing = true;
  const keeper = keeperOf(await newRepository(), () => {
    const state = trustState();
    return failing ? { ...state, charter: { ...state.charter, hosts: brokenHosts } } : state;
  });
  await expect(keeper.latest()).rejects.toThrow('cannot be listed');
  expect(keeper.isAskedFor()).toBe(false);
  failing = false;
  expect(readState(await keeper.latest()).counts.lines).toBe(0);
});

/** A map that fails when it is read, as a disk would. */
const brokenHosts = new Proxy(new Map(), {
  get: () => () => {
    throw new Error('cannot be listed');
  },
});

test('who waits for the fold while it is read again gets the one that the book is of', async () => {
  const keeper = keeperOf(await newRepository(), trustState);
  const first = await keeper.latest();
  const order: string[] = [];
  const reloading = keeper.reload(
    () => undefined,
    () => void order.push('loaded'),
  );
  const waiting = keeper.latest().then((fold) => {
    order.push('got it');
    return fold;
  });
  expect(await waiting).toBe(await reloading);
  expect(await waiting).not.toBe(first);
  expect(order).toEqual(['loaded', 'got it']);
});

test('a book becomes another one at once, cuts and all', () => {
  const line = (seq: number) => ({ seq, link: linkOf(seq) }) as unknown as VerifiedLine;
  const [before, after] = [createLogBook(), createLogBook()];
  before.extend('alpha', [line(1), line(2)], 'old');
  before.cut({ log: 'alpha', seq: 3, code: 'LOG_CUT', detail: 'x', held: 2 });
  after.extend('alpha', [line(1), line(2), line(3)], 'new');
  after.extend('beta', [], '');
  before.become(after);
  expect(before.tip('alpha')).toEqual({ oid: 'new', seq: 3, link: linkOf(3) });
  expect(before.tip('beta')).toBeUndefined();
  expect(before.oids()).toEqual({ alpha: 'new', beta: '' });
  expect(before.cuts()).toEqual([]);
  expect([before.linkAt('alpha', 2), before.linkAt('alpha', 4), before.linkAt('gamma', 1)]).toEqual([
    linkOf(2),
    undefined,
    undefined,
  ]);
});

test('a book takes what follows and nothing else: a gap would give later lines a wrong number', () => {
  const line = (seq: number) => ({ seq, link: linkOf(seq) }) as unknown as VerifiedLine;
  const book = createLogBook();
  book.extend('alpha', [line(1), line(2)], 'a');
  expect(() => book.extend('alpha', [line(4)], 'b')).toThrow('what follows');
  expect(() => book.extend('alpha', [line(2)], 'b')).toThrow('what follows');
  expect(book.tip('alpha')).toEqual({ oid: 'a', seq: 2, link: linkOf(2) });
});

test('what is read again while it is read again comes after it, and both are told', async () => {
  const keeper = keeperOf(await newRepository(), trustState);
  await keeper.latest();
  const order: string[] = [];
  const [first, second] = ['first', 'second'].map((name) =>
    keeper.reload(
      () => void order.push(`${name} begins`),
      () => void order.push(`${name} ends`),
    ),
  );
  expect(await keeper.latest()).toBe(await second);
  expect(await first).not.toBe(await second);
  expect([...new Set(order)]).toEqual(['first begins', 'first ends', 'second begins', 'second ends']);
});

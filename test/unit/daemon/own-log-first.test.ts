import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createOwnLogFirst, requireOwnLogWhole } from '../../../src/daemon/own-log-first.ts';
import { createPeerBook } from '../../../src/daemon/peer-book.ts';
import type { Heads } from '../../../src/mesh/heads.ts';

const link = (digit: string): string => digit.repeat(64);
const own = { host: 'alpha', home: '/home/a b', addressOf: (): string => 'ssh://10.0.0.2:7422' };
const book = (links: readonly string[]): Parameters<typeof requireOwnLogWhole>[0] => ({
  tip: () => (links.length === 0 ? undefined : { oid: '', seq: links.length, link: links.at(-1) ?? '' }),
  linkAt: (_, seq) => links[seq - 1],
});
const holding = (...tips: [number, string][]): Parameters<typeof requireOwnLogWhole>[1] => ({
  proofs: () => tips.map(([seq, text]) => ({ peer: 'beta', line: { seq, link: text } })),
});

describe('what peers are known to hold of the own log', () => {
  test('as much as we do, or less of the same, is no reason to stop', () => {
    const ours = book([link('a'), link('b')]);
    expect(() => requireOwnLogWhole(ours, holding([2, link('b')], [1, link('a')]), own)).not.toThrow();
    expect(() => requireOwnLogWhole(book([]), holding(), own)).not.toThrow();
  });

  test('more, or another line, is', () => {
    const refused = (links: string[], seq: number, text: string): unknown => {
      try {
        return requireOwnLogWhole(book(links), holding([seq, text]), own);
      } catch (error) {
        return error;
      }
    };
    expect(refused([link('a')], 2, link('b'))).toMatchObject({
      code: 'OWN_LOG_BEHIND',
      hint: expect.stringContaining('fetch ssh://memd@10.0.0.2:7422/log log/alpha:log/alpha'),
    });
    expect(refused([], 1, link('a'))).toMatchObject({ code: 'OWN_LOG_BEHIND' });
    expect(refused([link('a'), link('b')], 1, link('c'))).toMatchObject({
      code: 'OWN_LOG_BEHIND',
      message: expect.stringContaining('another line 1'),
    });
  });

  test('no address of a peer becomes shell text', () => {
    const told = { ...own, addressOf: (): string => 'ssh://x$(id):1' };
    expect(() => requireOwnLogWhole(book([]), holding([1, link('a')]), told)).toThrow(
      expect.objectContaining({ hint: expect.stringContaining('fetch ssh://memd@HOST:7422/log') }),
    );
  });
});

describe('the first append', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());
  const heads = { heads: {} } as Heads;
  const limits = { waitMs: 2_000, proofMs: 5_000 };

  test('waits until every peer has answered or is known to be down, and no append after it does', async () => {
    const peerBook = createPeerBook();
    let asked = 0;
    const ask = async (): Promise<void> => void (asked += 1);
    const first = createOwnLogFirst({ peerBook, peers: () => ['beta', 'gamma'], ask, limits });
    const done: number[] = [];
    for (const n of [1, 2]) void first(async () => void done.push(n));
    peerBook.heard('beta', heads);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(done).toEqual([]);
    const down = { state: 'down', newEvents: 0, lines: {}, trustAdded: [], alarms: [] } as const;
    peerBook.note({ peer: 'gamma', ...down }, 'now');
    await vi.advanceTimersByTimeAsync(0);
    expect(done).toEqual([1, 2]);
    await first(async () => void done.push(3));
    expect({ done, asked }).toEqual({ done: [1, 2, 3], asked: 1 });
  });

  test('waits longer for the proof of a peer that says it holds more, and not for ever', async () => {
    for (const proof of [{ seq: 1, link: link('a') }, 'unproven', undefined] as const) {
      const peerBook = createPeerBook();
      let over = false;
      const waits = { peers: () => ['beta'], ask: async () => undefined, limits };
      void createOwnLogFirst({ peerBook, ...waits })(async () => void (over = true));
      peerBook.claimed('beta', 'looking');
      peerBook.heard('beta', heads);
      await vi.advanceTimersByTimeAsync(4_000);
      expect(over).toBe(false);
      if (proof !== undefined) peerBook.claimed('beta', proof);
      await vi.advanceTimersByTimeAsync(proof === undefined ? 1_000 : 0);
      expect(over).toBe(true);
      expect(peerBook.proofs()).toHaveLength(typeof proof === 'object' ? 1 : 0);
    }
  });

  test('a peer that is silent holds it up for that long and no longer; a mesh of one for no time at all', async () => {
    const silent = {
      peerBook: createPeerBook(),
      ask: () => new Promise<void>(() => undefined),
      waitMs: 2_000,
      proofMs: 5_000,
    };
    let over = false;
    void createOwnLogFirst({ ...silent, peers: () => ['beta'] })(async () => void (over = true));
    await vi.advanceTimersByTimeAsync(1_999);
    expect(over).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(over).toBe(true);
    expect(await createOwnLogFirst({ ...silent, peers: () => [] })(async () => 'done')).toBe('done');
  });
});

/** The floor: nothing older than what was accepted is accepted, whatever its times say. */
import { describe, expect, test } from 'vitest';
import { judgeFloor, raiseFloor, type ManifestFloor, type TrustNow } from '../../../src/core/manifest-floor.ts';
import type { CharterHost } from '../../../src/core/trust/charter.ts';
import type { Statement, ViewHead } from '../../../src/core/view-line.ts';
import { sha256Hex } from '../../../src/crypto/hash.ts';
import { hostOf, manifestCharter, manifestTrust } from '../../lib/manifests.ts';
import { viewMesh } from '../../lib/view-lines.ts';

type Said = Statement & { readonly host: string };

const laterTrust = sha256Hex('later trust');
const head = (log: string, seq: number): ViewHead => ({ seq, link: sha256Hex(`${log} ${seq}`) });

function said(heads: Readonly<Record<string, number>>, changes: Partial<Said> = {}): Said {
  const named = new Map(Object.entries(heads).map(([log, seq]) => [log, head(log, seq)]));
  const root = sha256Hex(JSON.stringify(heads));
  return { host: 'alpha', mesh: viewMesh, heads: named, root, rules: 1, trust: manifestTrust, ...changes };
}

const all = manifestCharter(hostOf('alpha'), hostOf('beta'), hostOf('gamma'));
const now: TrustNow = { hash: manifestTrust, ops: 4, charter: all };
const later = (...hosts: readonly CharterHost[]): TrustNow => ({
  hash: laterTrust,
  ops: 5,
  charter: hosts.length === 0 ? all : manifestCharter(...hosts),
});
const seen: ManifestFloor = raiseFloor(undefined, said({ alpha: 5, beta: 7 }), now);
const codes = (statement: Said, trust: TrustNow = now, floor: ManifestFloor | undefined = seen): readonly string[] =>
  judgeFloor(statement, floor, trust).map(({ code }) => code);

describe('the floor', () => {
  test('lets through what was seen, what goes on from it, and the first of a host', () => {
    expect(codes(said({ alpha: 5, beta: 7 }))).toEqual([]);
    expect(codes(said({ alpha: 6, beta: 7, gamma: 1 }))).toEqual([]);
    expect(codes(said({ alpha: 1 }, { host: 'beta' }))).toEqual([]);
    expect(judgeFloor(said({ alpha: 1 }), undefined, now)).toEqual([]);
  });

  test('refuses fewer lines of one log, however many more there are of another', () => {
    expect(codes(said({ alpha: 4, beta: 900 }))).toEqual(['MANIFEST_OLDER']);
    expect(codes(said({ alpha: 900 }))).toEqual(['MANIFEST_OLDER']);
  });

  test('refuses another line of the same number', () => {
    const heads = new Map([
      ...said({ alpha: 5, beta: 7 }).heads,
      ['beta', { seq: 7, link: sha256Hex('forked') }],
    ] as const);
    expect(codes(said({}, { heads }))).toEqual(['MANIFEST_OLDER']);
  });

  test('refuses another root of the same input, but not of other rules', () => {
    expect(codes(said({ alpha: 5, beta: 7 }, { root: sha256Hex('x') }))).toEqual(['MANIFEST_ROOT']);
    expect(codes(said({ alpha: 5, beta: 7 }, { root: sha256Hex('x'), rules: 2 }))).toEqual([]);
  });

  test('follows a log that a signer or a fork-proof has cut since, and no other', () => {
    const cut = { ...hostOf('beta'), end: 3 };
    const pinned = { ...hostOf('beta'), pins: [{ ...head('beta', 3), op: laterTrust }] };
    for (const beta of [cut, pinned]) {
      const under = later(hostOf('alpha'), beta);
      expect(codes(said({ alpha: 5, beta: 3 }, { trust: laterTrust }), under)).toEqual([]);
      expect(codes(said({ alpha: 4, beta: 3 }, { trust: laterTrust }), under)).toEqual(['MANIFEST_OLDER']);
    }
    // The cut was known when the floor was raised.
    expect(codes(said({ alpha: 5, beta: 3 }), { ...now, charter: manifestCharter(hostOf('alpha'), cut) })).toEqual([
      'MANIFEST_OLDER',
    ]);
  });

  test('refuses everything under a trust set that has fewer ops than were seen', () => {
    const raised = raiseFloor(seen, said({ alpha: 6, beta: 7 }, { trust: laterTrust }), later());
    expect(codes(said({ alpha: 9, beta: 9 }, { host: 'gamma' }), now, raised)).toEqual(['MANIFEST_OLDER']);
  });

  test('of another mesh says nothing', () => {
    const mesh = sha256Hex('another mesh');
    expect(codes(said({ alpha: 1 }, { mesh }))).toEqual([]);
    expect(raiseFloor(seen, said({ alpha: 1 }, { mesh }), now).hosts.size).toBe(1);
  });

  test('is the same object when nothing is new, and forgets hosts that the charter does not name', () => {
    expect(raiseFloor(seen, said({ alpha: 5, beta: 7 }), now)).toBe(seen);
    const two = raiseFloor(seen, said({ beta: 9 }, { host: 'beta' }), now);
    expect([...two.hosts.keys()]).toEqual(['alpha', 'beta']);
    const without = raiseFloor(two, said({ beta: 9 }, { host: 'beta', trust: laterTrust }), later(hostOf('beta')));
    expect([...without.hosts.keys()]).toEqual(['beta']);
  });
});

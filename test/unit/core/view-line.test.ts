import { describe, expect, test } from 'vitest';
import {
  buildViewLine,
  judgeViewLine,
  parseViewLine,
  statementMessage,
  verifyStatement,
  viewLineHash,
  viewsDigest,
  type ViewLine,
  type ViewLineParts,
} from '../../../src/core/view-line.ts';
import { canonicalJson, type JsonObject } from '../../../src/crypto/canonical.ts';
import { publicKeyOf, signEd25519, signingKeyFromSeed } from '../../../src/crypto/ed25519.ts';
import { sha256Hex } from '../../../src/crypto/hash.ts';
import { hostKey, hostRaw, mesh } from '../../lib/events.ts';

const link = '1f'.repeat(32);
const otherKey = signingKeyFromSeed(new Uint8Array(32).fill(9));

function parts(change: Partial<ViewLineParts> = {}): ViewLineParts {
  return {
    at: '2026-01-02T03:04:05.678Z',
    heads: new Map([
      ['alpha', { seq: 3, link }],
      ['beta', { seq: 7, link: '2e'.repeat(32) }],
    ]),
    host: 'alpha',
    mesh,
    n: 1,
    prev: mesh,
    root: '3d'.repeat(32),
    rules: 1,
    trust: '4c'.repeat(32),
    views: new Map([['operator', '5b'.repeat(32)]]),
    ...change,
  };
}

function signed(change: Partial<ViewLineParts> = {}, key = hostKey): ViewLine {
  return buildViewLine(parts(change), (message) => signEd25519(key, message));
}

function respelled(line: ViewLine, change: (object: Record<string, unknown>) => void): string {
  const object = JSON.parse(line.text) as Record<string, unknown>;
  change(object);
  return canonicalJson(object as unknown as JsonObject);
}

const first = { host: 'alpha', mesh, before: null, keys: [hostRaw] };

describe('a view line', () => {
  test('parses to what was built, and its bytes are canonical', () => {
    const line = signed();
    expect(parseViewLine(line.text)).toEqual({ ok: true, value: line });
  });

  test('is refused with a member too many, too few, or of another shape', () => {
    const changes: readonly ((object: Record<string, unknown>) => void)[] = [
      (object) => (object['extra'] = 1),
      (object) => delete object['views'],
      (object) => (object['n'] = 0),
      (object) => (object['heads'] = { alpha: [0, link] }),
      (object) => (object['heads'] = { alpha: [1, link, 2] }),
      (object) => (object['heads'] = { Alpha: [1, link] }),
      (object) => (object['at'] = 'yesterday'),
      (object) => (object['sig'] = 'AAAA'),
    ];
    for (const change of changes) {
      const answer = parseViewLine(respelled(signed(), change));
      expect(answer.ok ? 'accepted' : answer.code).toBe('VIEW_FIELD');
    }
  });

  test('of a later version is named as one, not called malformed', () => {
    const later = respelled(signed(), (object) => Object.assign(object, { v: 2, more: 'members' }));
    expect(parseViewLine(later)).toMatchObject({ ok: false, code: 'VIEW_VERSION' });
  });

  test('of 200 hosts and 64 audiences is short enough, one more host is refused', () => {
    const hosts = (count: number): Map<string, { seq: number; link: string }> =>
      new Map(
        Array.from({ length: count }, (_, index) => [
          `h${String(index).padStart(30, '0')}`,
          { seq: Number.MAX_SAFE_INTEGER, link },
        ]),
      );
    const views = new Map(Array.from({ length: 64 }, (_, index) => [`a${String(index).padStart(30, '0')}`, link]));
    expect(parseViewLine(signed({ heads: hosts(200), views }).text).ok).toBe(true);
    expect(parseViewLine(signed({ heads: hosts(201), views }).text).ok).toBe(false);
  });
});

describe('a journal', () => {
  test('goes on by number and hash, and by nothing else', () => {
    const one = signed();
    const two = signed({ n: 2, prev: viewLineHash(one) });
    expect(judgeViewLine(one, first)).toEqual({ ok: true, value: 0 });
    expect(judgeViewLine(two, { ...first, before: one })).toEqual({ ok: true, value: 0 });
    expect(judgeViewLine(two, first)).toMatchObject({ ok: false, code: 'VIEW_CHAIN' });
    const skipping = signed({ n: 3, prev: viewLineHash(one) });
    expect(judgeViewLine(skipping, { ...first, before: one })).toMatchObject({ ok: false, code: 'VIEW_CHAIN' });
    const otherPast = signed({ n: 2, prev: viewLineHash(signed({ rules: 2 })) });
    expect(judgeViewLine(otherPast, { ...first, before: one })).toMatchObject({ ok: false, code: 'VIEW_CHAIN' });
  });

  test('of another host or mesh is refused, though well signed', () => {
    expect(judgeViewLine(signed(), { ...first, host: 'beta' })).toMatchObject({ code: 'VIEW_CHAIN' });
    expect(judgeViewLine(signed(), { ...first, mesh: link })).toMatchObject({ code: 'VIEW_CHAIN' });
  });

  test('takes a line by any key of its host, and none by another key', () => {
    const byOther = signed({}, otherKey);
    expect(judgeViewLine(byOther, first)).toMatchObject({ ok: false, code: 'VIEW_SIGNATURE' });
    expect(judgeViewLine(byOther, { ...first, keys: [hostRaw, publicKeyOf(otherKey)] })).toMatchObject({ ok: true });
  });

  test('refuses a line whose parts were changed after it was signed, each of them', () => {
    const line = signed();
    const changes: Readonly<Record<string, unknown>> = {
      at: '2026-01-02T03:04:05.679Z',
      heads: { alpha: [4, link] },
      root: link,
      rules: 2,
      trust: link,
      views: {},
      cosign: signed({}, otherKey).cosign,
    };
    const verdicts = Object.entries(changes).map(([name, value]) => {
      const changed = parseViewLine(respelled(line, (object) => (object[name] = value)));
      const verdict = changed.ok ? judgeViewLine(changed.value, first) : changed;
      return `${name} ${verdict.ok ? 'taken' : verdict.code}`;
    });
    expect(verdicts).toEqual(Object.keys(changes).map((name) => `${name} VIEW_SIGNATURE`));
  });
});

describe('a co-signature', () => {
  test('of one host verifies over the line of another that agrees, whatever else differs', () => {
    const alpha = signed();
    const beta = signed({ host: 'beta', at: '2030-01-01T00:00:00.000Z', n: 9, prev: link, views: new Map() }, otherKey);
    expect(statementMessage(beta)).toBe(statementMessage(alpha));
    expect(verifyStatement(alpha, beta.cosign, publicKeyOf(otherKey))).toBe(true);
    expect(verifyStatement(signed({ root: link }), beta.cosign, publicKeyOf(otherKey))).toBe(false);
  });

  test('covers the bytes that the document names', () => {
    const { root, rules, trust } = signed();
    const heads = { alpha: [3, link], beta: [7, '2e'.repeat(32)] };
    expect(statementMessage(signed())).toBe(
      `memd-state-v1\n${sha256Hex(canonicalJson({ heads, mesh, root, rules, trust }))}`,
    );
  });
});

test('the digest of the views of an audience depends on names and bytes, not on their order', () => {
  const digest = viewsDigest(
    new Map([
      ['INDEX.md', 'a'],
      ['STALE.md', 'b'],
    ]),
  );
  expect(
    viewsDigest(
      new Map([
        ['STALE.md', 'b'],
        ['INDEX.md', 'a'],
      ]),
    ),
  ).toBe(digest);
  expect(
    viewsDigest(
      new Map([
        ['INDEX.md', 'b'],
        ['STALE.md', 'a'],
      ]),
    ),
  ).not.toBe(digest);
});

/** Whatever is changed in a manifest shows; and what is replayed in any order never goes back. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { judgeFloor, raiseFloor, type ManifestFloor, type TrustNow } from '../../src/core/manifest-floor.ts';
import { judgeManifest, manifestText, parseManifest } from '../../src/core/manifest.ts';
import type { Statement } from '../../src/core/view-line.ts';
import { sha256Hex } from '../../src/crypto/hash.ts';
import { decodeUtf8, utf8Bytes } from '../../src/crypto/text.ts';
import { hostOf, madeManifest, manifestCharter, manifestGround, manifestTrust } from '../lib/manifests.ts';
import { viewMesh } from '../lib/view-lines.ts';

const seed = 7_002;
const ground = manifestGround();

function isAccepted(bytes: Uint8Array): boolean {
  const text = decodeUtf8(bytes);
  const parsed = text === undefined ? undefined : parseManifest(text);
  return parsed?.ok === true && judgeManifest(parsed.value, ground).length === 0;
}

describe('a manifest', () => {
  const whole = utf8Bytes(manifestText(madeManifest({ cosigners: ['beta', 'gamma'] })));

  test('with any byte changed, left out or put in is refused', () => {
    expect(isAccepted(whole)).toBe(true);
    fc.assert(
      fc.property(
        fc.nat(whole.length - 1),
        fc.integer({ min: 0, max: 255 }),
        fc.constantFrom('set', 'cut', 'add'),
        (at, byte, how) => {
          fc.pre(how !== 'set' || whole[at] !== byte);
          const rest = whole.subarray(how === 'add' ? at : at + 1);
          const middle = how === 'cut' ? [] : [byte];
          expect(isAccepted(Uint8Array.from([...whole.subarray(0, at), ...middle, ...rest]))).toBe(false);
        },
      ),
      { seed, numRuns: 1_500 },
    );
  });

  test('put together from parts of two that are good is refused, unless it is one of them', () => {
    const one = madeManifest({ cosigners: ['beta'] });
    const two = madeManifest({
      cosigners: ['beta'],
      line: { root: sha256Hex('later'), heads: new Map([['alpha', { seq: 9, link: sha256Hex('alpha 9') }]]) },
    });
    const parts = [JSON.parse(manifestText(one)), JSON.parse(manifestText(two))] as readonly Record<
      string,
      Record<string, unknown>
    >[];
    const names = Object.keys((parts[0] ?? {})['line'] ?? {});
    fc.assert(
      fc.property(
        fc.array(fc.boolean(), { minLength: names.length, maxLength: names.length }),
        fc.boolean(),
        (picks, cosigned) => {
          const from = (second: boolean): Record<string, Record<string, unknown>> => parts[second ? 1 : 0] ?? {};
          const line = Object.fromEntries(
            names.map((name, index) => [name, from(picks[index] ?? false)['line']?.[name]]),
          );
          const mixed = { ...from(false), line, cosigned: from(cosigned)['cosigned'] };
          const text = `${JSON.stringify(mixed)}\n`;
          const isWhole = [one, two].some((manifest) => manifestText(manifest) === text);
          expect(isAccepted(utf8Bytes(text))).toBe(isWhole);
        },
      ),
      { seed, numRuns: 400 },
    );
  });
});

describe('the floor', () => {
  const charter = manifestCharter(hostOf('alpha'), hostOf('beta'));
  const now: TrustNow = { hash: manifestTrust, ops: 3, charter };
  const seqs = fc.record({ alpha: fc.integer({ min: 1, max: 6 }), beta: fc.integer({ min: 1, max: 6 }) });

  test('goes up for every host and log, in whatever order statements come', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom('alpha', 'beta'), seqs), { maxLength: 30 }), (statements) => {
        let floor: ManifestFloor | undefined;
        for (const [host, heads] of statements) {
          const named = Object.entries(heads).map(
            ([log, seq]) => [log, { seq, link: sha256Hex(`${log} ${seq}`) }] as const,
          );
          const statement: Statement = {
            heads: new Map(named),
            mesh: viewMesh,
            root: sha256Hex(JSON.stringify(heads)),
            rules: 1,
            trust: manifestTrust,
          };
          const seen = floor?.hosts.get(host);
          const isBehind = [...(seen?.heads ?? [])].some(
            ([log, { seq }]) => (statement.heads.get(log)?.seq ?? 0) < seq,
          );
          const refused = judgeFloor({ ...statement, host }, floor, now).length > 0;
          expect(refused).toBe(isBehind);
          if (!refused) floor = raiseFloor(floor, { ...statement, host }, now);
        }
      }),
      { seed, numRuns: 300 },
    );
  });
});

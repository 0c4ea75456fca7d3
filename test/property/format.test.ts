/** Properties of the format: a writer and a reader agree on every byte, and no changed byte passes for the same line. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { eventId, makeBody, parseBody, type Body, type BodyInput } from '../../src/core/event.ts';
import { buildLine, lineMessage, parseLine, signatureOf, type Line } from '../../src/core/line.ts';
import { extendLog } from '../../src/core/log.ts';
import { planSegments, splitLines, type OpenSegment } from '../../src/core/segments.ts';
import { canonicalJson, parseCanonical, type JsonValue } from '../../src/crypto/canonical.ts';
import { signEd25519, verifyEd25519 } from '../../src/crypto/ed25519.ts';
import { utf8Bytes } from '../../src/crypto/text.ts';
import { hostKey, hostRaw, mesh } from '../lib/events.ts';

const runs = { seed: 20_260_727, numRuns: 300 };

const id = fc.stringMatching(/^[0-9a-f]{64}$/);
const slug = fc.stringMatching(/^[a-z][a-z0-9-]{0,30}$/);
const subject = fc
  .tuple(slug, fc.stringMatching(/^[a-z0-9]([a-z0-9_:-]|\.[a-z0-9]|\/[a-z0-9]){0,40}$/))
  .map((parts) => parts.join('/'));
/** Text of every kind of character, escapes and look-alikes of structure included. */
const text = (bytesMax: number): fc.Arbitrary<string> =>
  fc
    .array(
      fc.oneof(
        { weight: 4, arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: 8 }) },
        fc.constantFrom(
          '"',
          '\\',
          '\n',
          '\t',
          '","log":"',
          '{"body":',
          '\u2028',
          '\u0085',
          '\u007f',
          'e\u0301',
          '\ufb33',
          '😀',
        ),
      ),
      { minLength: 1, maxLength: 12 },
    )
    .map((parts) => parts.join('').replaceAll(/[\u0000-\u0008\u000b-\u001f]/g, '.'))
    // NFC first: it can make a text longer than it was.
    .map((joined) => Array.from(joined.toWellFormed().normalize('NFC')))
    .map((points) => points.slice(0, Math.floor(bytesMax / 4)).join('') || '.');
const oneLine = (bytesMax: number): fc.Arbitrary<string> =>
  text(bytesMax).map((joined) => joined.replaceAll(/[\n\t\u0085\u2028\u2029]/g, ' '));
const home = fc.constantFrom(
  'file:docs/a b.md#x',
  'alpha:file:/etc/hosts',
  'https://example.org/a?b',
  'git:r:p/q@main',
);

const optional = {
  hook: oneLine(280),
  text: text(24_000),
  basis: fc.array(id, { maxLength: 16 }),
  supersedes: fc.array(id, { maxLength: 64 }),
  names: fc.array(oneLine(80), { maxLength: 16 }),
  scope: slug,
  audience: slug,
  confidence: fc.constantFrom('stated' as const, 'verified' as const),
  lineage: fc.constant('untrusted' as const),
};

const input: fc.Arbitrary<BodyInput> = fc.oneof(
  fc.record(
    { kind: fc.constant('assert' as const), subject, home, content: text(4_000), value: oneLine(512), ...optional },
    { requiredKeys: ['kind', 'subject', 'home', 'content'] },
  ),
  fc.record(
    { kind: fc.constant('lesson' as const), subject, content: text(4_000), home, ...optional },
    { requiredKeys: ['kind', 'subject', 'content'] },
  ),
  fc.record(
    {
      kind: fc.constant('retract' as const),
      subject,
      supersedes: fc.array(id, { minLength: 1, maxLength: 64 }),
      content: text(4_000),
    },
    { requiredKeys: ['kind', 'subject', 'supersedes'] },
  ),
  fc.record({ kind: fc.constant('question' as const), subject, content: text(4_000) }),
);

const body: fc.Arbitrary<Body> = fc
  .tuple(input, oneLine(128), fc.stringMatching(/^[0-9a-f]{32}$/))
  .map(([given, session, nonce]) => {
    const made = makeBody(given, { mesh, host: 'alpha', session, at: '2026-01-02T03:04:05.678Z', nonce });
    if (!made.ok) throw new Error(`${made.code} ${made.detail} ${JSON.stringify(given)}`);
    return made.value;
  });

const auth = fc.option(
  fc.record({
    key: fc.constant(`SHA256:${'A'.repeat(43)}`),
    signer: slug,
    sshsig: fc.constantFrom('AAAA', 'U1NIU0lH'),
  }),
);

const line: fc.Arbitrary<Line> = fc
  .tuple(body, auth, slug, fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), id)
  .map(([content, approval, log, seq, prev]) =>
    buildLine({ body: content, auth: approval, log, seq, prev }, (message) => signEd25519(hostKey, message)),
  );

describe('property: writer and reader', () => {
  test('a built line parses to itself, from text, from bytes, and re-encoded', () => {
    fc.assert(
      fc.property(line, (built) => {
        expect(parseLine(built.text, mesh)).toEqual({ ok: true, value: built });
        expect(parseLine(utf8Bytes(built.text), mesh)).toEqual({ ok: true, value: built });
        const { body: content, auth: approval, log, prev, seq } = built;
        expect(content).not.toBeNull();
        if (content === null) return;
        expect(eventId(content)).toBe(built.id);
        const again = buildLine({ body: content, auth: approval, log, prev, seq }, () => signatureOf(built));
        expect(again.text).toBe(built.text);
      }),
      runs,
    );
  });

  test('making a body of a made body changes nothing', () => {
    fc.assert(
      fc.property(body, (made) => {
        const again = makeBody(made, made);
        expect(again).toEqual({ ok: true, value: made });
        const parsed = parseCanonical(canonicalJson(made as unknown as JsonValue), { depthMax: 6 });
        expect(parsed.ok && parseBody(parsed.value as never)).toEqual({ ok: true, value: made });
      }),
      runs,
    );
  });

  test('any JSON value: written canonically it is read, unless a rule forbids it; respelled it never is', () => {
    const value = fc.jsonValue({ maxDepth: 4 });
    fc.assert(
      fc.property(value, fc.nat(), (given, at) => {
        const canonical = canonicalJson(JSON.parse(JSON.stringify(given)) as JsonValue);
        const parsed = parseCanonical(canonical, { depthMax: 6 });
        if (parsed.ok) expect(canonicalJson(parsed.value)).toBe(canonical);
        // White space before any token that is not inside a string.
        const spaced = `${canonical.slice(0, at % canonical.length)} ${canonical.slice(at % canonical.length)}`;
        const respelled = parseCanonical(spaced, { depthMax: 6 });
        if (respelled.ok) expect(canonicalJson(respelled.value)).toBe(spaced);
      }),
      { ...runs, numRuns: 2_000 },
    );
  });
});

describe('property: a changed line', () => {
  test('with any one byte replaced is refused, or is another event, or has no valid signature', () => {
    fc.assert(
      fc.property(line, fc.nat(), fc.integer({ min: 1, max: 255 }), (built, at, mask) => {
        const bytes = utf8Bytes(built.text);
        const position = at % bytes.length;
        bytes[position] = (bytes[position] ?? 0) ^ mask;
        expectNotTheSame(built, bytes);
      }),
      { ...runs, numRuns: 3_000 },
    );
  });

  test('with one bit flipped at every place of one line is never taken for it', () => {
    const built = fc.sample(line, { seed: runs.seed, numRuns: 1 })[0];
    if (built === undefined) throw new Error('no sample');
    const bytes = utf8Bytes(built.text);
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const flipped = Uint8Array.from(bytes);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expectNotTheSame(built, flipped);
    }
  });

  test('cut at any byte is refused', () => {
    const built = fc.sample(line, { seed: runs.seed + 1, numRuns: 1 })[0];
    if (built === undefined) throw new Error('no sample');
    const bytes = utf8Bytes(built.text);
    for (let length = 0; length < bytes.length; length += 1)
      expect(parseLine(bytes.subarray(0, length), mesh).ok).toBe(false);
  });

  /** Refused, or else its own host signature no longer covers it. */
  function expectNotTheSame(built: Line, bytes: Uint8Array): void {
    const parsed = parseLine(bytes, mesh);
    if (!parsed.ok) return;
    const changed = parsed.value;
    const stands = verifyEd25519(hostRaw, lineMessage(changed.link), signatureOf(changed));
    expect([changed.text === built.text, stands]).toEqual([false, false]);
  }
});

describe('property: files and logs', () => {
  const log = fc.array(body, { minLength: 1, maxLength: 12 }).map((bodies) => {
    const lines: Line[] = [];
    for (const [index, content] of bodies.entries()) {
      const place = { log: 'alpha', seq: index + 1, prev: lines.at(-1)?.link ?? mesh };
      lines.push(buildLine({ body: content, auth: null, ...place }, (message) => signEd25519(hostKey, message)));
    }
    return lines;
  });
  const start = { host: 'alpha', mesh, from: { seq: 0, link: mesh }, keys: [{ key: hostRaw, from: 1, upto: null }] };

  test('a file split at every byte gives the same lines: what was whole before the cut, and the rest after it', () => {
    fc.assert(
      fc.property(fc.array(body, { minLength: 2, maxLength: 3 }), (bodies) => {
        const file = utf8Bytes(bodies.map((content) => `${canonicalJson(content as unknown as JsonValue)}\n`).join(''));
        const whole = splitLines(file).lines;
        expect(whole.length).toBe(bodies.length);
        for (let cut = 0; cut <= file.length; cut += 1) {
          const first = splitLines(file.subarray(0, cut));
          const second = splitLines(Buffer.concat([first.rest, file.subarray(cut)]));
          expect([...first.lines, ...second.lines]).toEqual(whole);
        }
      }),
      { ...runs, numRuns: 6 },
    );
  });

  test('a log in segments, in any batches, reads back as the same lines and the same tip', () => {
    fc.assert(
      fc.property(log, fc.integer({ min: 1, max: 5 }), (lines, batch) => {
        const files: Uint8Array[][] = [];
        let open: OpenSegment = { index: 0, bytes: 0 };
        const bytes = lines.map((built) => utf8Bytes(built.text));
        for (let from = 0; from < bytes.length; from += batch) {
          for (const part of planSegments(open, bytes.slice(from, from + batch)) ?? []) {
            const file = (files[part.index] ??= []);
            for (const one of part.lines) file.push(one, new Uint8Array([10]));
            open = {
              index: part.index,
              bytes: part.bytesBefore + part.lines.reduce((sum, one) => sum + one.length + 1, 0),
            };
          }
        }
        const read = files.flatMap((file) => splitLines(Buffer.concat(file)).lines);
        const extension = extendLog({ ...start, verifyEvery: true }, read);
        expect(extension.fault).toBeUndefined();
        expect(extension.lines).toEqual(lines);
      }),
      { ...runs, numRuns: 60 },
    );
  });

  test('lines in another order, left out or doubled never extend a log beyond the first of them', () => {
    fc.assert(
      fc.property(log, fc.nat(), fc.constantFrom('drop', 'double', 'swap'), (lines, at, how) => {
        const texts = lines.map((built) => built.text);
        const position = at % texts.length;
        const [one = '', two] = texts.slice(position, position + 2);
        if (how === 'drop') texts.splice(position, 1);
        else if (how === 'double') texts.splice(position, 0, one);
        else if (two !== undefined) texts.splice(position, 2, two, one);
        const extension = extendLog(start, texts);
        const changed = how === 'double' ? position + 1 : position;
        const untouched = (how === 'swap' && two === undefined) || (how === 'drop' && position === lines.length - 1);
        expect(extension.tip.seq).toBe(untouched ? texts.length : changed);
      }),
      { ...runs, numRuns: 150 },
    );
  });
});

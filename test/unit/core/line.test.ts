import { describe, expect, test } from 'vitest';
import type { Auth } from '../../../src/core/event.ts';
import { lineBytesMax } from '../../../src/core/limits.ts';
import {
  buildLine,
  draftLine,
  headerText,
  lineMessage,
  linkOf,
  parseLine,
  signatureOf,
  type LineDraft,
  type LineHeader,
} from '../../../src/core/line.ts';
import { canonicalJson, type JsonValue } from '../../../src/crypto/canonical.ts';
import { signEd25519, verifyEd25519 } from '../../../src/crypto/ed25519.ts';
import { sha256Hex } from '../../../src/crypto/hash.ts';
import { utf8Bytes } from '../../../src/crypto/text.ts';
import { bodyOf, hostKey, hostRaw, lessons, logOf, mesh } from '../../lib/events.ts';

const body = bodyOf({ kind: 'lesson', subject: 'lesson/x', content: 'a "b"\n\tc\u2028é😀' });
const auth: Auth = { key: `SHA256:${'A'.repeat(43)}`, signer: 'craig', sshsig: 'U1NIU0lH' };

function build(withAuth: Auth | null = null): ReturnType<typeof buildLine> {
  return buildLine({ body, auth: withAuth, log: 'alpha', seq: 1, prev: mesh }, (message) =>
    signEd25519(hostKey, message),
  );
}

describe('a built line', () => {
  test('parses to the same line, from text and from bytes', () => {
    for (const line of [build(), build(auth)]) {
      expect(parseLine(line.text, mesh)).toEqual({ ok: true, value: line });
      expect(parseLine(utf8Bytes(line.text), mesh)).toEqual({ ok: true, value: line });
    }
  });

  test('is canonical: a generic writer gives the same bytes', () => {
    for (const line of [build(), build(auth)]) {
      const { log, prev, seq, sig, v } = line;
      const object = { ...(line.auth === null ? {} : { auth: line.auth }), body: line.body, log, prev, seq, sig, v };
      expect(canonicalJson(object as unknown as JsonValue)).toBe(line.text);
    }
  });

  test('is signed over its link', () => {
    const line = build(auth);
    expect(verifyEd25519(hostRaw, `memd-line-v1\n${line.link}`, signatureOf(line))).toBe(true);
    expect(lineMessage(line.link)).toBe(`memd-line-v1\n${line.link}`);
  });

  test('has the link that the document computes', () => {
    const line = build(auth);
    const header = {
      auth: sha256Hex(canonicalJson(auth as unknown as JsonValue)),
      id: sha256Hex(canonicalJson(body as unknown as JsonValue)),
      log: 'alpha',
      mesh,
      prev: mesh,
      seq: 1,
      v: 1,
    };
    expect(line.link).toBe(sha256Hex(`memd-link-v1\n${canonicalJson(header)}`));
  });

  test('that no reader would take is a programmer error, not a line', () => {
    const parts = { body, auth: null, log: 'Alpha', seq: 1, prev: mesh };
    expect(() => buildLine(parts, (message) => signEd25519(hostKey, message))).toThrow('a built line parses');
    expect(() => buildLine({ ...parts, log: 'alpha' }, () => new Uint8Array(63))).toThrow('a built line parses');
  });
});

test('the concatenated header is JCS for every shape of header', () => {
  const id = sha256Hex('x');
  const headers: LineHeader[] = [];
  for (const authHash of [null, id]) {
    for (const seq of [1, 42, Number.MAX_SAFE_INTEGER]) {
      for (const log of ['a', 'a-1', `z${'9'.repeat(30)}`])
        headers.push({ auth: authHash, id, log, mesh, prev: id, seq, v: seq });
    }
  }
  for (const header of headers) {
    expect(headerText(header)).toBe(canonicalJson(header as unknown as JsonValue));
    expect(linkOf(header)).toBe(sha256Hex(`memd-link-v1\n${canonicalJson(header as unknown as JsonValue)}`));
  }
});

describe('parseLine', () => {
  test('finds the body whatever it holds: nothing inside can end it early', () => {
    const tricky = bodyOf({
      kind: 'lesson',
      subject: 'lesson/x',
      content: `"},"log":"alpha","prev":"${mesh}","seq":1,"sig":"`,
      text: '{"auth":{"key":"x"},"body":',
    });
    const line = buildLine({ body: tricky, auth, log: 'alpha', seq: 7, prev: mesh }, (message) =>
      signEd25519(hostKey, message),
    );
    expect(line.id).toBe(sha256Hex(canonicalJson(tricky as unknown as JsonValue)));
    expect(line.body).toEqual(tricky);
  });

  test('the mesh is part of the link, so the same bytes are another line elsewhere', () => {
    const line = build();
    const elsewhere = parseLine(line.text, 'cd'.repeat(32));
    expect(elsewhere.ok && elsewhere.value.link).not.toBe(line.link);
    expect(elsewhere.ok && elsewhere.value.id).toBe(line.id);
  });

  test('a purged body leaves the link as it was', () => {
    const line = build(auth);
    const hole = line.text.replace(canonicalJson(body as unknown as JsonValue), `"${line.id}"`);
    const parsed = parseLine(hole, mesh);
    expect(parsed).toMatchObject({ ok: true, value: { link: line.link, id: line.id, fault: 'HOLE', body: null } });
  });

  test('an invalid body names subject and scope for the list of what is held out, where they are well formed', () => {
    const heldOf = (changes: Record<string, JsonValue>): unknown => {
      const changed = canonicalJson({ ...(body as unknown as Record<string, JsonValue>), ...changes });
      const parsed = parseLine(build().text.replace(canonicalJson(body as unknown as JsonValue), changed), mesh);
      return parsed.ok ? [parsed.value.fault, parsed.value.held] : parsed;
    };
    expect(heldOf({ kind: 'wish' })).toEqual(['KIND_UNKNOWN', { subject: 'lesson/x', scope: '*' }]);
    expect(heldOf({ at: 'now', scope: 'web' })).toEqual(['FIELD_VALUE', { subject: 'lesson/x', scope: 'web' }]);
    expect(heldOf({ scope: 'Web' })).toEqual(['FIELD_VALUE', { subject: 'lesson/x', scope: '*' }]);
    expect(heldOf({ subject: '../x' })).toEqual(['FIELD_VALUE', null]);
  });

  test('says what ends a log: bytes before envelope', () => {
    const codeOf = (text: string | Uint8Array): string => {
      const parsed = parseLine(text, mesh);
      return parsed.ok ? 'ok' : parsed.code;
    };
    expect(codeOf(new Uint8Array([0xff]))).toBe('NOT_UTF8');
    expect(codeOf('x'.repeat(lineBytesMax + 1))).toBe('LINE_TOO_LONG');
    expect(codeOf(new Uint8Array(lineBytesMax + 1))).toBe('LINE_TOO_LONG');
    expect(codeOf(`"${'é'.repeat(lineBytesMax / 2)}"`)).toBe('LINE_TOO_LONG');
    expect(codeOf('')).toBe('NOT_JSON');
    expect(codeOf(`${build().text} `)).toBe('NOT_CANONICAL');
    expect(codeOf('{"a":"\\u0001"}')).toBe('CONTROL_CHARACTER');
    expect(codeOf('{}')).toBe('ENVELOPE');
    expect(codeOf('[]')).toBe('ENVELOPE');
    expect(codeOf(build().text)).toBe('ok');
  });
});

test('lines drafted before any is signed are the lines that are built one by one', () => {
  const bodies = lessons(4);
  const built = logOf(bodies);
  const drafts: LineDraft[] = [];
  for (const [index, content] of bodies.entries()) {
    drafts.push(
      draftLine({ body: content, auth: null, log: 'alpha', seq: index + 1, prev: drafts.at(-1)?.link ?? mesh }),
    );
  }
  const finished = drafts.toReversed().map((draft) => draft.finish(signEd25519(hostKey, draft.message)));
  expect(finished.toReversed()).toEqual(built);
});

test('a chain of lines: each names the link before it', () => {
  const lines = logOf(lessons(5));
  for (const [index, line] of lines.entries()) {
    expect(line.seq).toBe(index + 1);
    expect(line.prev).toBe(lines[index - 1]?.link ?? mesh);
  }
});

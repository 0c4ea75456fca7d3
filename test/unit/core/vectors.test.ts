/** Every golden vector through the real parsers, and the list of sentences they name against docs/format.md. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { extendLog, type HostKeySpan } from '../../../src/core/log.ts';
import { eventId, parseBody } from '../../../src/core/event.ts';
import { buildLine, lineMessage, parseLine, signatureOf } from '../../../src/core/line.ts';
import { splitLines } from '../../../src/core/segments.ts';
import { parseTrustOp } from '../../../src/core/trust/op.ts';
import { canonicalJson, isJsonObject, parseCanonical, type JsonObject } from '../../../src/crypto/canonical.ts';
import { verifyEd25519 } from '../../../src/crypto/ed25519.ts';
import { parseSshPublicKey } from '../../../src/crypto/ssh-key.ts';
import { verifySshsig } from '../../../src/crypto/sshsig.ts';
import { decodeUtf8 } from '../../../src/crypto/text.ts';
import { inputBytes, readVectors, vectorFiles, type Vector } from '../../lib/vectors.ts';

const limits = { depthMax: 6 };

function named(rows: readonly Vector[]): readonly (readonly [string, Vector])[] {
  return rows.map((row) => [`${row.verdict}: ${row.name} (${row.sentences.join(' ')})`, row]);
}

describe('canonical.jsonl', () => {
  test.each(named(readVectors('canonical')))('%s', (_, row) => {
    const text = decodeUtf8(inputBytes(row));
    const parsed = text === undefined ? undefined : parseCanonical(text, limits);
    expect(parsed?.ok ?? false).toBe(row.verdict === 'accept');
    if (parsed?.ok === true) expect(canonicalJson(parsed.value)).toBe(text);
  });
});

describe('key.jsonl', () => {
  test.each(named(readVectors('key')))('%s', (_, row) => {
    const parsed = parseSshPublicKey(row.text ?? '');
    expect(parsed.ok).toBe(row.verdict === 'accept');
    if (parsed.ok) expect(parsed.value).toMatchObject({ text: row.text, fingerprint: fieldOf(row, 'fingerprint') });
    else expect(row.text === '' || !parsed.detail.includes(row.text ?? '')).toBe(true);
  });
});

interface ApprovalVector extends Vector {
  readonly key: string;
  readonly namespace: string;
  readonly message: string;
  readonly sshsig: string;
}

describe('approval.jsonl', () => {
  const rows = readVectors('approval');
  test.each(named(rows))('%s', (_, vector) => {
    const { key, namespace, message, sshsig, verdict } = vector as ApprovalVector;
    const parsed = parseSshPublicKey(key);
    const answer = parsed.ok && verifySshsig({ sshsig, namespace, message, key: parsed.value }).ok;
    expect(answer).toBe(verdict === 'accept');
  });
});

describe('body.jsonl', () => {
  test.each(named(readVectors('body')))('%s', (_, row) => {
    const parsed = parseCanonical(row.text ?? '', limits);
    const body = parsed.ok && isJsonObject(parsed.value) ? parseBody(parsed.value) : undefined;
    expect(body?.ok ?? false).toBe(row.verdict === 'accept');
    if (body?.ok === true) expect(eventId(body.value)).toBe(fieldOf(row, 'id'));
  });
});

interface LineVector extends Vector {
  readonly mesh: string;
  readonly key: string;
  readonly id: string;
  readonly link: string;
  readonly held: string | null;
  readonly signature: 'valid' | 'invalid';
}

describe('line.jsonl', () => {
  test.each(named(readVectors('line')))('%s', (_, vector) => {
    const row = vector as LineVector;
    const parsed = parseLine(inputBytes(row), row.mesh);
    expect(parsed.ok).toBe(row.verdict === 'accept');
    if (!parsed.ok) return;
    const line = parsed.value;
    expect({ id: line.id, link: line.link, held: line.fault, hasBody: line.body !== null }).toEqual({
      id: row.id,
      link: row.link,
      held: row.held,
      hasBody: row.held === null,
    });
    const key = Buffer.from(row.key, 'hex');
    expect(verifyEd25519(key, lineMessage(line.link), signatureOf(line))).toBe(row.signature === 'valid');
  });

  test('what a writer makes of an accepted body is the vector, byte for byte', () => {
    const plain = (readVectors('line') as readonly LineVector[]).filter(
      (row) => row.verdict === 'accept' && row.signature === 'valid',
    );
    let rebuilt = 0;
    for (const row of plain) {
      const parsed = parseLine(row.text ?? '', row.mesh);
      if (!parsed.ok || parsed.value.body === null || parsed.value.body.mesh !== row.mesh) continue;
      const { auth, body, log, prev, seq } = parsed.value;
      const line = buildLine({ body, auth, log, prev, seq }, () => signatureOf(parsed.value));
      expect(line.text).toBe(row.text);
      rebuilt += 1;
    }
    expect(rebuilt).toBeGreaterThan(8);
  });
});

interface LogVector extends Vector {
  readonly mesh: string;
  readonly host: string;
  readonly keys: readonly { readonly key: string; readonly from: number; readonly upto: number | null }[];
  readonly purged: readonly string[];
  readonly usable: number;
  readonly link: string;
  readonly lines?: readonly string[];
  readonly fileHex?: string;
}

describe('log.jsonl', () => {
  test.each(named(readVectors('log')))('%s', (_, vector) => {
    const row = vector as LogVector;
    const keys: readonly HostKeySpan[] = row.keys.map((span) => ({ ...span, key: Buffer.from(span.key, 'hex') }));
    const start = { host: row.host, mesh: row.mesh, from: { seq: 0, link: row.mesh }, keys };
    const lines = row.lines ?? splitLines(Buffer.from(row.fileHex ?? '', 'hex')).lines;
    const extension = extendLog({ ...start, purged: new Set(row.purged) }, lines);
    expect(extension.tip).toEqual({ host: row.host, seq: row.usable, link: row.link });
    expect(extension.lines.length).toBe(row.usable);
    if (row.lines !== undefined) expect(extension.fault === undefined).toBe(row.verdict === 'accept');
  });
});

describe('trust-op.jsonl', () => {
  test.each(named(readVectors('trust-op')))('%s', (_, row) => {
    const parsed = parseTrustOp(row.text ?? '');
    expect(parsed.ok).toBe(row.verdict === 'accept');
    if (!parsed.ok) return;
    expect(parsed.value.id).toBe(fieldOf(row, 'id'));
    expect(parsed.value.unsupported === null).toBe(fieldOf(row, 'supported'));
  });
});

describe('docs/format.md', () => {
  const document = readFileSync(new URL('../../../docs/format.md', import.meta.url), 'utf8');
  const sentences = new Map(
    document.split(/\n(?=- \*\*F|\n)/).flatMap((block): readonly (readonly [string, boolean])[] => {
      const number = /^- \*\*(F\d+\.\d+)\*\*/.exec(block)?.[1];
      return number === undefined ? [] : [[number, block.includes('**[vector]**')]];
    }),
  );
  const rows = vectorFiles.flatMap((file) => readVectors(file));
  const vectors = new Set(rows.flatMap((row) => row.sentences));

  test('numbers its sentences without gaps or repeats', () => {
    const numbers = [...document.matchAll(/^- \*\*F(\d+)\.(\d+)\*\*/gm)].map(([, section, item]) => [section, item]);
    const seen = new Map<string, number>();
    for (const [section = '', item] of numbers) {
      expect(`F${section}.${item}`).toBe(`F${section}.${(seen.get(section) ?? 0) + 1}`);
      seen.set(section, Number(item));
    }
    expect(numbers.length).toBeGreaterThan(60);
  });

  test('has every sentence that a vector names', () => {
    expect([...vectors].filter((number) => !sentences.has(number))).toEqual([]);
  });

  test('has a vector for every sentence that says so', () => {
    expect([...sentences].filter(([number, tagged]) => tagged && !vectors.has(number))).toEqual([]);
  });

  test('has something to refuse for every sentence that says so', () => {
    const refused = new Set(
      rows.filter((row) => row.verdict === 'reject' || 'signature' in row).flatMap((row) => row.sentences),
    );
    const acceptOnly = new Set(['F1.10', 'F3.2', 'F3.11', 'F4.12']);
    const bare = [...sentences].filter(([number, tagged]) => tagged && !refused.has(number) && !acceptOnly.has(number));
    expect(bare).toEqual([]);
  });
});

function fieldOf(row: Vector, name: string): unknown {
  return (row as unknown as JsonObject)[name];
}

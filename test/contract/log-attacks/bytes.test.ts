/**
 * Attacks on signed logs that were collected outside (../shared/vectors/log-attacks.json), in our format: truncation, order,
 * spelling, parsing, cost, display. Each title begins with the name of the attack there; coverage.test.ts counts them.
 */
import { describe, expect, test } from 'vitest';
import { renderViews } from '../../../src/core/views/render.ts';
import { viewSourceOf } from '../../../src/core/views/view-source.ts';
import { approvalVerdict } from '../../../src/core/trust/charter.ts';
import { parseBody, type Auth } from '../../../src/core/event.ts';
import { parseLine } from '../../../src/core/line.ts';
import { extendLog } from '../../../src/core/log.ts';
import { splitLines } from '../../../src/core/segments.ts';
import { canonicalJson, type JsonValue } from '../../../src/crypto/canonical.ts';
import { verifySshsig, type Approval, type ApprovalVerifier } from '../../../src/crypto/sshsig.ts';
import { approvalOf, fact, mallory, orders, signedMesh, type SignedMesh } from '../../lib/signed-mesh.ts';
import { craig } from '../../lib/trust-ops.ts';

/** A mesh in which alpha and beta said five facts each. */
function talkative(): SignedMesh {
  const mesh = signedMesh();
  for (const host of ['alpha', 'beta']) {
    for (let count = 1; count <= 5; count += 1) mesh.say(host, fact(`note/${host}-${count}`, String(count)));
  }
  return mesh;
}

function textsOf(mesh: SignedMesh, log: string): string[] {
  return (mesh.logs.get(log) ?? []).map(String);
}

/** The bytes of a file, read as a segment. */
function asFile(mesh: SignedMesh, log: string, text: string): void {
  const { lines, rest } = splitLines(new TextEncoder().encode(text));
  mesh.logs.set(log, rest.length === 0 ? [...lines] : [...lines, rest]);
}

/** How many facts of alpha and of beta are served. */
function servedCounts(mesh: SignedMesh): readonly number[] {
  const { record } = mesh.verdict();
  const isServed = (subject: string): boolean => {
    try {
      return record(subject).status === 'served';
    } catch {
      return false;
    }
  };
  return ['alpha', 'beta'].map((host) => [1, 2, 3, 4, 5].filter((count) => isServed(`note/${host}-${count}`)).length);
}

describe('truncation and order', () => {
  test('truncate-last-line: half a line is named and not folded, what stands before it counts, other logs are whole', () => {
    const mesh = talkative();
    const file = `${textsOf(mesh, 'alpha').join('\n')}\n`;
    for (const cut of [2, 100, 400]) {
      asFile(mesh, 'alpha', file.slice(0, -cut));
      expect(mesh.extend('alpha')).toMatchObject({ tip: { seq: 4 }, fault: { seq: 5 } });
      expect(servedCounts(mesh)).toEqual([4, 5]);
    }
  });

  test('truncate-last-line: a line that was glued to half a line is no line, and nothing behind it counts', () => {
    const mesh = talkative();
    const [one = '', two = '', three = ''] = textsOf(mesh, 'alpha');
    asFile(mesh, 'alpha', `${one}\n${two.slice(0, 90)}${two}\n${three}\n`);
    expect(mesh.extend('alpha')).toMatchObject({ tip: { seq: 1 }, fault: { seq: 2 } });
    expect(servedCounts(mesh)).toEqual([1, 5]);
  });

  test('truncate-middle-deleted: a line that is missing in the middle is a fault of the log, not a deletion', () => {
    const mesh = talkative();
    const lines = textsOf(mesh, 'alpha');
    mesh.logs.set('alpha', lines.toSpliced(2, 1));
    expect(mesh.extend('alpha')).toMatchObject({ tip: { seq: 2 }, fault: { code: 'SEQ', seq: 3 } });
    // What a host holds already is extended, never replaced: the shortened log is no extension of it.
    const held = parseLine(lines[3] ?? '', mesh.meshId);
    const from = held.ok ? { seq: held.value.seq, link: held.value.link } : { seq: 0, link: '' };
    const next = extendLog({ host: 'alpha', mesh: mesh.meshId, from, keys: [] }, lines.slice(2, 3));
    expect(next).toMatchObject({ tip: from, fault: { code: 'SEQ', seq: 5 } });
  });

  test('reorder-lines: no order of the lines of a log but its own is a log; every order between logs folds alike', () => {
    const mesh = talkative();
    const lines = textsOf(mesh, 'alpha');
    const roots = new Set(orders.map(([order, inTurns]) => mesh.verdict(order, inTurns).root));
    expect(roots.size).toBe(1);
    for (let at = 0; at < 4; at += 1) {
      const swapped = lines.with(at, lines[at + 1] ?? '').with(at + 1, lines[at] ?? '');
      mesh.logs.set('alpha', swapped);
      expect(mesh.extend('alpha')).toMatchObject({ tip: { seq: at }, fault: { code: 'SEQ', seq: at + 1 } });
    }
  });

  test('merge-union-conflict-markers: a marker is a fault at its line; what stands before it counts, nothing crashes', () => {
    const mesh = talkative();
    const [one, two, three, four, five] = textsOf(mesh, 'alpha');
    asFile(mesh, 'alpha', `${one}\n${two}\n<<<<<<< HEAD\n${three}\n=======\n${four}\n>>>>>>> x\n${five}\n`);
    expect(mesh.extend('alpha')).toMatchObject({ tip: { seq: 2 }, fault: { seq: 3 } });
    expect(servedCounts(mesh)).toEqual([2, 5]);
  });
});

describe('canonical form', () => {
  const mesh = talkative();
  const [good = ''] = textsOf(mesh, 'alpha');

  test('canon-noncanonical-line: every other spelling of a line is refused, so no event has two', () => {
    const spellings = [
      good.replace('{"body"', '{ "body"'),
      good.replace('"v":1}', '"v":1.0}'),
      good.replace('"v":1}', '"v":1e0}'),
      good.replace('"kind"', '"\\u006bind"'),
      good.replace(/^\{"body":(.*),"log":"alpha"/, '{"log":"alpha","body":$1'),
      `${good} `,
      `\ufeff${good}`,
      good.replace('"seq":1', '"seq":1,"seq":1'),
      good.replace('"kind":"assert"', '"kind":"assert","kind":"assert"'),
    ];
    for (const text of spellings) {
      expect(text).not.toBe(good);
      expect(parseLine(text, mesh.meshId).ok).toBe(false);
    }
  });

  test('canon-lone-surrogate: neither escaped nor as bytes, in values and in keys', () => {
    for (const evil of ['\\ud83d', '\\udc00\\ud83d']) {
      expect(parseLine(good.replace('"value":"1"', `"value":"${evil}"`), mesh.meshId).ok).toBe(false);
      expect(parseLine(good.replace('"value":"1"', `"value":"1","w${evil}":"1"`), mesh.meshId).ok).toBe(false);
    }
    const bytes = Buffer.from(good.replace('"value":"1"', '"value":"@"')).map((byte) => (byte === 0x40 ? 0xed : byte));
    expect(parseLine(bytes, mesh.meshId)).toMatchObject({ ok: false, code: 'NOT_UTF8' });
  });

  test('canon-infinity: a number that is no safe integer is refused before anybody signs null', () => {
    for (const number of ['1e400', '-1e400', '9007199254740993', '-0', '1.5', 'NaN']) {
      expect(parseLine(good.replace('"seq":1', `"seq":${number}`), mesh.meshId).ok).toBe(false);
    }
    expect(() => canonicalJson({ n: Infinity })).toThrow('not allowed');
  });

  test('canon-nfc: nothing is normalised after it was signed: two spellings of a text are two events', () => {
    const other = signedMesh();
    const composed = other.body('alpha', fact('note/coffee', 'caf\u00e9'));
    const decomposed = { ...composed, value: 'cafe\u0301' };
    const lines = [composed, decomposed].map((said) => other.carry(said, { log: 'alpha' }));
    expect(new Set(lines.map(({ id }) => id)).size).toBe(2);
    expect(lines.map(({ body }) => body?.value)).toEqual(['caf\u00e9', 'cafe\u0301']);
    expect(other.verdict().record('note/coffee')).toMatchObject({ status: 'parked', parked: { count: 2 } });
    expect(parseBody({ ...composed, subject: 'note/caf\u00e9' }).ok).toBe(false);
  });

  test('event-is-array-null: a line that is no object ends the log; a body that is none is held out, and the log goes on', () => {
    for (const text of ['null', '[]', '1', '"x"', 'true', '{}', '']) {
      const cut = talkative();
      cut.logs.set('alpha', textsOf(cut, 'alpha').with(2, text));
      expect(cut.extend('alpha')).toMatchObject({ tip: { seq: 2 }, fault: { seq: 3 } });
      expect(servedCounts(cut)).toEqual([2, 5]);
    }
    const odd = signedMesh();
    for (const body of [null, [], 1, 'x', true, {}] as const) odd.carry(body, { log: 'alpha' });
    odd.say('alpha', fact('note/alpha', 'after'));
    const { served, faults, alarms } = odd.verdict();
    expect({ served: served('note/alpha'), faults, alarms }).toEqual({
      served: 'after',
      faults: {},
      alarms: ['INVALID  alpha'],
    });
  });
});

describe('parsing', () => {
  test('line-separators: lines are split at 0x0A alone; a carriage return is part of a line, and no line has one', () => {
    const mesh = signedMesh();
    mesh.say('alpha', fact('note/alpha', 'a\u2028b\u0085c'));
    mesh.say('alpha', fact('note/beta', 'b'));
    const [one = '', two = ''] = textsOf(mesh, 'alpha');
    asFile(mesh, 'alpha', `${one}\n${two}\n`);
    expect(mesh.extend('alpha').tip.seq).toBe(2);
    expect(mesh.verdict().served('note/alpha')).toBe('a\u2028b\u0085c');
    asFile(mesh, 'alpha', `${one}\r\n${two}\r\n`);
    expect(mesh.extend('alpha')).toMatchObject({ tip: { seq: 0 }, fault: { seq: 1 } });
    asFile(mesh, 'alpha', `${one}\r${two}\n`);
    expect(mesh.extend('alpha')).toMatchObject({ tip: { seq: 0 }, fault: { seq: 1 } });
  });

  test('empty-lines: a blank line is a fault at its place, on every host alike', () => {
    const mesh = talkative();
    const lines = textsOf(mesh, 'alpha');
    asFile(mesh, 'alpha', `${lines.slice(0, 3).join('\n')}\n\n${lines.slice(3).join('\n')}\n`);
    expect(mesh.extend('alpha')).toMatchObject({ tip: { seq: 3 }, fault: { seq: 4 } });
    expect(servedCounts(mesh)).toEqual([3, 5]);
  });
});

describe('cost', () => {
  test('line-count: a million worthless lines cost one look', () => {
    const mesh = signedMesh();
    let asked = 0;
    function* yes(): Generator<string> {
      for (; asked < 1_000_000;) {
        asked += 1;
        yield '{}';
      }
    }
    const start = { host: 'alpha', mesh: mesh.meshId, from: { seq: 0, link: mesh.meshId }, keys: [] };
    expect(extendLog(start, yes())).toMatchObject({ lines: [], fault: { seq: 1 } });
    expect(asked).toBe(1);
  });

  test('many-bad-signatures: an approval under an unknown name or a foreign key is refused without its mathematics', () => {
    const mesh = signedMesh();
    const said = mesh.body('alpha', fact('note/alpha', 'one'));
    const { charter } = mesh.verdict();
    const about = {
      message: canonicalJson(said as unknown as JsonValue),
      namespace: 'memd-event',
      subject: said.subject,
    };
    const asked: Approval[] = [];
    const verify: ApprovalVerifier = (approval) => {
      asked.push(approval);
      return verifySshsig(approval);
    };
    const judge = (auth: Auth): string => approvalVerdict(charter, auth, about, verify);
    const huge = Buffer.alloc(20_000, 7).toString('base64');
    const unknown = { ...approvalOf(said, { as: mallory }), sshsig: huge };
    for (let count = 0; count < 1_000; count += 1) {
      expect(judge(unknown)).toBe('unknown');
      expect(judge({ ...unknown, signer: 'craig' })).toBe('forged');
    }
    expect(asked).toEqual([]);
    // In the name of a signer's key, but made by another: told by what stands in the signature.
    const forged = approvalOf(said, { as: craig, key: mallory.key });
    expect(judge({ ...forged, key: craig.key.public.fingerprint })).toBe('forged');
    expect(asked.map((approval) => verifySshsig(approval))).toMatchObject([{ ok: false, code: 'KEY_MISMATCH' }]);
    expect(judge(approvalOf(said, { as: craig }))).toBe('ok');
    expect(asked).toHaveLength(2);
  });
});

describe('display', () => {
  test('terminal-escape: a subject has no such characters; a text is kept as it is and shown escaped', () => {
    const mesh = signedMesh();
    const base = mesh.body('alpha', fact('note/alpha', 'one')) as unknown as Record<string, JsonValue>;
    for (const evil of ['note/\u001b[2J', 'note/a\r', 'note/\u202egnp.exe', 'note/a\u200bb']) {
      expect(parseBody({ ...base, subject: evil })).toMatchObject({ ok: false, code: 'FIELD_VALUE' });
    }
    expect(parseLine(canonicalJson({ ...base, value: '\u001b[2J' }), mesh.meshId).ok).toBe(false);
    const raw = '\u202egnp.exe \u200b| =cmd|x';
    const { id } = mesh.say('alpha', fact('note/alpha', raw));
    const { fold, view } = mesh.verdict();
    expect(view(id).body?.value).toBe(raw);
    // index.json is for programs and has exact strings; what people and agents read is the Markdown.
    const files = [...renderViews(viewSourceOf(fold))].filter(([name]) => name.endsWith('.md'));
    expect(files.filter(([, file]) => /[\u001b\u202e\u200b]/.test(file)).map(([name]) => name)).toEqual([]);
    expect(files.some(([, file]) => file.includes('gnp.exe'))).toBe(true);
  });

  test('csv-formula: a subject never begins like a formula; nothing is exported as a table', () => {
    const mesh = signedMesh();
    const base = mesh.body('alpha', fact('note/alpha', 'one')) as unknown as Record<string, JsonValue>;
    for (const subject of ['=1+1', '+1', '@x', '-1', 'note/=1+1'])
      expect(parseBody({ ...base, subject }).ok).toBe(false);
    mesh.say('alpha', fact('note/alpha', '=cmd|x!A1'));
    const files = [...renderViews(viewSourceOf(mesh.verdict().fold)).values()];
    expect(files.flatMap((file) => file.split('\n')).filter((line) => /^[=+@]/.test(line))).toEqual([]);
  });
});

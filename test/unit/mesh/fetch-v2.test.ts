import { expect, describe, test } from 'vitest';
import { fetchReader, isObjectId, printFetchRequest, type FetchStep } from '../../../src/mesh/fetch/fetch-v2.ts';
import { dataPacket, packetReader } from '../../../src/mesh/fetch/pkt-line.ts';

const bounds = { bytesMax: 10_000, objectsMax: 10 };
const bytes = (...parts: (string | Uint8Array)[]): Buffer =>
  Buffer.concat(parts.map((part) => Buffer.from(part as never)));
const band = (number: number, data: string | Uint8Array): Uint8Array => {
  const body = bytes(Uint8Array.of(number), data);
  return bytes((body.length + 4).toString(16).padStart(4, '0'), body);
};
const packHeader = (count: number, version = 2): Buffer => {
  const header = Buffer.from('PACK\0\0\0\0\0\0\0\0', 'latin1');
  header.writeUInt32BE(version, 4);
  header.writeUInt32BE(count, 8);
  return header;
};
const greeting = [
  'version 2\n',
  'agent=git/2.39.5\n',
  'ls-refs=unborn\n',
  'fetch=shallow wait-for-done\n',
  'object-format=sha1\n',
]
  .map(dataPacket)
  .concat(bytes('0000'));
const goodAnswer = bytes(
  ...greeting,
  dataPacket('packfile\n'),
  band(2, 'progress'),
  band(1, packHeader(3).subarray(0, 5)),
  band(1, bytes(packHeader(3).subarray(5), 'abc')),
  band(1, 'rest'),
  '0000',
);

/** Feeds chunks; returns the merged pack bytes, the object count and the end, or the first fault. */
function readAll(
  chunks: Iterable<Uint8Array>,
  limits = bounds,
): { pack: string; objects?: number; fault?: string; detail?: string } {
  const reader = fetchReader(limits);
  const pack: Buffer[] = [];
  let objects: number | undefined;
  const take = (step: FetchStep): void => {
    if (step.kind === 'pack') pack.push(Buffer.from(step.bytes));
    if (step.kind === 'objects') objects = step.count;
  };
  for (const chunk of chunks) {
    const result = reader.push(chunk);
    if (!result.ok) return { pack: '', fault: result.code, detail: result.detail };
    result.value.forEach(take);
  }
  const end = reader.finish();
  const whole = { pack: Buffer.concat(pack).toString('latin1'), ...(objects === undefined ? {} : { objects }) };
  return end.ok ? whole : { ...whole, fault: end.code, detail: end.detail };
}

describe('fetch answer', () => {
  const expected = { pack: bytes(packHeader(3), 'abcrest').toString('latin1'), objects: 3 };

  test('a good answer reads the same whole, byte by byte and split at every byte', () => {
    expect(readAll([goodAnswer])).toEqual(expected);
    expect(readAll([...goodAnswer].map((byte) => Uint8Array.of(byte)))).toEqual(expected);
    for (let at = 0; at <= goodAnswer.length; at++) {
      expect(readAll([goodAnswer.subarray(0, at), goodAnswer.subarray(at)])).toEqual(expected);
    }
  });

  test('an answer cut at any byte is a fault, never an end', () => {
    for (let at = 0; at < goodAnswer.length; at++) {
      expect(readAll([goodAnswer.subarray(0, at)]).fault, `cut at ${at}`).toBe('PROTOCOL');
    }
  });

  test('of the newest commits only says where it is cut, before the pack', () => {
    const oid = '5'.repeat(40);
    const cutAnswer = (...notices: readonly string[]): Buffer =>
      bytes(
        ...greeting,
        dataPacket('shallow-info\n'),
        ...notices.map(dataPacket),
        '0001',
        dataPacket('packfile\n'),
        band(1, packHeader(0)),
        '0000',
      );
    const limits = { ...bounds, commitsMax: 10 };
    const steps = fetchReader(limits).push(cutAnswer(`shallow ${oid}`));
    expect(steps.ok && steps.value[0]).toEqual({ kind: 'cut', oid });
    expect(
      readAll(
        [...cutAnswer(`shallow ${oid}`)].map((byte) => Uint8Array.of(byte)),
        limits,
      ).fault,
    ).toBeUndefined();
    expect(readAll([cutAnswer()], limits).fault).toBeUndefined();
    const detailOf = (...notices: readonly string[]): string | undefined =>
      readAll([cutAnswer(...notices)], limits).detail;
    expect(detailOf(`shallow ${oid}`, `shallow ${'6'.repeat(40)}`)).toMatch(/not linear/);
    expect(detailOf(`unshallow ${oid}`)).toMatch(/unexpected notice/);
    expect(detailOf('shallow HEAD')).toMatch(/unexpected notice/);
    // Who asked for everything is told of no cut.
    expect(readAll([cutAnswer(`shallow ${oid}`)]).detail).toMatch(/unexpected section/);
  });

  const pack = (...parts: (string | Uint8Array)[]): Buffer => bytes(...greeting, dataPacket('packfile\n'), ...parts);
  test.each<[string, Buffer, string]>([
    ['login text before the protocol', bytes('Welcome!\n'), 'PROTOCOL'],
    ['protocol 0', bytes(dataPacket(`${'1'.repeat(40)} HEAD\0multi_ack\n`), '0000'), 'PROTOCOL'],
    ['protocol 1', bytes(dataPacket('version 1\n'), '0000'), 'PROTOCOL'],
    ['an empty greeting', bytes('0000'), 'PROTOCOL'],
    ['a greeting without fetch', bytes(dataPacket('version 2\n'), dataPacket('ls-refs\n'), '0000'), 'PROTOCOL'],
    ['a SHA-256 repository', bytes(dataPacket('version 2\n'), dataPacket('object-format=sha256\n')), 'PROTOCOL'],
    ['an endless greeting', bytes(dataPacket('version 2\n'), ...Array(65).fill(dataPacket('x\n'))), 'PROTOCOL'],
    ['a long greeting line', bytes(dataPacket('version 2\n'), dataPacket('a'.repeat(1_001))), 'PROTOCOL'],
    ['a delimiter', bytes('0001'), 'PROTOCOL'],
    ['a response end', bytes('0002'), 'PROTOCOL'],
    ['length 3', bytes('0003'), 'PROTOCOL'],
    ['an empty packet', bytes('0004'), 'PROTOCOL'],
    ['a length over 65520', bytes('fff1', 'a'.repeat(100)), 'PROTOCOL'],
    ['a length that is not hexadecimal', bytes('zzzz'), 'PROTOCOL'],
    ['a negative length', bytes('-001'), 'PROTOCOL'],
    ['acknowledgements', bytes(...greeting, dataPacket('acknowledgments\n')), 'PROTOCOL'],
    ['a shallow notice', bytes(...greeting, dataPacket('shallow-info\n')), 'PROTOCOL'],
    ['no pack at all', bytes(...greeting, '0000'), 'PROTOCOL'],
    ['an empty pack section', pack('0000'), 'PROTOCOL'],
    ['half a pack header', pack(band(1, 'PACK\0'), '0000'), 'PROTOCOL'],
    ['something else than a pack', pack(band(1, 'JUNKJUNKJUNKJUNK')), 'PROTOCOL'],
    ['a version 9 pack', pack(band(1, packHeader(0, 9))), 'PROTOCOL'],
    ['an unknown side band', pack(band(9, 'x')), 'PROTOCOL'],
    ['bytes after the end', bytes(goodAnswer, '0000'), 'PROTOCOL'],
    ['half a length after the end', bytes(goodAnswer, '00'), 'PROTOCOL'],
    ['too many objects', pack(band(1, packHeader(11))), 'TOO_LARGE'],
    ['4294967295 objects', pack(band(1, packHeader(0xffff_ffff))), 'TOO_LARGE'],
    ['too many bytes', pack(band(1, packHeader(1)), band(1, 'a'.repeat(10_000))), 'TOO_LARGE'],
    ['a fatal error on the side band', pack(band(3, 'fatal\u001b[2J\n')), 'REMOTE_ERROR'],
    ['an ERR packet', bytes(dataPacket('ERR access denied\n')), 'REMOTE_ERROR'],
    ['endless progress text', pack(...Array(70).fill(band(2, 'p'.repeat(1_000)))), 'PROTOCOL'],
  ])('%s is refused', (_name, answer, fault) => {
    expect(readAll([answer]).fault).toBe(fault);
    expect(readAll([...answer].map((byte) => Uint8Array.of(byte))).fault).toBe(fault);
  });

  test('words of the peer lose their escape sequences', () => {
    const result = readAll([bytes(dataPacket('ERR \u001b]0;pwn\u0007\u001b[2J\u202egone\n'))]);
    expect(result.detail).toBe(']0;pwn [2J gone');
  });

  test('no step is seen before the pack header is judged', () => {
    const reader = fetchReader(bounds);
    expect(reader.push(pack(band(1, packHeader(1).subarray(0, 11))))).toEqual({ ok: true, value: [] });
  });
});

describe('fetch request', () => {
  test('is what git upload-pack expects, byte for byte', () => {
    const request = Buffer.from(printFetchRequest({ wants: ['a'.repeat(40)], haves: ['b'.repeat(40)] })).toString();
    expect(request).toBe(
      '0012command=fetch\n000fagent=memd\n0017object-format=sha1\n0001000ethin-pack\n0010no-progress\n000eofs-delta\n' +
        `0032want ${'a'.repeat(40)}\n0032have ${'b'.repeat(40)}\n0009done\n0000`,
    );
  });

  test('never carries what is not an object id', () => {
    for (const want of ['refs/heads/x', '', 'A'.repeat(40), `${'a'.repeat(40)}\n`, '0'.repeat(40), 'a'.repeat(64)]) {
      expect(isObjectId(want)).toBe(false);
      expect(() => printFetchRequest({ wants: [want], haves: [] })).toThrow(/object ids/);
    }
  });
});

describe('packets', () => {
  test('a longest packet is read without copying when it lies in one chunk', () => {
    const packet = bytes('fff0', Buffer.alloc(65_516, 7));
    const read = packetReader().push(packet);
    const first = read.packets[0];
    expect(first?.kind === 'data' && first.payload.buffer === packet.buffer).toBe(true);
  });

  test('upper-case digits are digits', () => {
    expect(packetReader().push(bytes('000Aabcdef')).packets).toHaveLength(1);
  });
});

/** Packs that no git would make. Source: gitformat-pack(5). */
import { randomBytes } from 'node:crypto';
import { constants, deflateSync } from 'node:zlib';
import { sha1Hex } from '../../src/crypto/hash.ts';

/** Seven bits at a time, the lowest first. */
function varint(value: number, first: readonly number[] = []): number[] {
  const out = [...first];
  let rest = value;
  do {
    if (out.length > 0) out[out.length - 1] = (out.at(-1) ?? 0) | 128;
    out.push(rest & 127);
    rest = Math.floor(rest / 128);
  } while (rest > 0);
  return out;
}

/** Type and size of an object that follows. */
function entryHeader(type: number, size: number): Buffer {
  const low = [(type << 4) | (size & 15)];
  const high = Math.floor(size / 16);
  return Buffer.from(high === 0 ? low : varint(high, low));
}

const blob = 3;
const commit = 1;
const tree = 2;
const refDelta = 7;

function entry(type: number, content: Uint8Array, level: number = constants.Z_BEST_SPEED): Buffer {
  return Buffer.concat([entryHeader(type, content.length), deflateSync(content, { level })]);
}

function packHeader(count: number): Buffer {
  const header = Buffer.from('PACK\0\0\0\u0002\0\0\0\0', 'latin1');
  header.writeUInt32BE(count, 8);
  return header;
}

function sealed(entries: readonly Uint8Array[], count = entries.length): Buffer {
  const body = Buffer.concat([packHeader(count), ...entries]);
  return Buffer.concat([body, Buffer.from(sha1Hex(body), 'hex')]);
}

/** Zeros: a small pack, a large object. */
export function blobBomb(bytes: number): Buffer {
  return sealed([entry(blob, Buffer.alloc(bytes), 9)]);
}

/** Many objects of a size that git still takes, together as large as `count` times that. */
export function manyBlobs(count: number, bytes: number): Buffer {
  const content = Buffer.alloc(bytes);
  return sealed(
    Array.from({ length: count }, (_, index) => {
      content.writeUInt32BE(index, 0);
      return entry(tree, content, 9);
    }),
  );
}

/** Deltas on one base of 64 KiB, each `copies` times as large. */
export function deltaBomb(deltas: number, copies: number): Buffer {
  const base = Buffer.alloc(65_536);
  const baseId = Buffer.from(sha1Hex(Buffer.concat([Buffer.from('blob 65536\0'), base])), 'hex');
  const entries = [entry(blob, base, 9)];
  for (let index = 0; index < deltas; index += 1) {
    const delta = Buffer.concat([
      Buffer.from(varint(65_536)),
      Buffer.from(varint(4 + 65_536 * copies)),
      Buffer.from([4]),
      Buffer.from(String(index).padStart(4, '0')),
      Buffer.alloc(copies, 0x80),
    ]);
    entries.push(Buffer.concat([entryHeader(refDelta, delta.length), baseId, deflateSync(delta, { level: 9 })]));
  }
  return sealed(entries);
}

/** A linear history of empty commits: nothing in it is wrong but that it is no log. */
export function manyCommits(count: number): Buffer {
  const emptyTree = sha1Hex(Buffer.from('tree 0\0'));
  const entries = [entry(tree, new Uint8Array())];
  let parent = '';
  for (let index = 1; index < count; index += 1) {
    const text = `tree ${emptyTree}\n${parent}author x <x@x> 1 +0000\ncommitter x <x@x> 1 +0000\n\n${index}\n`;
    parent = `parent ${sha1Hex(Buffer.from(`commit ${text.length}\0${text}`))}\n`;
    entries.push(entry(commit, Buffer.from(text)));
  }
  return sealed(entries);
}

/** Objects of incompressible bytes, one after the other, without an end. */
export function* endlessPack(): Generator<Buffer> {
  yield packHeader(100_000);
  for (;;) yield entry(blob, randomBytes(32_768));
}

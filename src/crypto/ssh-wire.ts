/** Length-prefixed strings of the ssh protocol (RFC 4251 section 5), as used in key blobs and SSHSIG. Pure. */

/** Reads fields in order. Every method answers undefined once the bytes do not hold what was asked for. */
export interface WireReader {
  /** Next string as bytes: a view of the blob, not a copy. */
  readonly bytes: () => Uint8Array | undefined;
  /** Next string as text; undefined also when a byte is not printable ASCII. */
  readonly ascii: () => string | undefined;
  /** Next 32-bit number. */
  readonly uint32: () => number | undefined;
  /** `count` bytes without a length in front. */
  readonly raw: (count: number) => Uint8Array | undefined;
  /** Everything that was not read yet. */
  readonly rest: () => Uint8Array;
  /** True iff everything was read. */
  readonly atEnd: () => boolean;
}

/** Reader over a blob. Pure: it keeps its own position and never changes the blob. */
export function readWire(blob: Uint8Array): WireReader {
  let position = 0;
  function raw(count: number): Uint8Array | undefined {
    if (count > blob.length - position) return undefined;
    position += count;
    return blob.subarray(position - count, position);
  }
  function uint32(): number | undefined {
    if (blob.length - position < 4) return undefined;
    let value = 0;
    for (let index = 0; index < 4; index += 1) value = value * 256 + (blob[position + index] as number);
    position += 4;
    return value;
  }
  function bytes(): Uint8Array | undefined {
    const length = uint32();
    return length === undefined ? undefined : raw(length);
  }
  return {
    raw,
    uint32,
    bytes,
    ascii: () => asciiText(bytes()),
    rest: () => raw(blob.length - position) as Uint8Array,
    atEnd: () => position === blob.length,
  };
}

/** One ssh string: 32-bit length and the bytes. Pure. */
export function wireString(data: string | Uint8Array): Uint8Array {
  const content = typeof data === 'string' ? asciiBytes(data) : data;
  const whole = new Uint8Array(4 + content.length);
  whole.set(wireUint32(content.length));
  whole.set(content, 4);
  return whole;
}

/** A 32-bit number, big endian. Pure. */
export function wireUint32(value: number): Uint8Array {
  return Uint8Array.of(value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255);
}

/** Bytes of several parts, one after the other. Pure. */
export function concatBytes(parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  const whole = new Uint8Array(length);
  let position = 0;
  for (const part of parts) {
    whole.set(part, position);
    position += part.length;
  }
  return whole;
}

/** True iff both hold the same bytes. Not constant time: public data only. Pure. */
export function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) return false;
  for (let index = 0; index < left.length; index += 1) if (left[index] !== right[index]) return false;
  return true;
}

function asciiText(bytes: Uint8Array | undefined): string | undefined {
  if (bytes === undefined) return undefined;
  let text = '';
  for (const byte of bytes) {
    if (byte < 0x20 || byte > 0x7e) return undefined;
    text += String.fromCharCode(byte);
  }
  return text;
}

function asciiBytes(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index += 1) bytes[index] = text.charCodeAt(index);
  return bytes;
}

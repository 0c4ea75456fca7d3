/**
 * git's pkt-line framing: four hexadecimal digits of length (themselves included), then the payload.
 * Source: gitprotocol-common(5), gitprotocol-v2(5).
 */

/** Longest packet, its four length digits included. */
export const packetBytesMax = 65_520;

/** One packet. A data packet's payload is a view: use it before the next push. */
export type Packet =
  | { readonly kind: 'data'; readonly payload: Uint8Array }
  | { readonly kind: 'flush' }
  | { readonly kind: 'delimiter' };

/** Packets of one chunk, in order; with a fault, those before it, and the reader is of no further use. */
export interface PacketRead {
  readonly packets: readonly Packet[];
  readonly fault?: string;
}

/** Reads packets out of chunks that may be cut anywhere. Holds at most one packet. */
export interface PacketReader {
  push(chunk: Uint8Array): PacketRead;
  /** True between packets: a stream that ends elsewhere was cut. */
  atBoundary(): boolean;
}

/** `0000`. */
export const flushPacket: Uint8Array = Uint8Array.from([48, 48, 48, 48]);
/** `0001`. */
export const delimiterPacket: Uint8Array = Uint8Array.from([48, 48, 48, 49]);

/** Frames one text as a data packet. The text is ours and short. Pure. */
export function dataPacket(text: string): Uint8Array {
  return Buffer.from(`${(Buffer.byteLength(text) + 4).toString(16).padStart(4, '0')}${text}`);
}

/** Starts at a packet boundary. */
export function packetReader(): PacketReader {
  const head = new Uint8Array(4);
  let headFill = 0;
  let size = 0;
  let body: Uint8Array | undefined;
  let bodyFill = 0;

  /** Payload of `size` bytes once `chunk` completes it; a payload that lies in one chunk is not copied. */
  function takePayload(chunk: Uint8Array, at: number): Uint8Array | undefined {
    if (body === undefined && chunk.length - at >= size) return chunk.subarray(at, at + size);
    body ??= new Uint8Array(size);
    const part = chunk.subarray(at, at + size - bodyFill);
    body.set(part, bodyFill);
    bodyFill += part.length;
    return bodyFill === size ? body : undefined;
  }

  function push(chunk: Uint8Array): PacketRead {
    const packets: Packet[] = [];
    let at = 0;
    while (at < chunk.length) {
      if (headFill < 4) {
        head[headFill++] = chunk[at++] ?? 0;
        if (headFill < 4) continue;
        const length = packetLength(head);
        if (length === undefined) return { packets, fault: 'a packet length is not 0, 1 or a number from 5 to 65520' };
        size = length - 4;
        if (length >= 5) continue;
        packets.push({ kind: length === 0 ? 'flush' : 'delimiter' });
        headFill = 0;
        continue;
      }
      const wanted = size - bodyFill;
      const payload = takePayload(chunk, at);
      at += Math.min(wanted, chunk.length - at);
      if (payload === undefined) break;
      packets.push({ kind: 'data', payload });
      [headFill, body, bodyFill] = [0, undefined, 0];
    }
    return { packets };
  }

  return { push, atBoundary: () => headFill === 0 };
}

/** Length said by four digits; undefined for what is not one: other characters, 2, 3, an empty packet, too long. Pure. */
function packetLength(head: Uint8Array): number | undefined {
  let length = 0;
  for (const byte of head) {
    const digit = hexDigit(byte);
    if (digit < 0) return undefined;
    length = length * 16 + digit;
  }
  // 0002 ends a stateless response and 0004 is an empty packet: neither has a place in an answer over one channel.
  return length > packetBytesMax || (length > 1 && length < 5) ? undefined : length;
}

function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  if (byte >= 97 && byte <= 102) return byte - 87;
  if (byte >= 65 && byte <= 70) return byte - 55;
  return -1;
}

/** Positive whole numbers as ssh writes them. Source: RFC 4251 section 5, `mpint`. */

/**
 * Big-endian bytes, without leading zeros, of the content of an `mpint` that is positive and in its shortest form;
 * undefined for zero, a negative number and every longer spelling: OpenSSH takes those, and each would be another
 * signature or key for the same numbers. Pure.
 */
export function positiveMpint(content: Uint8Array | undefined): Uint8Array | undefined {
  const [first, second] = content ?? [];
  if (content === undefined || first === undefined || first >= 0x80) return undefined;
  if (first !== 0) return content;
  return second !== undefined && second >= 0x80 ? content.subarray(1) : undefined;
}

/** The number of big-endian bytes. Pure. */
export function numberOf(bytes: Uint8Array): bigint {
  let hex = '0x0';
  for (const byte of bytes) hex += byte.toString(16).padStart(2, '0');
  return BigInt(hex);
}

/** Length in bits of big-endian bytes without leading zeros. Pure. */
export function bitLength(bytes: Uint8Array): number {
  return bytes.length === 0 ? 0 : bytes.length * 8 - Math.clz32(bytes[0] as number) + 24;
}

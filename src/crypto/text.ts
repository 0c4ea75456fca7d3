/**
 * UTF-8, the only text encoding of the formats. `src/core` has no TextEncoder and no Buffer in its types; it uses these.
 * Source: docs/format.md, section 1.
 */

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** UTF-8 bytes of a string. A lone surrogate becomes U+FFFD, so check `isWellFormed()` first where it matters. Pure. */
export function utf8Bytes(text: string): Uint8Array {
  return encoder.encode(text);
}

/** Number of UTF-8 bytes of a string, without encoding it; a lone surrogate counts 3, as `utf8Bytes` writes it. Pure. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) continue;
    bytes += unit < 0x800 ? 1 : 2;
    if (unit >= 0xd800 && unit <= 0xdbff && isLowSurrogate(text.charCodeAt(index + 1))) index += 1;
  }
  return bytes;
}

/** True iff the UTF-8 form has at most `bytesMax` bytes. Counts only when the length in units leaves it open. Pure. */
export function fitsUtf8(text: string, bytesMax: number): boolean {
  if (text.length > bytesMax) return false;
  return text.length * 3 <= bytesMax || utf8Length(text) <= bytesMax;
}

/**
 * Text of exactly these UTF-8 bytes, or undefined when they are not UTF-8. A byte order mark is kept as U+FEFF, so that
 * the strict parser refuses it instead of losing it. Pure.
 */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/**
 * Characters that a view never prints raw, as fixed ranges: the Unicode tables of the running Node would make two hosts
 * of different version render different bytes.
 */

type Range = readonly [from: number, upto: number];

/**
 * Invisible, reordering or line-breaking in some reader: controls, bidirectional marks, zero width, fillers, tag
 * characters (text that only a model sees), variation selectors, white space other than U+0020, private use.
 */
const invisible: readonly Range[] = [
  [0x0000, 0x001f],
  [0x007f, 0x00a0],
  [0x00ad, 0x00ad],
  [0x034f, 0x034f],
  [0x061c, 0x061c],
  [0x115f, 0x1160],
  [0x1680, 0x1680],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x2000, 0x200f],
  [0x2028, 0x202f],
  [0x205f, 0x206f],
  [0x2800, 0x2800],
  [0x3000, 0x3000],
  [0x3164, 0x3164],
  [0xd800, 0xf8ff],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff0, 0xfffc],
  [0xfffe, 0xffff],
  [0x13430, 0x1345f],
  [0x1bca0, 0x1bcaf],
  [0x1d173, 0x1d17a],
  [0xe0000, 0x10ffff],
];

/** Drawn over the character before them; a long run of them paints over neighbouring lines. */
const combining: readonly Range[] = [
  [0x0300, 0x036f],
  [0x0483, 0x0489],
  [0x1ab0, 0x1aff],
  [0x1dc0, 0x1dff],
  [0x20d0, 0x20ff],
  [0xfe20, 0xfe2f],
];

/** Another spelling of an ASCII letter, digit or mark, wherever it stands. */
const compatibility: readonly Range[] = [
  [0x2024, 0x2025],
  [0x2044, 0x2044],
  [0x2102, 0x2102],
  [0x210a, 0x2115],
  [0x2119, 0x211d],
  [0x2124, 0x2124],
  [0x2128, 0x2138],
  [0x213c, 0x213f],
  [0x2145, 0x2149],
  [0x2215, 0x2216],
  [0x29f8, 0x29f9],
  [0xfb00, 0xfb06],
  [0xff0f, 0xff19],
  [0xff20, 0xff3c],
  [0xff41, 0xff5a],
  [0x1d400, 0x1d7ff],
];

/** Scripts whose letters pass for Latin ones when they stand inside a Latin word. */
const lookalike: readonly Range[] = [
  [0x0370, 0x03ff],
  [0x0400, 0x052f],
  [0x0530, 0x058f],
  [0x13a0, 0x13ff],
  [0x1f00, 0x1fff],
  [0xab70, 0xabbf],
];

function isIn(ranges: readonly Range[], codePoint: number): boolean {
  return ranges.some(([from, upto]) => codePoint >= from && codePoint <= upto);
}

/** True for a code point that a reader cannot see, or that moves, hides or breaks what is around it. Pure. */
export function isInvisible(codePoint: number): boolean {
  if (codePoint >= 0x20 && codePoint < 0x7f) return false;
  return isIn(invisible, codePoint);
}

/** True for a mark that is drawn over the character before it. Pure. */
export function isCombining(codePoint: number): boolean {
  return codePoint >= 0x0300 && isIn(combining, codePoint);
}

/** True for a character that passes for an ASCII one on its own, such as a fullwidth letter. Pure. */
export function isCompatibility(codePoint: number): boolean {
  return codePoint >= 0x2024 && isIn(compatibility, codePoint);
}

/** True for a letter of a script that passes for Latin inside a Latin word. Pure. */
export function isLookalike(codePoint: number): boolean {
  return codePoint >= 0x0370 && isIn(lookalike, codePoint);
}

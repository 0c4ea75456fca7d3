/** A set of small numbers as bits: what is reachable in a graph of thousands of claims fits a few kilobytes. */

export type BitRow = Uint32Array;

/** A row with room for the numbers 0 to `size` - 1, all absent. */
export function emptyRow(size: number): BitRow {
  return new Uint32Array((size + 31) >>> 5);
}

export function setBit(row: BitRow, bit: number): void {
  row[bit >>> 5] = (row[bit >>> 5] ?? 0) | (1 << (bit & 31));
}

/** 1 if the number is in the row, else 0. Pure. */
export function hasBit(row: BitRow, bit: number): 0 | 1 {
  return (((row[bit >>> 5] ?? 0) >>> (bit & 31)) & 1) as 0 | 1;
}

/** Adds every number of `more`, a row of the same size. */
export function addRow(row: BitRow, more: BitRow): void {
  for (let index = 0; index < row.length; index += 1) row[index] = (row[index] ?? 0) | (more[index] ?? 0);
}

/** How many numbers the row holds. Pure. */
export function bitCount(row: BitRow): number {
  let count = 0;
  for (let index = 0; index < row.length; index += 1) count += wordCount(row[index] ?? 0);
  return count;
}

/** How many numbers are in both rows. Pure. */
export function commonCount(a: BitRow, b: BitRow): number {
  let count = 0;
  for (let index = 0; index < a.length; index += 1) count += wordCount((a[index] ?? 0) & (b[index] ?? 0));
  return count;
}

/** Bits set in 32: pairs, nibbles, bytes, and their sum in the top byte. */
function wordCount(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555);
  const nibbles = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((nibbles + (nibbles >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

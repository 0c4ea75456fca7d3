import { utf8Length } from '../../crypto/text.ts';

/** Room of a file, measured on its finished bytes: UTF-8 bytes, and lines that each end in a newline. */
export interface Budget {
  readonly bytes: number;
  readonly lines: number;
}

/** Room that lines take in a file. Pure. */
export function roomOf(lines: readonly string[]): Budget {
  return { bytes: lines.reduce((sum, line) => sum + utf8Length(line) + 1, 0), lines: lines.length };
}

/** What is left of `from` beside `used`; negative when it does not fit. Pure. */
export function roomBeside(from: Budget, used: Budget): Budget {
  return { bytes: from.bytes - used.bytes, lines: from.lines - used.lines };
}

/** One part of a room out of `parts`. Pure. */
export function partOf(room: Budget, parts: number): Budget {
  return { bytes: Math.floor(room.bytes / parts), lines: Math.floor(room.lines / parts) };
}

/** The higher of two rooms, each way. Pure. */
export function atLeast(room: Budget, floor: Budget): Budget {
  return { bytes: Math.max(room.bytes, floor.bytes), lines: Math.max(room.lines, floor.lines) };
}

/**
 * The longest run of blocks from the start that fits: what comes later never displaces what comes first. Blocks are made
 * one by one, so that the rows that do not fit are never rendered. Pure.
 */
export function takeFitting(
  count: number,
  room: Budget,
  block: (index: number) => readonly string[],
): readonly string[][] {
  const taken: string[][] = [];
  let left = room;
  for (let i = 0; i < count && left.lines > 0; i += 1) {
    const lines = block(i);
    left = roomBeside(left, roomOf(lines));
    if (left.bytes < 0 || left.lines < 0) break;
    taken.push([...lines]);
  }
  return taken;
}

/** A file of lines, each ended. Pure. */
export function fileOf(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}

/**
 * The reading end of `memd watch`. A line is a nudge and nothing more: it is never believed, only looked into. However many
 * come, one is heeded every 100 ms, the newest, and less often where reading one takes long; a peer that sends far more than it may is not listened to any more.
 */
import type { Readable } from 'node:stream';
import {
  headsBytesMax,
  watchBytesMax,
  watchHeedMs,
  watchLinesMax,
  watchReadFreeMs,
  watchReadRest,
  watchWindowMs,
} from '../../core/limits.ts';
import { printable } from '../../store/errors.ts';
import { parseHeads, type Heads } from '../heads.ts';

export interface WatchFault {
  /** PROTOCOL: what came is not what `memd watch` answers. */
  readonly code: 'WATCH_FLOOD' | 'PROTOCOL';
  readonly detail: string;
}

export interface WatchHandlers {
  readonly onHeads: (heads: Heads) => void;
  /** Told once, and nothing afterwards. */
  readonly onFault: (fault: WatchFault) => void;
}

export interface WatchReader {
  /** Tells nothing any more. */
  stop(): void;
}

/** Reads until it is stopped or finds a fault; the caller closes the stream. */
export function readWatch(
  stream: Readable,
  { onHeads, onFault }: WatchHandlers,
  read: typeof parseHeads = parseHeads,
): WatchReader {
  const meter = createMeter();
  let rest: Buffer[] = [];
  let restBytes = 0;
  let newest: Buffer | undefined;
  let heeded = -Infinity;
  let timer: NodeJS.Timeout | undefined;

  function stop(): void {
    clearTimeout(timer);
    stream.off('data', take);
    // What still comes must not hold up the other channels of the connection.
    stream.resume();
  }

  function fail(fault: WatchFault): void {
    stop();
    onFault(fault);
  }

  function heed(): void {
    timer = undefined;
    const since = performance.now();
    const heads = read((newest ?? Buffer.alloc(0)).toString('utf8'));
    const now = performance.now();
    // A mebibyte of news is read in tens of milliseconds, and would come ten times a second.
    heeded = now + Math.max(0, now - since - watchReadFreeMs) * watchReadRest;
    if (heads.ok) onHeads(heads.value);
    else fail({ code: 'PROTOCOL', detail: `its watch cannot be read: ${printable(heads.detail)}` });
  }

  function take(chunk: Buffer): void {
    const end = chunk.lastIndexOf(10);
    const flood = meter.add(chunk);
    if (flood !== undefined) return fail({ code: 'WATCH_FLOOD', detail: flood });
    if (end >= 0) {
      // Only the last whole line counts; where it starts is in this chunk or in what was left before.
      const start = end === 0 ? 0 : chunk.lastIndexOf(10, end - 1) + 1;
      const line = chunk.subarray(start, end);
      newest = start === 0 ? Buffer.concat([...rest, line]) : line;
      [rest, restBytes] = [[], 0];
      timer ??= setTimeout(heed, Math.max(0, heeded + watchHeedMs - performance.now()));
    }
    const tail = chunk.subarray(end + 1);
    if (tail.length > 0) rest.push(tail);
    restBytes += tail.length;
    if (Math.max(restBytes, newest?.length ?? 0) > headsBytesMax)
      fail({ code: 'PROTOCOL', detail: `a line of its watch is longer than ${headsBytesMax} bytes` });
  }

  stream.on('data', take);
  return { stop };
}

/** Counts lines and bytes of a stretch of time. */
function createMeter(): { add(chunk: Buffer): string | undefined } {
  let since = performance.now();
  let [lines, bytes] = [0, 0];
  return {
    add(chunk) {
      const now = performance.now();
      if (now - since > watchWindowMs) [since, lines, bytes] = [now, 0, 0];
      bytes += chunk.length;
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines += 1;
      if (lines <= watchLinesMax && bytes <= watchBytesMax) return undefined;
      return `it sent ${lines} lines and ${bytes} bytes of news within ${Math.round(watchWindowMs / 1_000)} s; it is asked on the schedule instead`;
    },
  };
}

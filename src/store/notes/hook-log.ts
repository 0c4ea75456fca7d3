/** hooks.log: every time a harness hook did less than it should, and why. What went well is not in it. */
import type { Home } from '../home/home.ts';
import { hooksLogBytesMax } from '../../core/limits.ts';
import { appendBounded, readBounded } from './bounded-log.ts';
import { printable } from '../errors.ts';

/** `skipped`: nothing was to be done or could be; `degraded`: an answer without memd; `failed`: our own fault. */
export type HookOutcome = 'skipped' | 'degraded' | 'failed';

export interface HookLogEntry {
  readonly at: string;
  readonly harness: string;
  readonly event: string;
  readonly outcome: HookOutcome;
  readonly why: string;
}

/** Notes one; a home that cannot be written to, or is gone, is no reason to stop an agent. @returns whether it was noted. */
export function noteHook(home: Pick<Home, 'hooksLog'>, entry: HookLogEntry): boolean {
  const clean = { ...entry, harness: printable(entry.harness, 40), event: printable(entry.event, 40) };
  try {
    appendBounded(home.hooksLog, JSON.stringify({ ...clean, why: printable(entry.why) }), hooksLogBytesMax);
    return true;
  } catch {
    return false;
  }
}

/** What stands in the log, oldest first. Lines that are not entries are left out. */
export function readHookLog(home: Pick<Home, 'hooksLog'>): readonly HookLogEntry[] {
  return readBounded(home.hooksLog).flatMap((line) => {
    try {
      const { at, harness, event, outcome, why } = JSON.parse(line) as Record<string, unknown>;
      const texts = [at, harness, event, outcome, why];
      return texts.every((text) => typeof text === 'string')
        ? [{ at, harness, event, outcome, why } as HookLogEntry]
        : [];
    } catch {
      return [];
    }
  });
}

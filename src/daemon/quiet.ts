/**
 * Memory of a memd that has nothing to do. V8 keeps what a load or a burst of appends needed once: with 100 000 events two
 * thirds of it are garbage and free pages. Its memory reducer would collect them step by step and give the pages back,
 * but waits for ever in a process that is idle since its last collection; told to favour memory, it does not wait.
 */
import { setFlagsFromString } from 'node:v8';
import { quietAfterMs } from '../core/limits.ts';

export interface Quiet {
  /** Something is under way: from now on speed counts, until it has been quiet for a while. */
  readonly stir: () => void;
  readonly close: () => void;
}

/** Begins as a stir does. `favour` is told what counts from now on. */
export function keepQuiet(favour: (what: 'memory' | 'speed') => void = favourInV8): Quiet {
  let timer: NodeJS.Timeout | undefined;
  let small = false;
  const become = (next: boolean): void => {
    if (next !== small) favour(next ? 'memory' : 'speed');
    small = next;
  };
  const stir = (): void => {
    become(false);
    if (timer === undefined) timer = setTimeout(() => become(true), quietAfterMs).unref();
    else timer.refresh();
  };
  stir();
  return {
    stir,
    close: () => clearTimeout(timer),
  };
}

/** Heaps that favour memory are collected often: too dear for whoever waits for an answer, so only while nobody does. */
function favourInV8(what: 'memory' | 'speed'): void {
  setFlagsFromString(what === 'memory' ? '--optimize-for-size' : '--no-optimize-for-size');
}

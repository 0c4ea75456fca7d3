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

export interface QuietWork {
  /** Makes what is held smaller, step by step; false when nothing is left to do. */
  readonly pack?: () => boolean;
  /** Is told what counts from now on. */
  readonly favour?: (what: 'memory' | 'speed') => void;
}

/** Begins as a stir does. */
export function keepQuiet({ pack = () => false, favour = favourInV8 }: QuietWork = {}): Quiet {
  let timer: NodeJS.Timeout | undefined;
  let step: NodeJS.Immediate | undefined;
  let small = false;
  const become = (next: boolean): void => {
    if (next !== small) favour(next ? 'memory' : 'speed');
    small = next;
  };
  const shrink = (): void => {
    if (pack()) step = setImmediate(shrink);
    else become(true);
  };
  const stir = (): void => {
    become(false);
    clearImmediate(step);
    if (timer === undefined) timer = setTimeout(shrink, quietAfterMs).unref();
    else timer.refresh();
  };
  stir();
  return {
    stir,
    close() {
      clearTimeout(timer);
      clearImmediate(step);
    },
  };
}

/** Heaps that favour memory are collected often: too dear for whoever waits for an answer, so only while nobody does. */
function favourInV8(what: 'memory' | 'speed'): void {
  setFlagsFromString(what === 'memory' ? '--optimize-for-size' : '--no-optimize-for-size');
}

/** Simulated time: what happens next, in order of time, then of asking. Nothing here looks at a real clock. */

export interface Agenda {
  /** Milliseconds since the simulation began. */
  now(): number;
  /** Has something done after `delayMs`. */
  after(delayMs: number, work: () => void): void;
  /** Does the next thing. @returns false when nothing is left, or it comes after `until`. */
  step(until: number): boolean;
  /** Moves on to a time at which nothing is due. */
  passTo(at: number): void;
}

interface Entry {
  readonly at: number;
  readonly order: number;
  readonly work: () => void;
}

export function openAgenda(): Agenda {
  const heap: Entry[] = [];
  let now = 0;
  let order = 0;
  return {
    now: () => now,
    after(delayMs, work) {
      order += 1;
      push(heap, { at: now + Math.max(0, Math.round(delayMs)), order, work });
    },
    step(until) {
      const first = heap[0];
      if (first === undefined || first.at > until) return false;
      pop(heap);
      now = first.at;
      first.work();
      return true;
    },
    passTo: (at) => void (now = Math.max(now, at)),
  };
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

function push(heap: Entry[], entry: Entry): void {
  heap.push(entry);
  let at = heap.length - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (!swapIfBefore(heap, at, parent)) return;
    at = parent;
  }
}

function pop(heap: Entry[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  heap[0] = last;
  let at = 0;
  for (;;) {
    const [left, right] = [2 * at + 1, 2 * at + 2];
    const [a, b] = [heap[left], heap[right]];
    if (a === undefined) return;
    const child = b !== undefined && isBefore(b, a) ? right : left;
    if (!swapIfBefore(heap, child, at)) return;
    at = child;
  }
}

/** Puts the child above its parent if it is due earlier. */
function swapIfBefore(heap: Entry[], child: number, parent: number): boolean {
  const [low, high] = [heap[child], heap[parent]];
  if (low === undefined || high === undefined || !isBefore(low, high)) return false;
  [heap[child], heap[parent]] = [high, low];
  return true;
}

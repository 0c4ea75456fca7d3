/** What happened, as one number: the same seed gives the same trace on every machine, or something outside the seed got in. */

export interface Trace {
  note(text: string): void;
  /** 16 hex digits over everything noted. */
  hash(): string;
  /** The last things noted, oldest first. */
  tail(): readonly string[];
  count(): number;
}

/** `keep`: how many of the last notes are kept as text. */
export function openTrace(keep: number): Trace {
  let [high, low] = [0xdeadbeef, 0x41c6ce57];
  let count = 0;
  const last: string[] = [];
  return {
    note(text) {
      for (let index = 0; index < text.length; index += 1) {
        const code = text.charCodeAt(index);
        high = Math.imul(high ^ code, 2_654_435_761);
        low = Math.imul(low ^ code, 1_597_334_677);
      }
      high = Math.imul(high ^ (low >>> 13), 2_246_822_507);
      low = Math.imul(low ^ (high >>> 16), 3_266_489_909);
      count += 1;
      if (keep === 0) return;
      last.push(text);
      if (last.length > keep) last.shift();
    },
    hash: () => [high, low].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join(''),
    tail: () => last,
    count: () => count,
  };
}

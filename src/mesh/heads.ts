import type { Result } from '../crypto/result.ts';

/** Tip of one log as a host states it. Not signed: a hint for the plan, never a proof. */
export interface HeadsTip {
  readonly oid: string;
  readonly seq: number;
  readonly link: string;
}

/** Answer of `memd heads`: one JSON line. */
export interface Heads {
  readonly mesh: string;
  readonly host: string;
  readonly heads: Readonly<Record<string, HeadsTip>>;
  readonly trust: { readonly oid: string; readonly hash: string };
  readonly addresses: Readonly<Record<string, string>>;
  readonly version: string;
}

export type HeadsFault = 'NOT_HEADS';

/** One line without its newline. Pure. */
export type PrintHeads = (heads: Heads) => string;
/** Strict: bounded size, known fields only, ids of the right length, slugs as names. Pure. */
export type ParseHeads = (text: string) => Result<Heads, HeadsFault>;

/**
 * Outcome of reading something that another party made. Bad remote data is an expected value, never an exception
 * (style: errors of kind 1). `code` is a closed union per operation; `detail` is a short sentence for a person.
 */
export type Result<T, C extends string> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly code: C; readonly detail: string };

/** Wraps a value. Pure. */
export function ok<T>(value: T): { readonly ok: true; readonly value: T } {
  return { ok: true, value };
}

/** Names a refusal. `detail` never quotes more than a few bytes of the refused input. Pure. */
export function refuse<C extends string>(
  code: C,
  detail: string,
): { readonly ok: false; readonly code: C; readonly detail: string } {
  return { ok: false, code, detail };
}

/** Programmer error: stops at once, in every build. Never used for input. Pure. */
export function assert(condition: unknown, sentence: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${sentence}`);
}

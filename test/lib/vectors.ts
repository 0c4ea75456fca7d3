/** Golden vectors of test/vectors: one JSON object per line, described in test/vectors/README.md. */
import { readFileSync } from 'node:fs';

export interface Vector {
  readonly name: string;
  readonly sentences: readonly string[];
  readonly verdict: 'accept' | 'reject';
  /** The input; `hex` where it is no well-formed text. */
  readonly text?: string;
  readonly hex?: string;
}

export const vectorFiles = ['canonical', 'key', 'approval', 'body', 'line', 'log', 'trust-op'] as const;

/** Rows of one file; a file with more members per row has its own type, and the caller names it. */
export function readVectors(name: (typeof vectorFiles)[number]): readonly Vector[] {
  const file = new URL(`../vectors/${name}.jsonl`, import.meta.url);
  const rows = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return rows.map((row) => JSON.parse(row) as Vector);
}

/** The input of a row as bytes. */
export function inputBytes(vector: Vector): Uint8Array {
  if (vector.hex !== undefined) return new Uint8Array(Buffer.from(vector.hex, 'hex'));
  return new TextEncoder().encode(vector.text);
}

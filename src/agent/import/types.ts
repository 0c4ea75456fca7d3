import type { BodyInput } from '../../core/event.ts';

/** What can be imported. The session of every imported event is `import:<kind>`. */
export const importKinds = ['claude-memory', 'agents-md', 'mcp-memory', 'memory-mesh', 'jsonl'] as const;
export type ImportKind = (typeof importKinds)[number];

/** Something that was found and is not as it should be: where (file, or file and line), and the reason as a phrase. */
export interface ImportRemark {
  readonly what: string;
  readonly why: string;
}

/** What a folder or file holds, read once; nothing is appended by reading. */
export interface ImportPlan {
  readonly kind: ImportKind;
  /**
   * In the order of the source: index rows first, then files that the index does not list, by name. One that replaces
   * another of the same source names it in `supersedes` by its import key, since it has no id yet.
   */
  readonly events: readonly BodyInput[];
  /** What is left out, each with its reason. An event that is in `events` is not in here. */
  readonly skipped: readonly ImportRemark[];
  /** What is imported although something about it is odd, each with what was odd. */
  readonly noted: readonly ImportRemark[];
}

/** Session of the events of one kind of import. Pure. */
export function importSession(kind: string): string {
  return `import:${kind}`;
}

/**
 * The harnesses that hooks exist for: names, events, and the shape of an answer. Only keys that the harness knows are
 * ever written: Codex refuses an answer with any other key whole.
 * Sources: code.claude.com/docs/en/hooks; openai/codex codex-rs/hooks/schema/generated.
 */

export const harnessNames = ['claude-code', 'codex'] as const;
export type HarnessName = (typeof harnessNames)[number];

/** Events that a hook is installed for; the same names in both harnesses. */
export const hookEvents = ['SessionStart', 'SubagentStart', 'UserPromptSubmit'] as const;
export type HookEvent = (typeof hookEvents)[number];

export function isHarnessName(text: string): text is HarnessName {
  return (harnessNames as readonly string[]).includes(text);
}

export function isHookEvent(text: string): text is HookEvent {
  return (hookEvents as readonly string[]).includes(text);
}

/** The whole answer of a hook that adds text to what the agent sees. One line of JSON. */
export function hookAnswer(event: HookEvent, text: string): string {
  return JSON.stringify({ hookSpecificOutput: { hookEventName: event, additionalContext: text } });
}

/**
 * What a session start says of the conversation itself: after a compaction everything read before has been summarised,
 * and after a resume it may be old. '' where there is nothing to say.
 */
export function sourceNote(source: string): string {
  switch (source) {
    case 'compact':
      return 'This conversation was compacted: files and memory that were read before it are stale here; what is needed from them is to be read again. This text replaces the earlier one.';
    case 'resume':
    case 'fork':
      return `This conversation was continued (${source}): memory text earlier in it may be out of date. This text replaces it.`;
    default:
      return '';
  }
}

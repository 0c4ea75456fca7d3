/** Looks for secrets in many texts at once: the preset costs about 100 µs a call and a few µs for each text in it. */
import type { lintSource } from '@secretlint/core';
import { ownRules } from './own-rules.ts';

/** A text that holds what looks like a secret. What it is exactly is never kept. */
export interface TextHit {
  /** Index of the text. */
  readonly text: number;
  /** Name of the rule, as in a reason code: `github`, `private-key`. */
  readonly rule: string;
}

/** No rule matches over it: white space patterns stop at the NUL, all others at the line ends. */
const separator = '\n\0\n';
/** Characters that are scanned in one call: bounds the memory of a bulk append. */
const scanCharactersMax = 1_000_000;
const presetPrefix = '@secretlint/secretlint-rule-';

/** Every text with a hit, in their order; one hit for each, by the lowest rule name, so that batches do not matter. */
export async function scanTexts(texts: readonly string[]): Promise<TextHit[]> {
  const hits: TextHit[] = [];
  for (let first = 0; first < texts.length;) {
    const starts: number[] = [];
    let length = 0;
    let next = first;
    while (next < texts.length && (starts.length === 0 || length < scanCharactersMax)) {
      starts.push(length);
      length += (texts[next] as string).length + separator.length;
      next += 1;
    }
    for (const { at, rule } of await scanJoined(texts.slice(first, next).join(separator))) {
      hits.push({ text: first + indexOfStart(starts, at), rule });
    }
    first = next;
  }
  const byRule = hits.toSorted((a, b) => (a.rule < b.rule ? 1 : -1));
  return [...new Map(byRule.map((hit) => [hit.text, hit])).values()].sort((a, b) => a.text - b.text);
}

interface Found {
  /** Where it starts in the joined text. */
  readonly at: number;
  readonly rule: string;
}

async function scanJoined(content: string): Promise<Found[]> {
  const { lint, config } = await preset();
  const { messages } = await lint({
    // The name decides which rules look: with this one, those for any text.
    source: { filePath: 'event.txt', ext: '.txt', contentType: 'text', content },
    options: { config, noPhysicFilePath: true, maskSecrets: true },
  });
  const found: Found[] = messages.map(({ range, ruleId }) => ({
    // A byte order mark at the very front is cut off before the rules look.
    at: range[0] + (content.startsWith('\uFEFF') ? 1 : 0),
    rule: ruleId.startsWith(presetPrefix) ? ruleId.slice(presetPrefix.length) : 'other',
  }));
  for (const { name, pattern } of ownRules) {
    for (const match of content.matchAll(pattern)) found.push({ at: match.index, rule: name });
  }
  return found;
}

/** Index of the last start that is not after `at`. */
function indexOfStart(starts: readonly number[], at: number): number {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((starts[middle] as number) <= at) low = middle;
    else high = middle - 1;
  }
  return low;
}

interface Preset {
  readonly lint: typeof lintSource;
  readonly config: Parameters<typeof lintSource>[0]['options']['config'];
}

let loading: Promise<Preset> | undefined;

/** Loaded with the first append: a process that only reads does without. */
function preset(): Promise<Preset> {
  return (loading ??= loadPreset());
}

async function loadPreset(): Promise<Preset> {
  const [core, { secretLintProfiler }, { rules }] = await Promise.all([
    import('@secretlint/core'),
    import('@secretlint/profiler'),
    import('@secretlint/secretlint-rule-preset-recommend'),
  ]);
  // It is on unless somebody says no, and keeps 40 marks and measures of every text for ever: 8 kB an event.
  secretLintProfiler.setEnabled(false);
  // The rule that obeys comments is left out: no text may switch the rules off, least of all for the texts beside it.
  // Through the preset itself it cannot be: `disabled` has no effect on it.
  const looking = rules.filter(({ meta }) => meta.id !== `${presetPrefix}filter-comments`);
  return { lint: core.lintSource, config: { rules: looking.map((rule) => ({ id: rule.meta.id, rule })) } };
}

/** Command words of the short way: a handful of flags, read without a library. */

export interface HotWords {
  readonly home: string | undefined;
  readonly flags: ReadonlySet<string>;
  readonly values: ReadonlyMap<string, string>;
  readonly positional: readonly string[];
}

/**
 * Reads `--home DIR`, the flags and options named here, and the rest in order. @returns undefined for anything else:
 * the command line proper then says what is wrong with it.
 */
export function readHotWords(
  words: readonly string[],
  known: { readonly flags: readonly string[]; readonly options: readonly string[] },
): HotWords | undefined {
  const flags = new Set<string>();
  const values = new Map<string, string>();
  const positional: string[] = [];
  for (let i = 0; i < words.length; i += 1) {
    const word = words[i] ?? '';
    const [name, inline]: [string, string?] = word.startsWith('--') ? splitOnce(word) : [word];
    if (name === '--home' || known.options.includes(name)) {
      const value = inline ?? words[(i += 1)];
      if (value === undefined || values.has(name)) return undefined;
      values.set(name, value);
    } else if (known.flags.includes(word)) flags.add(word);
    else if (word.startsWith('-')) return undefined;
    else positional.push(word);
  }
  return { home: values.get('--home'), flags, values, positional };
}

function splitOnce(word: string): [string, string?] {
  const equals = word.indexOf('=');
  return equals < 0 ? [word] : [word.slice(0, equals), word.slice(equals + 1)];
}

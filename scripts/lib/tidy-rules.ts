/** The rules of `npm run tidy`, as pure functions over one text each. */
import { posix } from 'node:path';

/** One finding; `line` counts from 1. */
export interface Finding {
  readonly file: string;
  readonly line: number;
  readonly sentence: string;
}

interface LineRule {
  readonly files: RegExp;
  readonly except?: RegExp;
  readonly pattern: RegExp;
  readonly sentence: string;
}

/** Source files may be this long without a word about it. */
export const fileLinesMax = 400;
/** First lines of a file: where a longer one says why. */
const headerLines = 15;
const code = /\.(ts|mjs|js)$/;
/** Files whose bytes are data: vectors and samples hold whatever their case needs. */
const data = /^(test\/(vectors|fixtures)\/|test\/regressions\/.*\.jsonl$|package-lock\.json$)/;

const lineRules: readonly LineRule[] = [
  {
    files: /./,
    except: /^(scripts\/lib\/tidy-rules\.ts|test\/unit\/scripts\/)/,
    pattern: /\b(TODO|FIXME|XXX|HACK)\b/,
    sentence: 'an open end: do it, or file it',
  },
  {
    files: /^test\/.*\.ts$/,
    except: /^test\/unit\/scripts\//,
    pattern: /\b(test|it|describe)\.(only|skip|todo)\b|\b(xit|xtest|xdescribe|fit|fdescribe)\(/,
    sentence: 'no focused, skipped or pending test (skipIf with a reason is for what a machine cannot do)',
  },
  {
    files: /./,
    except: /^(scripts\/lib\/tidy-rules\.ts|test\/unit\/scripts\/)/,
    pattern: /\/root\/\w|\bhttps?:\/\/[\w.-]*\b(?:artifactory|nexus|verdaccio)\b/i,
    sentence: 'a path or a host of one machine',
  },
  {
    files: /\.(md|ts|mjs|js|json)$/,
    except: /^(scripts\/lib\/tidy-rules\.ts|test\/)/,
    pattern: /\b(und|nicht|oder|wird|werden|eine[mnrs]?|dass|avec|dans)\b/,
    sentence: 'English only',
  },
];

/** Findings in one file. Pure. */
export function checkText(file: string, text: string): Finding[] {
  if (data.test(file)) return [];
  const lines = text.split('\n');
  const inLines = lineRules
    .filter((rule) => rule.files.test(file) && !rule.except?.test(file))
    .flatMap((rule) =>
      lines.flatMap((line, at) => (rule.pattern.test(line) ? [{ file, line: at + 1, sentence: rule.sentence }] : [])),
    );
  return [...lengthFindings(file, lines), ...inLines];
}

function lengthFindings(file: string, lines: readonly string[]): Finding[] {
  const length = lines.length - 1;
  if (!code.test(file) || length <= fileLinesMax) return [];
  if (lines.slice(0, headerLines).some((line) => /long because/i.test(line))) return [];
  return [{ file, line: 1, sentence: `${length} lines: split it, or say in the header "Long because …"` }];
}

/** Relative links of a Markdown file that lead nowhere. Pure but for `exists`. */
export function linkFindings(file: string, text: string, exists: (path: string) => boolean): Finding[] {
  if (data.test(file)) return [];
  const found: Finding[] = [];
  withoutFences(text).forEach((line, at) => {
    for (const [, target = ''] of line.matchAll(/\]\(([^)\s#]+)(?:#[^)]*)?\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      const path = posix.normalize(posix.join(posix.dirname(file), target));
      if (!exists(path)) found.push({ file, line: at + 1, sentence: `the link ${target} leads nowhere` });
    }
  });
  return found;
}

function withoutFences(text: string): string[] {
  let inside = false;
  return text.split('\n').map((line) => {
    const fence = /^\s*(```|~~~)/.test(line);
    if (fence) inside = !inside;
    return inside || fence ? '' : line.replace(/`[^`]*`/g, '');
  });
}

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/** Every dependency is pinned and has its sentence, and every sentence a dependency; the lock names no host. Pure. */
export function dependencyFindings(manifest: string, document: string, lock: string): Finding[] {
  const { dependencies = {}, devDependencies = {} } = JSON.parse(manifest) as Manifest;
  const pins = Object.entries({ ...dependencies, ...devDependencies });
  const documented = [...document.matchAll(/^\| `([^`]+)` \| ([^|]*) \|/gm)].map(([, name = '']) => name);
  const file = 'docs/dependencies.md';
  const missing = pins.filter(([name]) => !documented.includes(name));
  const surplus = documented.filter((name) => !pins.some(([known]) => known === name));
  const loose = pins.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version));
  return [
    ...missing.map(([name]) => ({ file, line: 1, sentence: `no row for ${name}` })),
    ...surplus.map((name) => ({ file, line: 1, sentence: `${name} is not a dependency` })),
    ...loose.map(([name, version]) => ({ file: 'package.json', line: 1, sentence: `${name} ${version}: pin it` })),
    ...(lock.includes('"resolved"')
      ? [
          {
            file: 'package-lock.json',
            line: 1,
            sentence: 'names a registry host: install with the .npmrc of the checkout',
          },
        ]
      : []),
  ];
}

/** Every exported limit has a comment of its own or heads a commented group, and says its unit in its name. Pure. */
export function limitFindings(file: string, text: string): Finding[] {
  const found: Finding[] = [];
  let commented = false;
  text.split('\n').forEach((line, at) => {
    if (line.trim() === '') commented = false;
    if (line.includes('*/')) commented = true;
    const name = /^export const (\w+)/.exec(line)?.[1];
    if (name && !commented) found.push({ file, line: at + 1, sentence: `${name} says neither unit nor reason` });
  });
  return found;
}

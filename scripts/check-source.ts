/**
 * Rules of the layers that the linter cannot express. Prints `file:line: sentence [source(rule)]` like the linter does,
 * and exits 1 with findings. `node scripts/check-source.ts [FOLDER]`: the checkout, or another folder of its shape.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { lineAt, scanSource, type ScannedSource } from './lib/source-text.ts';
import { isMain, root } from './lib/step.ts';

interface Rule {
  readonly name: string;
  readonly layers: readonly string[];
  readonly sentence: string;
  readonly lines: (source: ScannedSource) => readonly number[];
}

const all = ['crypto', 'core', 'store', 'mesh', 'agent', 'daemon', 'cli'];
const pure = ['crypto', 'core'];

const rules: readonly Rule[] = [
  {
    name: 'no-dynamic-import',
    layers: pure,
    sentence: 'pure layers import statically: what is loaded later is not seen by the layer rules',
    lines: (source) => linesOf(source.code, /\bimport\s*\(|\brequire\s*\(|\bgetBuiltinModule\b/g),
  },
  {
    name: 'no-suppression',
    layers: pure,
    sentence: 'no rule is switched off in a pure layer',
    lines: (source) => commentsWith(source, /@ts-(ignore|expect-error|nocheck)|(oxlint|eslint)-(disable|enable)/),
  },
  {
    name: 'suppression-reason',
    layers: all,
    sentence: 'a switched-off rule says why: oxlint-disable-next-line rule -- reason',
    lines: (source) => commentsWith(source, /(oxlint|eslint)-disable(?![^\n]*--\s*\S)/),
  },
  {
    name: 'no-unicode-tables',
    layers: ['core'],
    sentence: String.raw`\p{…}, and the i flag on more than ASCII, depend on the Unicode version of the host: write the ranges`,
    lines: (source) => linesWith(source.regexes, unicodeTables),
  },
  {
    name: 'no-default-order',
    layers: pure,
    sentence: 'sort with a comparator',
    lines: (source) => linesOf(source.code, /\.(sort|toSorted)\s*\(\s*(undefined|void 0)?\s*\)/g),
  },
  {
    name: 'no-class',
    layers: all,
    sentence: 'no classes except kinds of Error',
    lines: (source) => linesOf(source.code, /\bclass\b(?!\s+\w+\s+extends\s+\w*Error\b)\s+\w+(\s+extends|\s*\{)/g),
  },
];

/** Without the u and v flags, i compares ASCII letters by a fixed table: that is allowed. */
const unicodeTables = /\\p\{|\/(?=[a-z]*[uv])[a-z]*i[a-z]*$|[^\x00-\x7f].*\/[a-z]*i[a-z]*$/;

function linesOf(code: string, pattern: RegExp): number[] {
  return [...code.matchAll(pattern)].map((match) => lineAt(code, match.index));
}

function linesWith(pieces: ScannedSource['comments'], pattern: RegExp): number[] {
  return pieces.filter((piece) => pattern.test(piece.text)).map((piece) => piece.line);
}

function commentsWith(source: ScannedSource, pattern: RegExp): number[] {
  return linesWith(source.comments, pattern);
}

/** Findings of one source text. Pure. */
export function checkSource(layer: string, text: string): { line: number; name: string; sentence: string }[] {
  const source = scanSource(text);
  const applicable = rules.filter((rule) => rule.layers.includes(layer));
  return applicable.flatMap(({ name, sentence, lines }) => lines(source).map((line) => ({ line, name, sentence })));
}

/** Findings of a whole tree, one text line each. */
function checkTree(folder: string): string[] {
  const found: string[] = [];
  for (const layer of all) {
    const base = join(folder, 'src', layer);
    const names = existsSync(base) ? readdirSync(base, { recursive: true, encoding: 'utf8' }) : [];
    for (const name of names.filter((one) => one.endsWith('.ts'))) {
      for (const finding of checkSource(layer, readFileSync(join(base, name), 'utf8')))
        found.push(`src/${layer}/${name}:${finding.line}:1: ${finding.sentence} [Error/source(${finding.name})]`);
    }
  }
  return found;
}

if (isMain(import.meta.url)) {
  const found = checkTree(process.argv[2] ?? root);
  for (const line of found) console.log(line);
  process.exitCode = found.length === 0 ? 0 : 1;
}

/**
 * Shows that the rules fire. `canary/` holds files that break them, each line marked with what must catch it; a line
 * without a mark must stay clean. The files are laid into an empty checkout with our own configuration, so that the
 * rules are tried exactly as they apply to src/. `--without RULE` switches one lint rule off: then this must fail.
 */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root, runNode, runStep } from './lib/step.ts';

const layers = ['crypto', 'core', 'store', 'mesh', 'agent', 'daemon', 'cli'];

/** Files that must be there: a canary that was deleted does not sing. */
const cages = [
  'agent/imports-upwards.ts',
  'core/clean.ts',
  'core/draws-at-random.ts',
  'core/event.ts',
  'core/imports-upwards.ts',
  'core/reads-files.ts',
  'core/reads-the-clock.ts',
  'core/sorts-by-locale.ts',
  'core/switches-rules-off.ts',
  'core/uses-the-platform.ts',
  'crypto/clean.ts',
  'crypto/does-io.ts',
  'crypto/imports-upwards.ts',
  'daemon/imports-upwards.ts',
  'mesh/imports-upwards.ts',
  'store/habits.ts',
  'store/imports-upwards.ts',
];

/** `src/core/a.ts:3` → rules. */
type Findings = Map<string, Set<string>>;

const at = process.argv.indexOf('--without');
const without = at === -1 ? undefined : process.argv[at + 1];
const folder = mkdtempSync(join(tmpdir(), 'memctl-canary-'));
try {
  layOut(folder, without);
  const expected = readMarks(folder);
  const silent = compare(expected, await collect(folder));
  for (const line of silent) console.log(line);
  const count = [...expected.values()].reduce((sum, rules) => sum + rules.size, 0);
  console.log(silent.length === 0 ? `canary: all ${count} marks fired` : `canary: ${silent.length} of ${count} wrong`);
  process.exitCode = silent.length === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function layOut(target: string, rule: string | undefined): void {
  cpSync(join(root, 'canary', 'src'), join(target, 'src'), { recursive: true });
  for (const layer of layers)
    cpSync(join(root, 'src', layer, 'tsconfig.json'), join(target, 'src', layer, 'tsconfig.json'));
  for (const name of ['package.json', 'tsconfig.json', 'tsconfig.base.json', '.oxlintrc.json'])
    cpSync(join(root, name), join(target, name));
  symlinkSync(join(root, 'node_modules'), join(target, 'node_modules'));
  const present = readdirSync(join(target, 'src'), { recursive: true, encoding: 'utf8' });
  const missing = cages.filter((name) => !present.includes(name));
  if (missing.length > 0) throw new Error(`canary/src lacks ${missing.join(', ')}`);
  if (rule !== undefined) switchOff(join(target, '.oxlintrc.json'), rule);
}

function switchOff(file: string, rule: string): void {
  const text = readFileSync(file, 'utf8');
  const changed = text.replaceAll(new RegExp(`"(${rule})": (\\[|")`, 'g'), '"$1": "off", "unused/$1": $2');
  if (changed === text) throw new Error(`.oxlintrc.json has no rule ${rule}`);
  // The JSON stays valid; the renamed copy of the setting is dropped, since an unknown rule would end the linter.
  const drop = (key: string, value: unknown): unknown => (key.startsWith('unused/') ? undefined : value);
  writeFileSync(file, JSON.stringify(JSON.parse(changed, drop)));
}

/** `// fires: tsc(TS2591) eslint(no-console)` speaks of the next line that is not itself a comment mark. */
function readMarks(target: string): Findings {
  const marks: Findings = new Map();
  for (const name of readdirSync(join(target, 'src'), { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.ts')) continue;
    const lines = readFileSync(join(target, 'src', name), 'utf8').split('\n');
    lines.forEach((line, index) => {
      const match = /^\s*\/\/ fires: (.+)$/.exec(line);
      if (match) marks.set(`src/${name}:${index + 2}`, new Set((match[1] ?? '').split(' ')));
    });
  }
  return marks;
}

async function collect(target: string): Promise<Findings> {
  const found: Findings = new Map();
  const add = (file: string, line: string, rule: string): void => {
    const place = `${file}:${line}`;
    found.set(place, (found.get(place) ?? new Set()).add(rule));
  };
  // The linter goes first: where a layer reaches outside its folder, the compiler leaves JavaScript behind there.
  const linted = await runStep('oxlint', 'bin/oxlint', ['-f', 'unix', 'src'], { cwd: target, keepOutput: true });
  for (const layer of layers) {
    const args = ['-p', join('src', layer), '--pretty', 'false'];
    const { output } = await runStep('typescript', 'bin/tsc', args, { cwd: target, keepOutput: true });
    for (const [, file = '', line = '', code = ''] of output.matchAll(/^(\S+)\((\d+),\d+\): error (TS\d+)/gm))
      add(file, line, `tsc(${code})`);
  }
  const checked = await runNode([join(root, 'scripts', 'check-source.ts'), target], { keepOutput: true });
  for (const [, file = '', line = '', rule = ''] of `${linted.output}\n${checked.output}`.matchAll(
    /^(src\/\S+?):(\d+):\d+: .*\[\w+\/(\S+\(\S+\))\]$/gm,
  ))
    add(file, line, rule);
  return found;
}

/** Marks that did not fire, and findings where there is no mark at all. */
function compare(expected: Findings, found: Findings): string[] {
  const silent = [...expected].flatMap(([place, rules]) =>
    [...rules].filter((rule) => !found.get(place)?.has(rule)).map((rule) => `${place}: ${rule} did not fire`),
  );
  const surplus = [...found].flatMap(([place, rules]) =>
    expected.has(place) ? [] : [...rules].map((rule) => `${place}: ${rule} fired on a clean line`),
  );
  return [...silent, ...surplus];
}

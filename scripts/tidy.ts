/**
 * Rules of the repository that are about text, not types: lengths, leftovers, machine traces, documentation that lags.
 * Prints `file:line: sentence` and exits 1 with findings.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkText, dependencyFindings, limitFindings, linkFindings, type Finding } from './lib/tidy-rules.ts';
import { root } from './lib/step.ts';

const found = [...files().flatMap(checkFile), ...projectFindings()];
for (const { file, line, sentence } of found) console.log(`${file}:${line}: ${sentence}`);
console.log(found.length === 0 ? 'tidy: clean' : `tidy: ${found.length} findings`);
process.exitCode = found.length === 0 ? 0 : 1;

/** Tracked files, and new ones that git does not ignore. */
function files(): string[] {
  // A CI may run as another user than the one who cloned.
  const args = ['-c', 'safe.directory=*', 'ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const listed = execFileSync('git', args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  const names = listed.split('\0').filter((name) => name !== '' && existsSync(join(root, name)));
  return [...new Set(names)].toSorted((a, b) => (a < b ? -1 : 1));
}

function checkFile(file: string): Finding[] {
  const bytes = readFileSync(join(root, file));
  if (bytes.includes(0)) return [];
  const text = bytes.toString('utf8');
  const links = file.endsWith('.md') ? linkFindings(file, text, (path) => existsSync(join(root, path))) : [];
  return [...checkText(file, text), ...links];
}

function projectFindings(): Finding[] {
  const read = (file: string): string => (existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8') : '');
  return [
    ...dependencyFindings(read('package.json'), read('docs/dependencies.md'), read('package-lock.json')),
    ...limitFindings('src/core/limits.ts', read('src/core/limits.ts')),
  ];
}

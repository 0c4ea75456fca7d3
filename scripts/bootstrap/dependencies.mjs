// @ts-check
/** node_modules and dist, brought up to date only when they are not. Called with the bootstrap lock held. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Problem } from './problem.mjs';
import { run } from './run.mjs';
import { npmCommand } from './tools.mjs';

/**
 * What node_modules must have been made from: the lock file and the platform (a checkout may be shared by two).
 * @param {string} root
 */
export function lockStamp(root) {
  const lock = readFileSync(join(root, 'package-lock.json'));
  return createHash('sha256').update(lock).update(`\n${process.platform}-${process.arch}`).digest('hex');
}

/** @param {string} root */
export function dependenciesAreCurrent(root) {
  return readStamp(join(root, 'node_modules', '.memctl-stamp')) === lockStamp(root);
}

/**
 * @param {{ root: string, node: string, env: NodeJS.ProcessEnv, tell: (text: string) => void }} job
 */
export async function installDependencies({ root, node, env, tell }) {
  if (dependenciesAreCurrent(root)) return;
  tell('installing the dependencies (npm ci)');
  const stampFile = join(root, 'node_modules', '.memctl-stamp');
  rmSync(stampFile, { force: true }); // an interrupted install must not look like a finished one
  const flags = ['--ignore-scripts', '--include=dev', '--include=optional', '--no-audit', '--no-fund'];
  const code = await run([...npmCommand(env, node), 'ci', ...flags], { cwd: root, env, stdout: 'stderr' });
  if (code !== 0)
    throw new Problem(
      `npm ci failed (exit code ${code}); what it said is above.`,
      'check the network and the registry that npm uses (npm config get registry), then run the same command again',
    );
  writeStamp(stampFile, lockStamp(root));
}

/**
 * Names, sizes and times of everything that the build reads.
 * @param {string} root
 */
export function sourceStamp(root) {
  const hash = createHash('sha256').update(lockStamp(root));
  for (const file of sourceFiles(root)) {
    const { mtimeMs, size } = statSync(file);
    hash.update(`${file}\n${mtimeMs}\n${size}\n`);
  }
  return hash.digest('hex');
}

/**
 * @param {{ root: string, node: string, env: NodeJS.ProcessEnv, tell: (text: string) => void }} job
 */
export async function buildSources({ root, node, env, tell }) {
  const stampFile = join(root, 'dist', '.memctl-stamp');
  const stamp = sourceStamp(root);
  if (readStamp(stampFile) === stamp) return;
  tell('building (tsc -b)');
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const code = await run([node, tsc, '-b'], { cwd: root, env, stdout: 'stderr' });
  if (code !== 0) throw new Problem('the build failed; the compiler said why above.', 'npm run build shows it again');
  const bundled = await run([node, join(root, 'scripts', 'bundle.mjs')], { cwd: root, env, stdout: 'stderr' });
  if (bundled !== 0) throw new Problem('the bundle of the hot verbs failed; what it said is above.', 'npm run build');
  writeStamp(stampFile, stamp);
}

/** @param {string} root */
function sourceFiles(root) {
  const source = join(root, 'src');
  const files = readdirSync(root).filter((name) => /^tsconfig.*\.json$/.test(name));
  const below = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) => /\.(ts|json)$/.test(name));
  return [...files.map((name) => join(root, name)), ...below.map((name) => join(source, name))].sort((a, b) =>
    a < b ? -1 : 1,
  );
}

/** @param {string} file */
function readStamp(file) {
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
}

/**
 * @param {string} file
 * @param {string} stamp
 */
function writeStamp(file, stamp) {
  writeFileSync(`${file}.${process.pid}`, `${stamp}\n`);
  renameSync(`${file}.${process.pid}`, file);
}

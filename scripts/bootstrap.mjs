// @ts-check
/**
 * Makes a fresh checkout able to run, then runs what was asked for. Every npm script goes through here, so that
 * `npm start` and `npm test` need nothing typed before them. No dependencies; progress on stderr; safe to run twice at
 * the same time. It changes nothing outside the checkout.
 */
import { existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSources, installDependencies } from './bootstrap/dependencies.mjs';
import { withLock } from './bootstrap/lock.mjs';
import { findNode, installNode } from './bootstrap/node-runtime.mjs';
import { Problem } from './bootstrap/problem.mjs';
import { run } from './bootstrap/run.mjs';
import { requireGit, requireSsh } from './bootstrap/tools.mjs';
import { isAtLeast, nodeForBootstrap, parseVersion, showVersion, typeStrippingFlags } from './bootstrap/versions.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * @typedef {object} Task
 * @property {string} file what Node runs in the end
 * @property {boolean} [build] dist is needed
 * @property {boolean} [tools] git and ssh are needed
 */

/** @type {Readonly<Record<string, Task>>} */
const tasks = {
  start: { file: 'dist/cli/start.js', build: true, tools: true },
  test: { file: 'scripts/test.ts', build: true, tools: true },
  check: { file: 'scripts/check.ts', tools: true },
  build: { file: 'scripts/build.ts' },
  lint: { file: 'scripts/lint.ts' },
  format: { file: 'node_modules/oxfmt/bin/oxfmt' },
  canary: { file: 'scripts/canary.ts' },
  tidy: { file: 'scripts/tidy.ts' },
  bench: { file: 'bench/run.ts', build: true, tools: true },
  drill: { file: 'drills/run.ts', build: true, tools: true },
  sim: { file: 'drills/sim.ts' },
};

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const expected = error instanceof Problem || (error instanceof Error && 'syscall' in error);
  if (!expected) throw error;
  process.stderr.write(`memctl: ${error.message}\n`);
  // Whoever counts tests (a CI) reads the last line, also when nothing could be run.
  if (process.argv[2] === 'test') process.stdout.write('0 passed, 1 failed\n');
  process.exitCode = 1;
}

/**
 * @param {string[]} argv
 * @returns {Promise<number>}
 */
async function main(argv) {
  const [name = '', ...args] = argv;
  const task = tasks[name];
  if (!task)
    throw new Problem(`there is no task ${JSON.stringify(name)}.`, `known tasks: ${Object.keys(tasks).join(', ')}`);
  requireBootstrapNode();
  if (task.tools) {
    requireGit(process.env);
    requireSsh(process.env);
  }
  const { node, env } = await prepare(task);
  const file = join(root, task.file);
  if (!existsSync(file)) throw new Problem(`${task.file} is not in this checkout.`, `known: ${existingTasks()}`);
  const flags = file.endsWith('.ts') ? typeStrippingFlags(parseVersion(await versionOf(node)) ?? [24, 0, 0]) : [];
  return run([node, ...flags, file, ...args], { cwd: task.file.startsWith('dist/') ? process.cwd() : root, env });
}

/**
 * Node, node_modules and, where needed, dist.
 * @param {Task} task
 */
async function prepare(task) {
  return withLock(join(root, '.node', 'bootstrap.lock'), tell, async () => {
    const node = findNode(root) ?? (await installNode(root, process.env, tell));
    const env = { ...process.env, PATH: [dirname(node), process.env['PATH'] ?? ''].join(delimiter) };
    await installDependencies({ root, node, env, tell });
    if (task.build) await buildSources({ root, node, env, tell });
    return { node, env };
  });
}

/** @param {string} node */
async function versionOf(node) {
  if (node === process.execPath) return process.version;
  const { execFileSync } = await import('node:child_process');
  return execFileSync(node, ['--version'], { encoding: 'utf8' });
}

function requireBootstrapNode() {
  const own = parseVersion(process.version);
  if (own && isAtLeast(own, nodeForBootstrap)) return;
  throw new Problem(
    `Node ${process.versions.node} is too old even to install a newer one.`,
    `Node ${showVersion(nodeForBootstrap)} or newer is needed: https://nodejs.org`,
  );
}

function existingTasks() {
  const known = Object.keys(tasks).filter((name) => existsSync(join(root, tasks[name]?.file ?? '')));
  return known.join(', ');
}

/** @param {string} text */
function tell(text) {
  process.stderr.write(`memctl: ${text}\n`);
}

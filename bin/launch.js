'use strict';
/*
 * Shared by bin/memctl and bin/memd. Plain CommonJS without dependencies, so that any Node can read it: the version is
 * checked before anything else is loaded, since better-sqlite3 ends an older Node without an exception.
 */
const fs = require('node:fs');
const path = require('node:path');

const needed = [22, 14];
const guard = 'MEMCTL_NODE_RESTARTED';

module.exports = function launch(name, entry) {
  // This file's own path has its symlinks resolved: also behind `npm link` or a global install.
  const root = path.dirname(__dirname);
  if (!isRecent(process.versions.node)) return restart(name, root);
  delete process.env[guard];
  const file = path.join(root, entry);
  if (!fs.existsSync(file)) return stop(name, 'it is not built yet.', 'run `npm start` or `npm run build` in ' + root);
  enableCompileCache();
  if (name === 'memctl' && process.argv.some((word) => hotVerbs.has(word))) return launchHot(name, root, file);
  return load(name, root, file);
};

/** Verbs that hooks and agents call often; see src/cli/hot/run.ts. */
const hotVerbs = new Set(['hook', 'recall', 'serve']);

/** The short way where there is one for these words, else the program. */
function launchHot(name, root, file) {
  const bundle = path.join(root, 'dist', 'hot.cjs');
  if (!isFresh(root, bundle)) return load(name, root, file);
  return require(bundle)
    .runHot(process.argv.slice(2))
    .then((done) => (done ? undefined : load(name, root, file)));
}

/** Never older than what the compiler wrote: a change that was compiled and not bundled must not seem to do nothing. */
function isFresh(root, bundle) {
  const bundled = fs.statSync(bundle, { throwIfNoEntry: false });
  if (!bundled) return false;
  return ['crypto', 'core', 'store', 'agent', 'daemon', 'cli'].every((layer) => {
    const compiled = fs.statSync(path.join(root, 'dist', layer, '.tsbuildinfo'), { throwIfNoEntry: false });
    return !compiled || compiled.mtimeMs <= bundled.mtimeMs;
  });
}

function load(name, root, file) {
  return import(require('node:url').pathToFileURL(file).href).catch((error) => failedToLoad(name, root, error));
}

function isRecent(version) {
  const [major, minor] = version.split('.').map(Number);
  return major > needed[0] || (major === needed[0] && minor >= needed[1]);
}

/** The Node that the bootstrap of this checkout installed takes over; we only pass signals and the exit code on. */
function restart(name, root) {
  const node = path.join(root, '.node', 'current', 'bin', 'node');
  if (process.env[guard] || !fs.existsSync(node)) return tooOld(name, root);
  const args = [path.join(root, 'bin', name)].concat(process.argv.slice(2));
  const env = Object.assign({}, process.env, { [guard]: '1' });
  const child = require('node:child_process').spawn(node, args, { stdio: 'inherit', env });
  const pass = (signal) => {
    // Ctrl-C at a terminal reaches the child by itself: it is in the same process group.
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  signals.forEach((signal) => process.on(signal, pass));
  child.on('error', () => tooOld(name, root));
  child.on('exit', (code, signal) => {
    signals.forEach((one) => process.removeListener(one, pass));
    if (signal) process.kill(process.pid, signal);
    else process.exitCode = code;
  });
}

function tooOld(name, root) {
  stop(
    name,
    'Node ' + process.versions.node + ' is too old; ' + needed.join('.') + ' or newer is needed.',
    'run `npm start` once in ' +
      root +
      ' (it installs a Node of its own there), or install Node from https://nodejs.org',
  );
}

/** Compiled code is kept below the user's own cache: the default, the shared temporary folder, is open to others. */
function enableCompileCache() {
  const { enableCompileCache: enable } = require('node:module');
  const base = process.env.XDG_CACHE_HOME || (process.env.HOME && path.join(process.env.HOME, '.cache'));
  if (enable && base && path.isAbsolute(base)) enable(path.join(base, 'memd', 'compiled'));
}

function failedToLoad(name, root, error) {
  if (!error || error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
  const what = error.message.split('\n')[0];
  if (/Cannot find package/.test(what))
    return stop(name, 'a dependency is missing: ' + what, 'run `npm ci` in ' + root);
  return stop(name, 'the build is not complete: ' + what, 'run `npm run build` in ' + root);
}

function stop(name, what, next) {
  process.stderr.write(name + ': ' + what + '\n  ' + next + '\n');
  process.exitCode = 1;
}

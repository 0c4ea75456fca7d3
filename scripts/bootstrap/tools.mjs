// @ts-check
/** Finds the programs that memd calls: git, the OpenSSH client, npm. */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { basename, delimiter, join } from 'node:path';
import { Problem } from './problem.mjs';
import { gitNeeded, isAtLeast, parseVersion, showVersion, sshNeeded } from './versions.mjs';

/**
 * Where a program is on PATH, or undefined.
 * @param {string} name
 * @param {NodeJS.ProcessEnv} env
 */
export function findOnPath(name, env) {
  for (const folder of (env['PATH'] ?? '').split(delimiter)) {
    if (folder === '') continue;
    const file = join(folder, name);
    try {
      accessSync(file, constants.X_OK);
      if (statSync(file).isFile()) return file;
    } catch {
      // not here; the next folder
    }
  }
  return undefined;
}

/**
 * How to install a package, for the package managers that are here.
 * @param {{ apt: string, dnf: string, apk: string, brew: string }} packages
 * @param {NodeJS.ProcessEnv} env
 */
export function howToInstall(packages, env) {
  if (process.platform === 'darwin') return `install it with: brew install ${packages.brew}`;
  if (findOnPath('apt-get', env)) return `install it with: sudo apt-get install ${packages.apt}`;
  if (findOnPath('dnf', env)) return `install it with: sudo dnf install ${packages.dnf}`;
  if (findOnPath('apk', env)) return `install it with: sudo apk add ${packages.apk}`;
  return `install it with the package manager of this system (Debian: ${packages.apt}, Fedora: ${packages.dnf})`;
}

const gitPackages = { apt: 'git', dnf: 'git', apk: 'git', brew: 'git' };
const sshPackages = { apt: 'openssh-client', dnf: 'openssh-clients', apk: 'openssh-client', brew: 'openssh' };
const npmPackages = { apt: 'npm', dnf: 'nodejs-npm', apk: 'npm', brew: 'node' };

/**
 * Throws a Problem unless git is here and recent enough.
 * @param {NodeJS.ProcessEnv} env
 */
export function requireGit(env) {
  const needed = `git ${showVersion(gitNeeded)} or newer is needed (memd keeps its logs in git).`;
  const file = findOnPath('git', env);
  if (!file) throw new Problem('git was not found on PATH.', `${needed}\n${howToInstall(gitPackages, env)}`);
  const printed = said(file, ['--version'], env);
  const found = parseVersion(printed);
  if (!found || !isAtLeast(found, gitNeeded))
    throw new Problem(`${file} is too old: it says "${printed}".`, `${needed}\n${howToInstall(gitPackages, env)}`);
}

/**
 * Throws a Problem unless the OpenSSH client and ssh-keygen are here and recent enough.
 * @param {NodeJS.ProcessEnv} env
 */
export function requireSsh(env) {
  const needed = `OpenSSH ${showVersion(sshNeeded)} or newer is needed (ssh and ssh-keygen: approvals are ssh signatures).`;
  const how = howToInstall(sshPackages, env);
  const file = findOnPath('ssh', env);
  if (!file) throw new Problem('ssh was not found on PATH.', `${needed}\n${how}`);
  if (!findOnPath('ssh-keygen', env)) throw new Problem('ssh-keygen was not found on PATH.', `${needed}\n${how}`);
  const printed = said(file, ['-V'], env);
  const match = /OpenSSH\S*?_(\d+\.\d+)/.exec(printed);
  if (!match) throw new Problem(`${file} is not OpenSSH: it says "${printed}".`, `${needed}\n${how}`);
  const found = parseVersion(match[1] ?? '');
  if (!found || !isAtLeast(found, sshNeeded))
    throw new Problem(`${file} is too old: it says "${printed}".`, `${needed}\n${how}`);
}

/**
 * The command line that runs npm: the npm that started us, else the one on PATH. Its own launcher looks for `node` on
 * PATH, so npm's script is run by the Node of our choice where it is known.
 * @param {NodeJS.ProcessEnv} env
 * @param {string} node
 * @returns {string[]}
 */
export function npmCommand(env, node) {
  const started = env['npm_execpath'];
  if (started && basename(started) === 'npm-cli.js') return [node, started];
  const file = findOnPath('npm', env);
  if (file) return [file];
  throw new Problem(
    'npm was not found on PATH.',
    `npm is needed once, to install the dependencies.\n${howToInstall(npmPackages, env)}`,
  );
}

/**
 * First line of what a program prints about itself; ssh does so on stderr.
 * @param {string} file
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} env
 */
function said(file, args, env) {
  const run = spawnSync(file, args, { env, encoding: 'utf8', timeout: 20_000, stdio: ['ignore', 'pipe', 'pipe'] });
  if (run.error) return `nothing (${run.error.message})`;
  return (run.stdout || run.stderr).split('\n')[0]?.trim() ?? '';
}

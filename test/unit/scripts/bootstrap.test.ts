import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkout, linkPrograms, makeFolder, oldNodes, runToEnd, writeFiles } from './processes.ts';

const goodGit = '#!/bin/sh\necho "git version 2.39.5"\n';
const goodSsh = '#!/bin/sh\necho "OpenSSH_9.2p1 Debian-2, OpenSSL 3.0.19" >&2\n';
const goodKeygen = '#!/bin/sh\nexit 0\n';

/** Runs the real bootstrap with nothing on PATH but these programs. */
async function withPath(programs: Readonly<Record<string, string>>, task = 'test') {
  const path = makeFolder();
  writeFiles(path, programs);
  return runToEnd([process.execPath, join(checkout, 'scripts/bootstrap.mjs'), task], { PATH: path });
}

describe('bootstrap: the tools around it', () => {
  test('git is not there', async () => {
    const ended = await withPath({ ssh: goodSsh, 'ssh-keygen': goodKeygen });
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(
      /^memctl: git was not found on PATH\.\n {2}git 2\.36 or newer is needed.*\n {2}install it/,
    );
    expect(ended.stderr).not.toContain('    at ');
  });

  test('a test run that could not start still ends with its count', async () => {
    expect((await withPath({})).stdout).toBe('0 passed, 1 failed\n');
  });

  test('git is too old: what was found and what is needed', async () => {
    const ended = await withPath({ git: '#!/bin/sh\necho "git version 2.30.2"\n', ssh: goodSsh });
    expect(ended.stderr).toMatch(/git is too old: it says "git version 2\.30\.2"\.\n {2}git 2\.36 or newer/);
  });

  test.runIf(process.platform === 'linux')('the package manager that is here is named (Linux)', async () => {
    expect((await withPath({ 'apt-get': goodKeygen })).stderr).toContain('sudo apt-get install git');
    expect((await withPath({ dnf: goodKeygen })).stderr).toContain('sudo dnf install git');
  });

  test('ssh is not there, is too old, or is not OpenSSH', async () => {
    expect((await withPath({ git: goodGit })).stderr).toMatch(/^memctl: ssh was not found on PATH/);
    const old = await withPath({
      git: goodGit,
      ssh: '#!/bin/sh\necho "OpenSSH_7.9p1" >&2\n',
      'ssh-keygen': goodKeygen,
    });
    expect(old.stderr).toMatch(/ssh is too old: it says "OpenSSH_7\.9p1"\.\n {2}OpenSSH 8\.2 or newer/);
    const other = await withPath({
      git: goodGit,
      ssh: '#!/bin/sh\necho "Dropbear v2022.83" >&2\n',
      'ssh-keygen': goodKeygen,
    });
    expect(other.stderr).toMatch(/is not OpenSSH: it says "Dropbear v2022\.83"/);
  });

  test('ssh-keygen is not there', async () => {
    expect((await withPath({ git: goodGit, ssh: goodSsh })).stderr).toMatch(/^memctl: ssh-keygen was not found/);
  });

  test('an unknown task names the known ones', async () => {
    const ended = await withPath({}, 'tset');
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(ended.stderr).toMatch(/there is no task "tset"\.\n {2}known tasks: start, test, check/);
  });
});

/** A checkout that holds the bootstrap and a task, with an npm that notes its calls and installs a compiler. */
function makeCheckout(): { root: string; env: NodeJS.ProcessEnv; calls: () => string[] } {
  const root = makeFolder();
  for (const name of ['bootstrap.mjs', 'bootstrap']) {
    cpSync(join(checkout, 'scripts', name), join(root, 'scripts', name), { recursive: true });
  }
  writeFiles(root, {
    'package.json': '{"type":"module"}',
    'package-lock.json': '{"lock":1}',
    'src/core/a.ts': 'export {};\n',
    'scripts/bundle.mjs': '',
    'dist/cli/start.js': 'console.log(JSON.stringify(process.argv.slice(2))); process.exitCode = 5;\n',
    'path/git': goodGit,
    'path/ssh': goodSsh,
    'path/ssh-keygen': goodKeygen,
    'path/npm': `#!/bin/sh
echo "npm $*" >> "${root}/calls"
[ "$1" = ci ] || { echo damaged > "$4/node.tgz"; exit 0; }
mkdir -p "${root}/node_modules/typescript/bin"
printf '%s' 'require("fs").appendFileSync("${root}/calls", "tsc " + process.argv.slice(2).join(" ") + "\\n")' > "${root}/node_modules/typescript/bin/tsc"
`,
  });
  linkPrograms(join(root, 'path'), { sh: '/bin/sh', mkdir: '/bin/mkdir' });
  const calls = (): string[] => {
    const file = join(root, 'calls');
    return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  };
  return { root, env: { PATH: join(root, 'path'), HOME: root }, calls };
}

describe('bootstrap: what it brings up to date', () => {
  const command = (root: string, ...args: string[]) => [process.execPath, join(root, 'scripts/bootstrap.mjs'), ...args];

  test('installs and builds, then runs the task with its arguments and exit code', async () => {
    const { root, env, calls } = makeCheckout();
    const ended = await runToEnd(command(root, 'start', '--listen', 'a b'), env);
    expect(ended).toMatchObject({ code: 5, stdout: '["--listen","a b"]\n' });
    expect(calls().map((line) => line.split(' ').slice(0, 2).join(' '))).toEqual(['npm ci', 'tsc -b']);
  });

  test('does nothing again until the lock file or a source changes', async () => {
    const { root, env, calls } = makeCheckout();
    await runToEnd(command(root, 'start'), env);
    expect((await runToEnd(command(root, 'start'), env)).stderr).toBe('');
    expect(calls()).toHaveLength(2);
    writeFiles(root, { 'src/core/a.ts': 'export const a: number = 1;\n' });
    await runToEnd(command(root, 'start'), env);
    expect(calls()).toHaveLength(3);
    writeFiles(root, { 'package-lock.json': '{"lock":2}' });
    await runToEnd(command(root, 'start'), env);
    expect(
      calls()
        .slice(3)
        .map((line) => line.slice(0, 6)),
    ).toEqual(['npm ci', 'tsc -b']);
  });

  test('four runs at once install and build once', async () => {
    const { root, env, calls } = makeCheckout();
    const runs = await Promise.all([1, 2, 3, 4].map(() => runToEnd(command(root, 'start'), env)));
    expect(runs.map(({ code }) => code)).toEqual([5, 5, 5, 5]);
    expect(calls()).toHaveLength(2);
    expect(readdirSync(join(root, '.node'))).toEqual([]);
  });

  test('a lock that a killed run left behind is no obstacle', async () => {
    const { root, env } = makeCheckout();
    const gone = await runToEnd([process.execPath, '-p', 'process.pid'], env);
    const { hostname } = await import('node:os');
    mkdirSync(join(root, '.node'));
    writeFiles(root, { '.node/bootstrap.lock': JSON.stringify({ pid: Number(gone.stdout), host: hostname() }) });
    expect((await runToEnd(command(root, 'start'), env)).code).toBe(5);
  });

  test('a failing npm is named, and the next run tries again', async () => {
    const { root, env, calls } = makeCheckout();
    const good = readFileSync(join(root, 'path/npm'), 'utf8');
    writeFiles(root, { 'path/npm': '#!/bin/sh\necho "npm error network" >&2\nexit 3\n' });
    const ended = await runToEnd(command(root, 'start'), env);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(/npm error network\nmemctl: npm ci failed \(exit code 3\)/);
    writeFiles(root, { 'path/npm': good });
    expect((await runToEnd(command(root, 'start'), env)).code).toBe(5);
    expect(calls()).toHaveLength(2);
  });

  test.each(oldNodes())(
    'under $name, a Node package with other bytes than pinned is not used',
    async ({ command: old }) => {
      const { root, env } = makeCheckout();
      const ended = await runToEnd([...old(root), join(root, 'scripts/bootstrap.mjs'), 'start'], env);
      expect(ended.code).toBe(1);
      expect(ended.stderr).toMatch(/is too old: installing Node 24\.[\s\S]*is not the file that this checkout expects/);
      expect(readdirSync(join(root, '.node'))).toEqual([]);
    },
  );

  test.each(oldNodes())('under $name, the Node of an earlier run is used', async ({ command: old }) => {
    const { root, env } = makeCheckout();
    linkPrograms(join(root, '.node', 'current', 'bin'), { node: process.execPath });
    writeFiles(root, { 'dist/cli/start.js': 'console.log(process.versions.node);' });
    const ended = await runToEnd([...old(root), join(root, 'scripts/bootstrap.mjs'), 'start'], env);
    expect(ended.stdout).toBe(`${process.versions.node}\n`);
  });
});

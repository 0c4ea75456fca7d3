/** Git as it is on a machine: somebody's global configuration, hooks, an environment that points elsewhere, other users. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { enrol, runMemctl, type CtlResult } from '../../drills/lib/hosts.ts';
import { extendLog } from '../../src/core/log.ts';
import { homePaths } from '../../src/store/home/home.ts';
import { readKeys } from '../../src/store/home/keys.ts';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';

const bench = openBench();
let alpha: BenchHost;
let beta: BenchHost;
let mesh: string;

/** A signer that never answers, hooks that would show, and line ends that would break every hash. */
function hostileGitConfig(folder: string): void {
  const hooks = join(folder, 'hooks');
  mkdirSync(hooks, { recursive: true });
  const trap = `#!/bin/sh\necho "$0" >>"${folder}/trapped"\nexit 1\n`;
  for (const hook of [
    'pre-commit',
    'post-commit',
    'reference-transaction',
    'update',
    'pre-receive',
    'post-receive',
    'post-checkout',
  ]) {
    writeFileSync(join(hooks, hook), trap, { mode: 0o755 });
  }
  writeFileSync(join(folder, 'signer'), `#!/bin/sh\necho signer >>"${folder}/trapped"\nexec sleep 600\n`, {
    mode: 0o755,
  });
  writeFileSync(
    join(folder, '.gitconfig'),
    `[user]\n\tname = Somebody\n\temail = else@example.org\n\tsigningkey = ABC\n[commit]\n\tgpgsign = true\n[gpg]\n\tprogram = ${folder}/signer\n` +
      `[core]\n\thooksPath = ${hooks}\n\tautocrlf = true\n\tfsmonitor = ${folder}/signer\n\tsshCommand = ${folder}/signer\n\tpager = ${folder}/signer\n` +
      '[gc]\n\tauto = 1\n[maintenance]\n\tauto = true\n[init]\n\tdefaultObjectFormat = sha256\n\ttemplateDir = /nonexistent\n[transfer]\n\tfsckObjects = false\n',
  );
}

/** What the hook of another repository exports, and more. */
function hostileEnvironment(folder: string): Record<string, string> {
  const other = join(folder, 'other');
  return {
    GIT_DIR: join(other, '.git'),
    GIT_WORK_TREE: other,
    GIT_INDEX_FILE: join(other, '.git', 'index'),
    GIT_OBJECT_DIRECTORY: join(other, '.git', 'objects'),
    GIT_ALTERNATE_OBJECT_DIRECTORIES: '/nonexistent',
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'core.hooksPath',
    GIT_CONFIG_VALUE_0: join(folder, 'hooks'),
    GIT_CONFIG_PARAMETERS: `'commit.gpgsign'='true'`,
    GIT_AUTHOR_NAME: 'Somebody',
    GIT_COMMITTER_DATE: 'yesterday',
    GIT_TRACE: join(folder, 'trace'),
    GIT_EXEC_PATH: '/nonexistent',
    GIT_SSH_COMMAND: join(folder, 'signer'),
    GIT_DEFAULT_HASH: 'sha256',
    GIT_QUARANTINE_PATH: '/nonexistent',
    GIT_NAMESPACE: 'elsewhere',
    SSH_ASKPASS: join(folder, 'signer'),
    SSH_ASKPASS_REQUIRE: 'force',
    DISPLAY: ':0',
    LANG: 'tr_TR.UTF-8',
    LC_ALL: 'tr_TR.UTF-8',
    TZ: 'Pacific/Chatham',
  };
}

beforeAll(async () => {
  hostileGitConfig(bench.folder());
  const environment = hostileEnvironment(bench.folder());
  [alpha, beta] = await Promise.all([bench.lay('alpha', environment), bench.lay('beta', environment)]);
  ({ mesh } = await alpha.json<{ mesh: string }>('init', '--host', 'alpha', '--listen', alpha.address));
  await alpha.start();
  await enrol(alpha, beta, mesh);
  await beta.start();
}, 60_000);

test('B6: a global gpgsign with a signer that sleeps, hooks, and every GIT_ variable: nothing of it reaches memd', async () => {
  for (const host of [alpha, beta]) {
    await host.json('lesson', `lesson/of-${host.name}`, 'quote every path');
    const bulk = Array.from({ length: 2_100 }, (_, n) =>
      JSON.stringify({ kind: 'lesson', subject: `lesson/${host.name}-${n}`, content: 'x' }),
    );
    await host.append(bulk.join('\n'));
  }
  await alpha.json('fetch');
  expect(await alpha.json('recall', 'lesson/of-beta')).toMatchObject({ status: 'served' });
  for (const host of [alpha, beta]) {
    expect(await host.json('verify', '--deep')).toMatchObject({ ok: true });
    expect(readFileSync(join(host.repository, 'config'), 'utf8')).not.toContain('sha256');
    const authors = plainGit(host.repository, 'log', '--format=%an %cI %G?', `log/${host.name}`);
    expect(new Set(authors.split('\n').map((line) => line.replace(/\d{4}-\S+T\S+?([+-]\d\d:\d\d|Z) /, '$1 ')))).toEqual(
      new Set([expect.stringMatching(/^memd (\+00:00|Z) N$/)]),
    );
  }
  expect(existsSync(join(bench.folder(), 'trapped'))).toBe(false);
  expect(existsSync(join(bench.folder(), 'trace'))).toBe(false);
  expect(existsSync(join(bench.folder(), 'other'))).toBe(false);
}, 60_000);

test('B11: a clone by plain git over ssh with autocrlf: the blobs verify, whatever the checkout looks like', async () => {
  const clone = cloneOverSsh('crlf', ['-c', 'core.autocrlf=true']);
  const checkedOut = readFileSync(join(clone, '00', '00', '00.jsonl'));
  expect(checkedOut.includes('\r\n')).toBe(true);
  const files = plainGit(clone, 'ls-tree', '-r', '--name-only', 'HEAD').split('\n');
  const blobs = files.map((file) =>
    execFileSync('git', ['-C', clone, 'cat-file', 'blob', `HEAD:${file}`], { env: plainEnvironment }),
  );
  const lines = Buffer.concat(blobs).toString('utf8').trimEnd().split('\n');
  const keys = await keysOfAlpha();
  const extension = extendLog({ host: 'alpha', mesh, keys, from: { seq: 0, link: mesh }, verifyEvery: true }, lines);
  expect(extension.fault).toBeUndefined();
  expect(extension.tip.seq).toBe(
    (await alpha.json<{ heads: Record<string, { seq: number }> }>('status')).heads['alpha']?.seq,
  );
}, 30_000);

test('B16: homes share no file, and a bad block in one is no damage in a copy made over ssh', async () => {
  const clone = cloneOverSsh('apart', []);
  for (const objects of [
    join(alpha.repository, 'objects'),
    join(beta.repository, 'objects'),
    join(clone, '.git', 'objects'),
  ]) {
    expect(filesBelow(objects).filter((file) => lstatSync(file).nlink !== 1)).toEqual([]);
  }
  const host = await bench.lay('scratch');
  await host.json('init', '--host', 'scratch', '--listen', '127.0.0.1:0');
  expect(filesBelow(join(host.repository, 'objects')).filter((file) => lstatSync(file).nlink !== 1)).toEqual([]);
  const [object = ''] = filesBelow(join(alpha.repository, 'objects')).filter((file) => !file.includes('/pack/'));
  const sound = readFileSync(object);
  chmodSync(object, 0o600);
  truncateSync(object, 5);
  expect(plainGit(clone, 'fsck', '--strict')).toBe('');
  expect((await beta.ctl('verify', '--deep')).code).toBe(0);
  expect((await alpha.ctl('verify', '--deep')).code).toBe(1);
  writeFileSync(object, sound);
  expect((await alpha.ctl('verify', '--deep')).code).toBe(0);
}, 30_000);

test.skipIf(process.getuid?.() !== 0)(
  'B13 (needs root): a home or repository of another user is named with both user ids and the command',
  async () => {
    const host = await bench.lay('owned');
    await host.json('init', '--host', 'owned', '--listen', '127.0.0.1:0');
    const other = 12_345;
    chownSync(host.repository, other, other);
    expect(await host.refused(1, ['lesson', 'lesson/x', 'x'])).toMatchObject({
      code: 'REPOSITORY_OWNER',
      message: expect.stringMatching(/belongs to user id 12345, this process runs as user id 0/),
      hint: expect.stringContaining(`as root: chown -R 0:0 ${host.home}`),
    });
    await expect(host.start()).rejects.toThrow(/belongs to user id 12345/);
    const doctor = await host.ctl('doctor');
    expect(doctor.stdout).toMatch(/WRONG .*belongs to user id 12345, this process runs as/);
    expect(doctor.stdout).toMatch(/fix: .*chown -R 0/);
    chownSync(host.repository, 0, 0);
    chownSync(host.home, other, other);
    expect(await host.refused(1, ['status'])).toMatchObject({
      code: 'HOME_UNSAFE',
      hint: expect.stringContaining(`as root: chown -R 0:0 ${host.home}`),
    });
    chownSync(host.home, 0, 0);
    const key = join(host.home, 'keys', 'host_ed25519');
    chownSync(key, other, other);
    expect(await host.refused(1, ['lesson', 'lesson/x', 'x'])).toMatchObject({
      code: 'KEY_UNSAFE',
      hint: expect.stringContaining(`as root: chown -R 0:0 ${host.home}`),
    });
    chownSync(key, 0, 0);
    expect((await host.ctl('lesson', 'lesson/x', 'x')).code).toBe(0);
  },
);

test.skipIf(process.getuid?.() !== 0)(
  'B13 (needs root): a repository that changes hands under a running memd is refused to peers, and said so',
  async () => {
    // A beta that watched would have it before the repository changes hands.
    await beta.stop();
    await alpha.json('lesson', 'lesson/handed', 'over');
    chownSync(alpha.repository, 12_345, 12_345);
    const fetched = JSON.parse((await beta.ctl('fetch', 'alpha', '--json')).stdout) as {
      state: string;
      reason?: string;
    }[];
    chownSync(alpha.repository, 0, 0);
    expect(fetched).toMatchObject([
      { state: expect.stringMatching(/down|refused/), reason: expect.stringMatching(/\w/) },
    ]);
    expect(await beta.json('fetch', 'alpha')).toMatchObject([{ state: 'up' }]);
    expect(await beta.json('recall', 'lesson/handed')).toMatchObject({ status: 'served' });
  },
  40_000,
);

/** Root may write everything, so another user has to try; and that user must be able to run this checkout. */
const nobody = 65_534;
const runsAsNobody =
  process.getuid?.() === 0 &&
  spawnSync(process.execPath, [join(import.meta.dirname, '../../bin/memctl'), '--version'], {
    uid: nobody,
    gid: nobody,
    env: { HOME: '/nonexistent' },
  }).status === 0;

test.skipIf(!runsAsNobody)(
  'a home that may not be written (as another user; needs root and a checkout that others may read): said so for every command, nothing half done',
  async () => {
    const host = await bench.lay('sealed');
    await host.json('init', '--host', 'sealed', '--listen', '127.0.0.1:0');
    await host.json('lesson', 'lesson/before', 'x');
    chmodSync(bench.folder(), 0o711);
    const own = (folder: string): void => void execFileSync('chown', ['-R', `${nobody}:${nobody}`, folder]);
    const seal = (...paths: string[]): void => void execFileSync('chmod', ['-R', 'a-w', ...paths]);
    own(host.home);
    const as = (...args: string[]): Promise<CtlResult> =>
      runMemctl(['--home', host.home, ...args], { uid: nobody, env: { HOME: '/nonexistent', XDG_CACHE_HOME: '' } });
    expect((await as('lesson', 'lesson/free', 'x')).code).toBe(0);

    seal(host.repository);
    const refused = await as('lesson', 'lesson/sealed', 'x', '--json');
    expect(JSON.parse(refused.stdout)).toMatchObject({
      error: { code: 'DISK_FAILED', message: expect.stringMatching(/EACCES/) },
    });
    expect((await as('recall', 'lesson/free')).code).toBe(0);
    execFileSync('chmod', ['-R', 'u+w', host.repository]);

    // Views that cannot be written are an alarm, and what is believed can be asked all the same.
    seal(join(host.home, 'views', 'operator'));
    expect((await as('lesson', 'lesson/unseen', 'x')).code).toBe(0);
    expect((await as('recall', 'lesson/unseen')).code).toBe(0);
    expect((await as('status')).stdout).toMatch(/ALARM DISK_FAILED: .*operator.*EACCES/);
    expect(JSON.parse((await as('index', '--json')).stdout)).toMatchObject({ error: { code: 'DISK_FAILED' } });
    execFileSync('chmod', ['-R', 'u+w', host.home]);
    expect((await as('index')).stdout).toContain('lesson/unseen');
    expect((await as('status')).stdout).not.toContain('ALARM');

    seal(host.home);
    for (const args of [['status'], ['lesson', 'lesson/x', 'x'], ['recall', 'lesson/free'], ['verify'], ['index']]) {
      const { code, stdout } = await as(...args, '--json');
      expect({ args, code }).toEqual({ args, code: 1 });
      expect(JSON.parse(stdout)).toMatchObject({
        error: { code: 'DISK_FAILED', message: expect.stringMatching(/memd\.lock: EACCES/) },
      });
    }
    expect(existsSync(join(host.home, 'state.sqlite.damaged'))).toBe(false);
    execFileSync('chmod', ['-R', 'u+w', host.home]);
    expect(JSON.parse((await as('verify', '--deep', '--json')).stdout)).toMatchObject({
      ok: true,
      logs: { sealed: { lines: 3 } },
    });
  },
  40_000,
);

const plainEnvironment = {
  PATH: process.env['PATH'] ?? '',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  LC_ALL: 'C',
};

function plainGit(folder: string, ...args: string[]): string {
  return execFileSync('git', ['-C', folder, ...args], { env: plainEnvironment, encoding: 'utf8' }).trim();
}

/** Clones alpha as beta would by hand: stock git and ssh, with the transport key of beta. */
function cloneOverSsh(name: string, options: readonly string[]): string {
  const folder = join(bench.folder(), name);
  const ssh = `ssh -F none -i ${join(beta.home, 'keys', 'ssh_ed25519')} -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR`;
  execFileSync('git', ['clone', '-q', ...options, '-b', 'log/alpha', `ssh://memd@${alpha.address}/log`, folder], {
    env: { ...plainEnvironment, GIT_SSH_COMMAND: ssh, HOME: bench.folder() },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return folder;
}

/** The key of alpha that the charter names, so that lines are judged as any host judges them. */
async function keysOfAlpha(): Promise<{ key: Uint8Array; from: number; upto: null }[]> {
  const { hosts } = await beta.json<{ hosts: { host: string; key: string }[] }>('charter');
  const { fingerprint, raw32 } = readKeys(homePaths(alpha.home)).sign.publicKey;
  expect(hosts.find(({ host }) => host === 'alpha')?.key).toBe(fingerprint);
  return raw32 === undefined ? [] : [{ key: raw32, from: 1, upto: null }];
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

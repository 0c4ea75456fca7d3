/** Peers behind a real sshd: joining, fetching, watching, and everything that is refused on the way there. */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { emptyObjects, removeCopies } from '../lib/damage.ts';
import type { World } from '../lib/memctl.ts';
import { sshdProgram } from '../lib/plain-sshd.ts';
import {
  clientOptions,
  copyOptions,
  expectRefused,
  fetchOne,
  good,
  holds,
  isAlive,
  lesson,
  ownFolder,
  pin,
  pipesOf,
  run,
  startPair,
  type Pair,
} from '../lib/sshd-pair.ts';
import { temporaryFolder } from '../lib/temporary.ts';

const never = '0 0 0 1 1 *';
/** Every step is a process or several. */
const slowMs = 90_000;

describe.skipIf(sshdProgram === undefined)(
  'a real sshd in between (skipped where openssh-server is not installed)',
  () => {
    let pair: Pair;
    let folder: string;
    const env = (world: World): Record<string, string> => world.env;
    const at = (): string[] => [
      ...clientOptions(pair),
      '-p',
      String(pair.sshd.port),
      '-l',
      pair.sshd.user,
      '127.0.0.1',
    ];

    beforeAll(async () => {
      folder = ownFolder();
      pair = await startPair(folder);
    }, slowMs);

    afterAll(async () => {
      await pair.sshd.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    test(
      'C4: before anything is pinned and anybody let in, each step that is missing is named and nothing is taken',
      async () => {
        const { beta, sshd, mesh, url, lines, alpha } = pair;
        const join = async (address: string): Promise<string> => {
          const { code, value } = await beta.json(['join', address, '--mesh', mesh]);
          expect(code).toBe(1);
          return JSON.stringify(value);
        };
        const unpinned = await join(url);
        expect(unpinned).toContain('no host key of the sshd at');
        expect(unpinned).toContain('ssh-keyscan -t ed25519 -p');
        pin(beta, sshd.knownHost());
        const stranger = await join(url);
        expect(stranger).toContain('does not take the ssh key of this host');
        expect(stranger).toContain('serve --authorized-keys');
        sshd.authorize(
          ...lines.map((line) => line.replace(/command=".*"(?= ssh-)/, 'command="/nonexistent/memctl serve"')),
        );
        expect(await join(url)).toContain('has no memctl');
        sshd.authorize(...lines);
        expect(await join(sshd.url('/somewhere/else'))).toContain('this key is for the home');
        await good(beta, ['join', sshd.url(alpha.home), '--mesh', mesh]);
        beta.configure(`[peers]\nalpha = "${url}"\n`);
      },
      slowMs,
    );

    test(
      'a host fetches through it, without memd there and with it',
      async () => {
        const { alpha, beta } = pair;
        await lesson(alpha, 'one');
        expect(await fetchOne(beta)).toMatchObject({ peer: 'alpha', state: 'up', new: 1 });
        await alpha.memd();
        await lesson(alpha, 'two');
        expect(await fetchOne(beta)).toMatchObject({ peer: 'alpha', state: 'up', new: 1 });
        const [there, here] = [await good(alpha, ['status']), await good(beta, ['status'])];
        expect(here['root']).toBe(there['root']);
        expect((await beta.run(['verify', '--deep'])).code).toBe(0);
      },
      slowMs,
    );

    test(
      'B1: a repair asks through it for what is nowhere here any more',
      async () => {
        const { alpha, beta } = pair;
        const { root } = await good(alpha, ['status']);
        removeCopies(beta.home);
        for (const branch of ['trust', 'log/alpha']) emptyObjects(beta.home, branch);
        expect(await good(beta, ['doctor', '--repair'])).toMatchObject({ left: [] });
        expect(await good(beta, ['verify', '--deep'])).toMatchObject({ ok: true, root });
      },
      slowMs,
    );

    test(
      'a host that nobody can dial is heard through it; news come at once, both ways; a killed memd leaves nothing running',
      async () => {
        const { alpha, beta } = pair;
        await alpha.memd();
        const memd = await beta.memd(['--sync', never]);
        await lesson(alpha, 'from-alpha');
        await holds(beta, 'from-alpha');
        await lesson(beta, 'from-beta');
        await holds(alpha, 'from-beta');
        expect(pipesOf(pair).length).toBeGreaterThan(1);
        memd.kill('SIGKILL');
        await expect.poll(() => pipesOf(pair), { timeout: 10_000 }).toEqual([]);
      },
      slowMs,
    );

    test(
      'a peer that is served without memd has news within seconds, and comes to memd once that runs',
      async () => {
        const { alpha, beta, sshd } = pair;
        const logins = (): number => sshd.said().split('Accepted publickey').length - 1;
        await beta.memd(['--sync', never]);
        // A slow machine may miss the deadline of the only dial that the start makes.
        await expect.poll(async () => (await fetchOne(beta)).state, { timeout: 40_000 }).toBe('up');
        const before = logins();
        await lesson(alpha, 'quiet');
        await holds(beta, 'quiet');
        expect(logins()).toBe(before);
        await alpha.memd();
        // A kept connection would be used again.
        const fetched = async (): Promise<number> => (await fetchOne(beta), logins());
        await expect.poll(fetched, { timeout: 20_000 }).toBeGreaterThan(before);
        await lesson(alpha, 'loud');
        await holds(beta, 'loud');
      },
      slowMs,
    );

    test(
      'C4: a host key that has changed is refused, named and never taken, until a person pins the new one',
      async () => {
        const { beta, sshd } = pair;
        const file = pin(beta, sshd.knownHost());
        const pinned = readFileSync(file, 'utf8');
        await sshd.reinstall();
        const changed = await fetchOne(beta);
        expect(changed).toMatchObject({ state: 'refused' });
        expect(changed.reason).toMatch(/^HOST_KEY_MISMATCH: the sshd at .* shows another host key/);
        expect(readFileSync(file, 'utf8')).toBe(pinned);
        pin(beta, sshd.knownHost());
        expect(await fetchOne(beta)).toMatchObject({ state: 'up' });
      },
      slowMs,
    );

    test(
      'stock git reads the log through the forced command; everything else gets one line and a status',
      () => {
        const env = { GIT_SSH_COMMAND: ['ssh', ...clientOptions(pair)].join(' ') };
        const url = pair.sshd.url('/log');
        const clone = join(temporaryFolder(), 'clone');
        expect(run('git', ['clone', '-q', url, clone], env)).toEqual({ code: 0, stdout: '', stderr: '' });
        expect(readFileSync(join(clone, '00', '00', '00.jsonl'), 'utf8')).toContain('What is said of one');
        const listed = run('git', ['-c', 'protocol.version=0', 'ls-remote', url], env);
        expect(listed.stdout).toContain('refs/heads/log/alpha');
        expect(listed.stdout).not.toMatch(/refs\/(?:memd|heads\/(?!log|view|trust))/);
        expect(run('git', ['-C', clone, 'push', '-q', 'origin', 'HEAD:refs/heads/new'], env).code).not.toBe(0);
        expect(run('ssh', [...at(), 'memd heads']).stdout).toMatch(/^\{"addresses".*\}\n$/);
        for (const command of ['ls', "git-receive-pack '/log'", 'memd watch', 'memctl purge x'])
          expectRefused(run('ssh', [...at(), command]));
        const from = `${pair.sshd.user}@127.0.0.1`;
        const copied = join(clone, 'copied');
        expectRefused(run('scp', ['-O', ...copyOptions(pair), `${from}:/etc/passwd`, copied]));
        // What a subsystem says on stderr sshd keeps to itself.
        expect(run('scp', [...copyOptions(pair), `${from}:/etc/passwd`, copied]).code).not.toBe(0);
        expect(run('sftp', ['-b/dev/null', ...copyOptions(pair), from]).code).not.toBe(0);
        expect(existsSync(copied)).toBe(false);
      },
      slowMs,
    );

    test(
      'who asks as a stock client is known by --peer or by what sshd exposes, never guessed',
      async () => {
        const { sshd, lines } = pair;
        onTestFinished(() => sshd.authorize(...lines));
        sshd.authorize(...lines.map((line) => line.replace(' --peer beta', '')));
        const unknown = run('ssh', [...at(), 'memd heads']);
        expect(unknown).toMatchObject({ code: 1, stdout: '' });
        expect(unknown.stderr).toContain('which host asks is not known');
        // Hosts of the mesh prove it themselves.
        expect(await fetchOne(pair.beta)).toMatchObject({ state: 'up' });
        sshd.authorize(...lines.map((line) => line.replace('--peer beta', '--peer gamma')));
        expect(run('ssh', [...at(), 'memd heads']).stderr).toContain('host gamma is not enrolled');
      },
      slowMs,
    );

    test(
      'C1, C2: an ssh that hangs costs its own peer the deadline, asks nobody, and is gone with what it started',
      async () => {
        const { beta } = pair;
        const tools = temporaryFolder();
        const pids = join(tools, 'pids');
        writeFileSync(join(tools, 'ssh'), `#!/bin/sh\necho $$ >> ${pids}\nsleep 600 &\necho $! >> ${pids}\nwait\n`, {
          mode: 0o755,
        });
        const path = env(beta)['PATH'] ?? '';
        onTestFinished(() => void (env(beta)['PATH'] = path));
        env(beta)['PATH'] = `${tools}:${path}`;
        const hung = await fetchOne(beta);
        expect(hung).toMatchObject({ state: 'down' });
        expect(hung.reason).toContain('TIMEOUT');
        const left = readFileSync(pids, 'utf8').trim().split('\n');
        expect(left.length).toBeGreaterThan(1);
        await expect.poll(() => left.filter(isAlive)).toEqual([]);
      },
      slowMs,
    );

    test(
      'C5, B6: a bare PATH, no agent, settings and helpers of the user at either end: the key file alone logs in',
      async () => {
        const { alpha, beta } = pair;
        await lesson(alpha, 'bare');
        const before = { ...env(beta) };
        onTestFinished(() => void Object.assign(env(beta), before));
        Object.assign(env(beta), {
          PATH: '/usr/bin:/bin',
          SSH_AUTH_SOCK: '/nonexistent/agent',
          SSH_ASKPASS: '/bin/false',
          DISPLAY: ':9',
        });
        const gitconfig =
          '[commit]\n gpgsign = true\n[gpg]\n program = /bin/false\n[uploadpack]\n packObjectsHook = /bin/false\n';
        for (const world of [alpha, beta]) writeFileSync(join(env(world)['HOME'] ?? '', '.gitconfig'), gitconfig);
        expect((await fetchOne(beta)).state).toBe('up');
        await holds(beta, 'bare');
      },
      slowMs,
    );

    test(
      'a revoked host is told so without memd there, and gets nothing',
      async () => {
        const { alpha, beta } = pair;
        await lesson(alpha, 'secret');
        await good(alpha, ['host', 'revoke', 'beta', '--yes']);
        const told = await fetchOne(beta);
        expect(told).toMatchObject({ state: 'refused', new: 0 });
        expect(told.reason).toContain('host beta was revoked');
        expect(run('ssh', [...at(), 'memd heads']).stderr).toContain('host beta was revoked');
        expect((await good(alpha, ['serve', '--authorized-keys']))['lines']).toEqual([]);
      },
      slowMs,
    );
  },
);

const canBeOther =
  sshdProgram !== undefined &&
  process.getuid?.() === 0 &&
  spawnSync('unshare', ['-m', 'true']).status === 0 &&
  spawnSync('setpriv', ['--version']).status === 0;

describe.skipIf(!canBeOther)(
  'an sshd that is not root (skipped where we are not root: then the others are this one)',
  () => {
    test(
      'serves the home of its account, as that user, and says which keys it let in',
      async () => {
        const uid = 64_999;
        const folder = temporaryFolder();
        chmodSync(folder, 0o711);
        const { alpha, beta, mesh, lines, sshd } = await startPair(folder, { uid, settings: ['ExposeAuthInfo yes'] });
        onTestFinished(() => sshd.stop());
        await lesson(alpha, 'one');
        chmodSync(alpha.folder, 0o711);
        spawnSync('chown', ['-R', String(uid), alpha.home]);
        sshd.authorize(...lines.map((line) => line.replace(' --peer beta', '')));
        pin(beta, sshd.knownHost());
        beta.configure(`[peers]\nalpha = "${sshd.url()}"\n`);
        await good(beta, ['join', sshd.url(), '--mesh', mesh]);
        await holds(beta, 'one');
        expect(sshd.said()).toContain(`Accepted publickey for ${sshd.user}`);
        const options = clientOptions({ beta, sshd });
        expect(run('ssh', [...options, '-p', String(sshd.port), `${sshd.user}@127.0.0.1`, 'memd heads'])).toMatchObject(
          { code: 0 },
        );
      },
      slowMs,
    );
  },
);

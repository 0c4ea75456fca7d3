/** A person's ssh-agent with a key in it, and helpers that would answer for the person. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DrillContext } from './drill.ts';
import { until } from './live-mesh.ts';

/** A program that prints an answer and leaves a trace of having been asked. */
export interface Helper {
  readonly file: string;
  timesAsked(): number;
}

export function answeringHelper(folder: string, name: string, answer: string): Helper {
  const file = join(folder, name);
  const trace = `${file}.asked`;
  writeFileSync(file, `#!/bin/sh\necho asked >>"${trace}"\n${answer}\n`, { mode: 0o755 });
  return {
    file,
    timesAsked: () => (existsSync(trace) ? readFileSync(trace, 'utf8').trim().split('\n').length : 0),
  };
}

export interface RunningAgent {
  readonly socket: string;
  /** `ssh-add` of a key whose passphrase is known; options such as -c first. */
  add(key: string, passphrase: string, ...options: readonly string[]): void;
  /** `ssh-add -l`. */
  list(): string;
}

/** Starts an ssh-agent. `environment` is what it has for asking its person; by default nothing. */
export async function startAgent(
  context: DrillContext,
  folder: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<RunningAgent> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const socket = join(folder, 'agent');
  const blank = { DISPLAY: '', WAYLAND_DISPLAY: '', SSH_ASKPASS: '', SSH_ASKPASS_REQUIRE: '' };
  context.start({ command: 'ssh-agent', args: ['-D', '-a', socket], env: { ...blank, ...environment } });
  const env = { PATH: process.env['PATH'] ?? '', SSH_AUTH_SOCK: socket };
  // Its socket is there before it listens. Without a key in it the answer is exit code 1, and 2 when nobody answers.
  await until('ssh-agent answers', async () => {
    const { status, stderr } = spawnSync('ssh-add', ['-l'], { env, encoding: 'utf8' });
    return status === 0 || status === 1 || stderr.trim();
  });
  return {
    socket,
    add(key, passphrase, ...options) {
      const helper = join(folder, 'passphrase');
      writeFileSync(helper, `#!/bin/sh\necho '${passphrase}'\n`, { mode: 0o755 });
      execFileSync('ssh-add', [...options, key], {
        env: { ...env, SSH_ASKPASS: helper, SSH_ASKPASS_REQUIRE: 'force', DISPLAY: ':0' },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      rmSync(helper);
    },
    list: () => execFileSync('ssh-add', ['-l'], { env, encoding: 'utf8' }).trim(),
  };
}

/** What `ssh-keygen -Y sign` with an agent makes of a message, as any process of the user can run it. */
export function signThroughAgent(
  socket: string,
  { publicFile, namespace, message }: { publicFile: string; namespace: string; message: string },
): { readonly ok: boolean; readonly said: string; readonly armor: string } {
  const done = spawnSync('ssh-keygen', ['-Y', 'sign', '-f', publicFile, '-n', namespace], {
    env: { PATH: process.env['PATH'] ?? '', SSH_AUTH_SOCK: socket },
    input: message,
    encoding: 'utf8',
    timeout: 30_000,
  });
  return { ok: done.status === 0, said: done.stderr.trim().split('\n').at(-1) ?? '', armor: done.stdout };
}

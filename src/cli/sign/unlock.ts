/** Opening and closing a window: `ssh-add` on the person's terminal, into the person's own agent. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { childEnvironment, runChild } from '../../store/child.ts';
import { systemCode } from '../../store/errors.ts';
import type { Home } from '../../store/home/home.ts';
import { Refusal } from '../../daemon/refusal.ts';
import type { SigningKeyFile } from '../signing.ts';
import { cannotSign } from './keygen-failure.ts';
import { agentHolds, forgetWindow, readWindow, writeWindow, type Window } from '../../daemon/unlock-window.ts';

export interface UnlockOptions {
  readonly seconds: number;
  /** The agent asks before each use. */
  readonly confirm: boolean;
  /** PKCS#11 library whose keys the agent is to load, instead of a key file. */
  readonly pkcs11: string | undefined;
  /** Socket of the person's agent. */
  readonly agent: string | undefined;
}

/** Opens a window for the key. Refuses NO_TERMINAL, SIGN_FAILED. */
export async function openWindow(home: Home, key: SigningKeyFile, options: UnlockOptions): Promise<Window> {
  const { seconds, confirm, pkcs11, agent } = options;
  if (!process.stdin.isTTY) throw needsTerminal();
  if (agent === undefined || agent === '') {
    throw cannotSign('there is no ssh-agent here: SSH_AUTH_SOCK is not set', 'eval "$(ssh-agent)", then once more');
  }
  const what = pkcs11 === undefined ? [key.file] : ['-s', pkcs11];
  const code = await runSshAdd(['-q', '-t', String(seconds), ...(confirm ? ['-c'] : []), ...what], agent);
  const { text, fingerprint } = key.publicKey;
  if (code !== 0 || !(await agentHolds(agent, text))) {
    throw cannotSign(
      `the agent did not take ${key.file}; no window was opened`,
      'ssh-add says why above; an agent that knows no -c takes no key that is to be confirmed',
    );
  }
  const until = new Date(Date.now() + seconds * 1_000).toISOString();
  const window = { agent, key: text, fingerprint, until, confirm };
  await writeWindow(home, window);
  return window;
}

/** Takes the key out of the agent and forgets the window. @returns whether there was one. */
export async function closeWindow(home: Home, now: number): Promise<boolean> {
  const window = readWindow(home, now);
  forgetWindow(home);
  if (window === undefined) return false;
  const folder = mkdtempSync(join(tmpdir(), 'memctl-unlock-'));
  try {
    const file = join(folder, 'key.pub');
    writeFileSync(file, `${window.key}\n`, { mode: 0o600 });
    // An agent that is gone, or has dropped the key already, holds nothing that could sign.
    await runChild({ command: 'ssh-add', args: ['-q', '-d', file], env: { SSH_AUTH_SOCK: window.agent } });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  if (!(await agentHolds(window.agent, window.key))) return true;
  throw cannotSign(
    `the agent still holds the key ${window.fingerprint}`,
    'ssh-add -D takes out every key of the agent',
  );
}

function runSshAdd(args: readonly string[], agent: string): Promise<number> {
  const child = spawn('ssh-add', [...args], {
    env: childEnvironment({ SSH_AUTH_SOCK: agent }),
    stdio: ['inherit', 'ignore', 'inherit'],
  });
  const wait = (): void => undefined;
  process.on('SIGINT', wait);
  return new Promise<number>((resolve, reject) => {
    child.on('error', (error) => {
      const missing = systemCode(error) === 'ENOENT';
      reject(cannotSign(missing ? 'ssh-add is not on PATH' : error.message, 'install OpenSSH 8.2 or newer'));
    });
    child.on('close', (code) => resolve(code ?? 255));
  }).finally(() => process.off('SIGINT', wait));
}

function needsTerminal(): Refusal {
  return new Refusal({
    code: 'NO_TERMINAL',
    message: 'a window is opened by a person at a terminal; none was opened',
    hint: 'run memctl unlock in a terminal',
    exit: 6,
  });
}

/** The user's service manager, where there is one that answers. */
import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { runChild } from '../../store/child.ts';
import { isOperatingError, printable } from '../../store/errors.ts';

const unit = 'memd.service';
const deadlineMs = 30_000;

export interface Ran {
  readonly ok: boolean;
  readonly stdout: string;
  /** What went wrong, in one line. */
  readonly detail: string;
}

export interface ServiceManager {
  /** False without systemd, or where it does not answer: a container, a session without XDG_RUNTIME_DIR. */
  readonly answers: boolean;
  /** Why not. */
  readonly detail: string;
  /** Runs `systemctl --user VERB … memd.service`. */
  run(args: readonly string[]): Promise<Ran>;
  reload(): Promise<Ran>;
  /** Properties of the unit as the manager has it. */
  show(): Promise<Readonly<Record<string, string>>>;
}

/** Asks whether it answers; starts nothing. */
export async function openManager(env: NodeJS.ProcessEnv): Promise<ServiceManager> {
  const call = (args: readonly string[]): Promise<Ran> =>
    runQuietly('systemctl', ['--user', '--no-pager', ...args], env);
  const asked = await call(['show', '--property=Version']);
  return {
    answers: asked.ok,
    detail: asked.detail,
    run: (args) => call([...args, unit]),
    reload: () => call(['daemon-reload']),
    show: async () => {
      const { stdout } = await call(['show', unit, '--property=ActiveState,SubState,MainPID,UnitFileState,Result']);
      return Object.fromEntries(
        stdout
          .trim()
          .split('\n')
          .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
      );
    },
  };
}

/** Whether the user's services run without a login; undefined where that cannot be told. */
export function lingers(): boolean | undefined {
  const user = userName();
  if (user === undefined || !existsSync('/var/lib/systemd')) return undefined;
  return existsSync(`/var/lib/systemd/linger/${user}`);
}

/** Name of the user; undefined for an id that the system knows no name of. */
export function userName(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}

export function setLinger(on: boolean, env: NodeJS.ProcessEnv): Promise<Ran> {
  return runQuietly('loginctl', [on ? 'enable-linger' : 'disable-linger'], env);
}

async function runQuietly(command: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<Ran> {
  try {
    const { code, stdout, stderr } = await runChild({ command, args, deadlineMs, env: busVariables(env) });
    const detail = printable(stderr.trim().split('\n')[0] ?? '', 200);
    return { ok: code === 0, stdout: stdout.toString('utf8'), detail: detail === '' ? `exit code ${code}` : detail };
  } catch (error) {
    if (!isOperatingError(error)) throw error;
    return { ok: false, stdout: '', detail: error.message };
  }
}

/** Where the manager is found. A shell without a login session (sudo, cron, ssh to some systems) does not say it. */
function busVariables(env: NodeJS.ProcessEnv): Record<string, string> {
  const runtime = env['XDG_RUNTIME_DIR'] ?? `/run/user/${process.getuid?.() ?? 0}`;
  const bus = env['DBUS_SESSION_BUS_ADDRESS'];
  return { XDG_RUNTIME_DIR: runtime, ...(bus === undefined ? {} : { DBUS_SESSION_BUS_ADDRESS: bus }) };
}

// @ts-check
/** Child processes of the bootstrap. */
import { spawn } from 'node:child_process';

/**
 * Runs a command with our terminal; resolves with its exit code (128 + n for a signal).
 * @param {readonly string[]} command
 * @param {{ env: NodeJS.ProcessEnv, cwd: string, stdout?: 'inherit' | 'stderr' }} options
 * @returns {Promise<number>}
 */
export function run(command, options) {
  const [file = '', ...args] = command;
  const stdout = options.stdout === 'stderr' ? 2 : 'inherit';
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { cwd: options.cwd, env: options.env, stdio: ['inherit', stdout, 'inherit'] });
    const stop = forwardSignals(child);
    child.once('error', (error) => {
      stop();
      reject(error);
    });
    child.once('exit', (code, signal) => {
      stop();
      resolve(code ?? 128 + (signalNumbers[signal ?? ''] ?? 1));
    });
  });
}

/** @type {Readonly<Record<string, number>>} */
const signalNumbers = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGABRT: 6,
  SIGKILL: 9,
  SIGSEGV: 11,
  SIGPIPE: 13,
  SIGTERM: 15,
};

/**
 * Passes SIGTERM and SIGHUP on. Ctrl-C at a terminal reaches the child by itself, since it is in our process group:
 * sent again it would be the second one, which asks memd to stop at once.
 * @param {import('node:child_process').ChildProcess} child
 */
function forwardSignals(child) {
  const pass = (/** @type {NodeJS.Signals} */ signal) => {
    if (signal === 'SIGINT' && process.stdin.isTTY) return;
    child.kill(signal);
  };
  const signals = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);
  for (const signal of signals) process.on(signal, pass);
  return () => {
    for (const signal of signals) process.off(signal, pass);
  };
}

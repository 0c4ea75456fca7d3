/**
 * Ordinary git calls on our own repository through `simple-git`: init, fsck, for-each-ref, version. It runs under the
 * same rules as `child.ts` as far as it can: our environment only (it refuses inherited `GIT_*` itself), a deadline
 * through its abort signal, and its list of refused options with the two exceptions that we use with fixed values.
 *
 * Not for calls that start further processes, read from a peer, or stream: simple-git ends only the process it started
 * (no process group), its own time-out starts again with every byte of output, and it keeps all output in memory.
 */

import { simpleGit } from 'simple-git';
import { childDeadlineMs } from '../../core/limits.ts';
import { childEnvironment, failedChild, type ChildResult } from '../child.ts';
import { OperatingError } from '../errors.ts';

/** Result of one call; any exit code is an answer. */
export type OrdinaryResult = Pick<ChildResult, 'code' | 'stderr'> & { readonly stdout: string };

/** One call. `cwd` must exist; git is told the repository by `--git-dir`, never by the folder it runs in. */
export interface OrdinaryCall {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly gitDir?: string;
  readonly deadlineMs?: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs git to its end. Errors: `PROGRAM_MISSING`, `CHILD_TIMEOUT`, `CHILD_FAILED` (it could not be run at all). */
export async function runOrdinary(call: OrdinaryCall): Promise<OrdinaryResult> {
  const args = call.gitDir === undefined ? [...call.args] : ['--git-dir', call.gitDir, ...call.args];
  const env = childEnvironment(call.env);
  const deadlineMs = call.deadlineMs ?? childDeadlineMs;
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), deadlineMs);
  let result: OrdinaryResult | undefined;
  const git = simpleGit({
    baseDir: call.cwd,
    abort: abort.signal,
    allowEnvironment: Object.keys(env),
    unsafe: { allowUnsafeTemplateDir: true, allowUnsafeConfigPaths: true },
    errors: (error, { exitCode, stdOut, stdErr }) => {
      if (error instanceof Error && exitCode !== 0 && abort.signal.aborted) return error;
      result = {
        code: exitCode,
        stdout: Buffer.concat(stdOut).toString('utf8'),
        stderr: Buffer.concat(stdErr).toString('utf8'),
      };
      return undefined;
    },
  }).env(env);
  try {
    await git.raw(args);
  } catch (error) {
    throw ordinaryError(error, { args, deadlineMs, late: abort.signal.aborted });
  } finally {
    clearTimeout(timer);
  }
  return requireStarted(result, args);
}

function requireStarted(result: OrdinaryResult | undefined, args: readonly string[]): OrdinaryResult {
  if (result === undefined) throw new OperatingError('CHILD_FAILED', 'git: gave no result');
  if (result.code >= 0 && !result.stderr.includes('spawn git ENOENT')) return result;
  if (result.stderr.includes('ENOENT'))
    throw new OperatingError('PROGRAM_MISSING', 'git is not on PATH', { hint: 'install git 2.36 or newer' });
  throw failedChild({ command: 'git', args }, result);
}

function ordinaryError(
  error: unknown,
  call: { args: readonly string[]; deadlineMs: number; late: boolean },
): OperatingError {
  const what = `git ${call.args.join(' ')}`;
  if (call.late)
    return new OperatingError('CHILD_TIMEOUT', `${what}: not finished after ${call.deadlineMs} ms`, { cause: error });
  return failedChild(
    { command: 'git', args: call.args },
    { code: 1, stderr: error instanceof Error ? error.message : String(error) },
  );
}

/** Runs git and requires exit code 0. Errors: as `runOrdinary`, `CHILD_FAILED`. */
export async function runOrdinaryOk(call: OrdinaryCall): Promise<OrdinaryResult> {
  const result = await runOrdinary(call);
  if (result.code !== 0) throw failedChild({ command: 'git', args: call.args }, result);
  return result;
}

/** The lowest git that has all we use (`cat-file --batch-command`, `core.fsync`). */
const gitMinimum = { major: 2, minor: 36 };

/** Refuses a git that is missing or too old. Errors: `PROGRAM_MISSING`, `PROGRAM_TOO_OLD`. */
export async function requireGit(cwd: string): Promise<string> {
  const { stdout } = await runOrdinaryOk({ args: ['--version'], cwd });
  const match = /(\d+)\.(\d+)(\.\d+)*/.exec(stdout);
  const [major, minor] = [Number(match?.[1] ?? 0), Number(match?.[2] ?? 0)];
  if (major > gitMinimum.major || (major === gitMinimum.major && minor >= gitMinimum.minor)) return match?.[0] ?? '';
  throw new OperatingError('PROGRAM_TOO_OLD', `git ${match?.[0] ?? 'of unknown version'} is too old`, {
    hint: 'install git 2.36 or newer',
  });
}

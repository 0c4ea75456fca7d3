/**
 * View targets: copies of the index in folders of projects, written behind every change of the fold. A target that cannot
 * be written stops nothing; `status` says why.
 */
import { dirname } from 'node:path';
import type { Logger } from 'pino';
import { gitFolderAround, type GitFolder } from '../../agent/git-folder.ts';
import type { Fold } from '../../core/fold/fold.ts';
import { homeGitDeadlineMs } from '../../core/limits.ts';
import { forgetSubjects, renderViews } from '../../core/views/render.ts';
import type { ViewCache } from '../../core/views/selection.ts';
import { viewSourceOf } from '../../core/views/view-source.ts';
import { runChild } from '../../store/child.ts';
import {
  keptEdits,
  targetFault,
  targetMark,
  targetState,
  writeTarget,
  type TargetOutcome,
} from '../../store/target-file.ts';
import type { Beliefs } from './beliefs.ts';
import type { TargetConfig } from '../config/config.ts';
import { createSettler } from './settler.ts';

export interface Targets {
  /** Has every target looked at soon, whether anything changed or not. */
  readonly start: () => void;
  /** What a person should know of them, one sentence each. */
  readonly warnings: () => readonly string[];
  /** Writes what is due, and ends. */
  readonly close: () => Promise<void>;
}

export interface TargetsOptions {
  readonly targets: readonly TargetConfig[];
  /** Home folder of memd: no target may lie in it. */
  readonly home: string;
  readonly beliefs: Beliefs;
  /** True in memd: targets follow on a timer. Without it they follow at the end. */
  readonly daemon: boolean;
  readonly log: Logger | undefined;
}

interface Target extends TargetConfig {
  readonly cache: ViewCache;
  /** Why it was not written last time; '' when it was. */
  refused: string;
}

/** Keeps the targets of the config. None configured: nothing is done. */
export function openTargets({ targets, home, beliefs, daemon, log }: TargetsOptions): Targets {
  const all = targets.map((target): Target => ({ ...target, cache: new Map(), refused: '' }));
  let due = false;
  const settler = createSettler(
    async () => {
      if (!due) return;
      due = false;
      try {
        const fold = await beliefs.fold();
        for (const target of all) await writeOne(target, { fold, home, log });
      } catch (error) {
        due = true;
        throw error;
      }
    },
    (error) => log?.error({ err: error }, 'cannot write view targets'),
  );
  const changed = (): void => {
    due = all.length > 0;
    if (due && daemon) settler.soon();
  };
  beliefs.onChanged((subjects) => {
    for (const { cache } of all) {
      if (subjects === 'all') cache.clear();
      else forgetSubjects(cache, subjects);
    }
    changed();
  });
  return {
    start: changed,
    warnings: () => all.flatMap((target) => warningsOf(target, home)),
    close: () => settler.now().catch((error: unknown) => log?.error({ err: error }, 'cannot write view targets')),
  };
}

interface Work {
  readonly fold: Fold;
  readonly home: string;
  readonly log: Logger | undefined;
}

/** Writes one target; what goes wrong with it is its own reason, and stops no other. */
async function writeOne(target: Target, { fold, home, log }: Work): Promise<void> {
  const { path, refused: before } = target;
  try {
    const done = await attempt(target, { fold, home });
    target.refused = done.state === 'refused' ? done.reason : '';
    if (done.state === 'written' && done.keptAs !== undefined) {
      log?.warn({ path, keptAs: done.keptAs }, 'a view target held what somebody else wrote; it is kept beside it');
    }
  } catch (error) {
    target.refused = error instanceof Error ? error.message : String(error);
  }
  const { refused } = target;
  if (refused !== '' && refused !== before) log?.warn({ path, reason: refused }, 'a view target is not written');
}

async function attempt(target: Target, { fold, home }: Pick<Work, 'fold' | 'home'>): Promise<TargetOutcome> {
  const { path, audience, scope, bytes, lines, cache } = target;
  if (!fold.charter.audiences.has(audience)) {
    return { state: 'refused', reason: `there is no audience ${audience} in this mesh` };
  }
  if (await isLogCheckout(path)) return { state: 'refused', reason: 'it lies in a checkout of the log' };
  const budget = { bytes: bytes - targetMark.bytes, lines: lines - targetMark.lines };
  const options = { audience, budget, cache, ...(scope === undefined ? {} : { scope }) };
  const text = renderViews(viewSourceOf(fold), options).get('INDEX.md') ?? '';
  return writeTarget(path, { text, closed: [home] });
}

/**
 * The log is what targets are made of: a checkout of it (`git clone ssh://memd@HOST/log`) must not get generated files. Such
 * a repository holds a branch `trust` beside branches `log/HOST`.
 */
async function isLogCheckout(path: string): Promise<boolean> {
  const git = gitFolderAround(dirname(path));
  if (git === undefined) return false;
  const refs = await refsOf(git);
  return (
    refs.some((ref) => /(?:^refs\/heads|\/[^/]+)\/trust$/.test(ref)) &&
    refs.some((ref) => /\/log\/[a-z0-9-]+$/.test(ref))
  );
}

async function refsOf({ gitDir }: GitFolder): Promise<readonly string[]> {
  const done = await runChild({
    command: 'git',
    args: ['--git-dir', gitDir, 'for-each-ref', '--format=%(refname)', 'refs/heads', 'refs/remotes'],
    cwd: gitDir,
    deadlineMs: homeGitDeadlineMs,
  }).catch(() => undefined);
  return done?.stdout.toString('utf8').split('\n') ?? [];
}

function warningsOf(target: Target, home: string): readonly string[] {
  const { path, refused } = target;
  const fault = refused === '' ? targetFault(path, [home]) : refused;
  const kept = keptEdits(path).map(
    (file) => `what somebody wrote into target ${path} is kept as ${file}: memctl import ${file}, then remove it`,
  );
  if (fault !== undefined) return [`target ${path} is not written: ${fault}`, ...kept];
  if (targetState(path) !== 'foreign') return kept;
  return [`target ${path} was written by somebody else; the next change keeps that beside it`, ...kept];
}

/** Looks out for git children of a process, and kills some: whichever come, whatever they are at. */
import { readFileSync } from 'node:fs';
import type { Random } from '../../test/lib/random.ts';
import { childrenOf, killProcess, pause } from './process.ts';

export interface GitHunt {
  /** What the children that were killed did (`cat-file`, `fast-import`…). */
  readonly killed: readonly string[];
  /** Resolves once as many were killed as it is out for, or after so long; nothing is killed any more then. */
  readonly over: (deadlineMs: number) => Promise<readonly string[]>;
}

/**
 * How many children are let pass before one is killed, how long each has lived at most by then, and how many are killed one
 * after the other: what is done again after a failure can fail too.
 */
const passed: readonly number[] = [0, 0, 0, 1, 2];
const spreadsMs: readonly number[] = [0, 3, 20];
const rows: readonly number[] = [1, 1, 2, 3];

/** Begins at once. `readers`: also what reads objects, which comes far more often than anything else. */
export function huntGitChild(pid: number, random: Random, { readers = true } = {}): GitHunt {
  const choice: Choice = {
    readers,
    toPass: random.pick(passed),
    delayMs: random.next() * random.pick(spreadsMs),
    row: random.pick(rows),
  };
  const state: HuntState = { killed: [], isOver: false };
  const looking = look(pid, choice, state);
  return {
    killed: state.killed,
    over: async (deadlineMs) => {
      const end = performance.now() + deadlineMs;
      while (state.killed.length < choice.row && performance.now() < end) await pause(2);
      state.isOver = true;
      await looking;
      return state.killed;
    },
  };
}

interface Choice {
  readonly readers: boolean;
  readonly toPass: number;
  readonly delayMs: number;
  readonly row: number;
}

interface HuntState {
  readonly killed: string[];
  isOver: boolean;
}

async function look(pid: number, { readers, toPass, delayMs, row }: Choice, state: HuntState): Promise<void> {
  const seen = new Set<number>();
  let met = 0;
  while (!state.isOver && state.killed.length < row) {
    const child = childrenOf(pid, 'git').find((one) => !seen.has(one));
    if (child === undefined) {
      await pause(1);
      continue;
    }
    seen.add(child);
    if (!readers && workOf(child) === 'cat-file') continue;
    met += 1;
    if (met <= toPass) continue;
    if (delayMs >= 1) await pause(delayMs);
    const work = workOf(child);
    if (state.isOver || work === undefined || !childrenOf(pid, 'git').includes(child)) continue;
    killProcess(child);
    state.killed.push(work);
  }
}

/** Command of a git process; undefined when it is gone. */
export function workOf(pid: number): string | undefined {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    return words.find((word, at) => at > 0 && !word.startsWith('-') && !takesWord.has(words[at - 1] ?? ''));
  } catch {
    return undefined;
  }
}

/** Options of git itself that are followed by a word of their own. */
const takesWord = new Set(['--git-dir', '-c', '-C']);

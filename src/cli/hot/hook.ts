/**
 * `memctl hook HARNESS EVENT`: what a harness runs. Local state only; ends by itself; exit 0 and a valid answer or none,
 * whatever it was given and whatever is broken here. Stdout carries the answer and nothing else.
 */
import fs from 'node:fs';
import {
  hookAnswer,
  isHarnessName,
  isHookEvent,
  sourceNote,
  type HarnessName,
  type HookEvent,
} from '../../agent/harness/harness.ts';
import { noHookInput, parseHookInput, selfTestSession, type HookInput } from '../../agent/harness/hook-input.ts';
import {
  hookAnswerWaitMs,
  hookInputBytesMax,
  hookInputWaitMs,
  sessionFirstBytesMax,
  sessionTextBytesMax,
} from '../../core/limits.ts';
import type { HookOutcome } from '../../store/notes/hook-log.ts';
import { homePaths, resolveHome, type Home } from '../../store/home/home.ts';
import { askMemd, type Asked } from './ask.ts';
import { readHookStdin } from './hook-stdin.ts';
import { readHotWords } from './words.ts';

/** Runs the hook. @returns false when help was asked for: then nothing was done. */
export async function runHook(words: readonly string[]): Promise<boolean> {
  if (words.includes('--help') || words.includes('-h')) return false;
  const asked = readHotWords(words, { flags: ['--json', '--quiet', '--no-color'], options: [] });
  const [harness = '', event = ''] = asked?.positional ?? [];
  const named = words.indexOf('--home');
  const home = homeOf(asked?.home ?? (named < 0 ? undefined : words[named + 1]));
  const tell = async (outcome: HookOutcome, why: string): Promise<void> => {
    if (home === undefined) return;
    const { noteHook } = await import('../../store/notes/hook-log.ts');
    noteHook(home, { at: new Date().toISOString(), harness, event, outcome, why });
  };
  process.exitCode = 0;
  const giveUp = async (error: Error): Promise<void> => {
    await tell('failed', error.message);
    process.exit(0);
  };
  process.on('uncaughtException', (error) => void giveUp(error));
  try {
    if (!isHarnessName(harness)) await tell('skipped', 'no such harness');
    else if (!isHookEvent(event)) await tell('skipped', 'no such event');
    else say(await answer({ harness, event, home, tell }));
  } catch (error) {
    await tell('failed', error instanceof Error ? error.message : String(error));
  }
  process.exit(0);
}

function homeOf(flag: string | undefined): Home | undefined {
  try {
    return homePaths(resolveHome({ flag, env: process.env }));
  } catch {
    return undefined;
  }
}

interface HookRun {
  readonly harness: HarnessName;
  readonly event: HookEvent;
  /** Undefined when nothing names one. */
  readonly home: Home | undefined;
  readonly tell: (outcome: HookOutcome, why: string) => Promise<void>;
}

/** What goes to stdout; undefined for nothing. */
async function answer(run: HookRun): Promise<string | undefined> {
  const input = await readInput(run);
  // The harness knows best what it runs; an answer under another name than the event's is refused whole.
  const event = isHookEvent(input.event) ? input.event : run.event;
  const text =
    event === 'UserPromptSubmit' ? await promptNote(run, input) : await sessionStart({ ...run, event }, input);
  return text === undefined || text === '' ? undefined : hookAnswer(event, text);
}

async function readInput({ tell }: HookRun): Promise<HookInput> {
  const { text, fault } = await readHookStdin({ bytesMax: hookInputBytesMax, waitMs: hookInputWaitMs });
  const input = parseHookInput(text);
  if (!('fault' in input)) return input;
  await tell('degraded', fault ?? input.fault);
  return noHookInput;
}

async function sessionStart(run: HookRun, input: HookInput): Promise<string> {
  const { home, harness, event, tell } = run;
  if (home === undefined) {
    return 'memd: NOT RUNNING, no index can be read: no home folder is named (MEMD_HOME, XDG_DATA_HOME and HOME are not set)\n';
  }
  const { session, agent, cwd, source } = input;
  const asked = await askMemd(home, {
    method: 'session.start',
    params: { harness, event, source, session, agent, cwd },
    waitMs: hookAnswerWaitMs,
  });
  const text = asked.state === 'answered' ? (asked.result as { text?: unknown } | null)?.text : undefined;
  if (typeof text === 'string' && text !== '') return text;
  return withoutMemd({ home, harness, event, tell }, input, stateOf(asked));
}

function stateOf(asked: Asked): string {
  if (asked.state === 'absent') return 'NOT RUNNING';
  return `NOT ANSWERING (${asked.state === 'failed' ? asked.why : 'an answer of another version'})`;
}

async function withoutMemd(run: HookRun & { readonly home: Home }, input: HookInput, state: string): Promise<string> {
  const { home, harness, event, tell } = run;
  const { session, agent, source } = input;
  const notes = [sourceNote(source)].filter((note) => note !== '');
  const bytes = event === 'SubagentStart' ? sessionFirstBytesMax : sessionTextBytesMax;
  // Loaded here alone: an answer of memd needs none of it, and every module costs the agent time.
  const { createHash } = await import('node:crypto');
  const { offlineStart } = await import('../../agent/harness/offline-start.ts');
  const { noteInjected } = await import('../../store/notes/injected-log.ts');
  const { head, text, fault } = offlineStart(home, 'operator', { state, notes, bytes, now: Date.now() });
  if (session !== selfTestSession) await tell('degraded', fault === undefined ? state : `${state}; ${fault}`);
  if (fault !== undefined) return text;
  const view = createHash('sha256').update(text).digest('hex');
  const at = new Date().toISOString();
  try {
    noteInjected(home, { at, harness, event, source, session, agent, scope: null, audience: 'operator', head, view });
  } catch {
    await tell('degraded', 'what the session was told could not be recorded');
  }
  return text;
}

/** Without memd nothing is known to have changed: then there is no note. */
async function promptNote({ home, harness, tell }: HookRun, { session }: HookInput): Promise<string | undefined> {
  if (home === undefined || session === '') return undefined;
  const asked = await askMemd(home, {
    method: 'session.prompt',
    params: { harness, session },
    waitMs: hookAnswerWaitMs,
  });
  const text = asked.state === 'answered' ? (asked.result as { text?: unknown } | null)?.text : undefined;
  if (typeof text === 'string') return text;
  await tell('skipped', stateOf(asked));
  return undefined;
}

/** Writes the answer in one piece. A reader that is gone is no failure. */
function say(text: string | undefined): void {
  if (text === undefined) return;
  const bytes = Buffer.from(`${text}\n`);
  for (let done = 0, tries = 0; done < bytes.length && tries < 1_000; tries += 1) {
    try {
      done += fs.writeSync(1, bytes, done);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) return;
    }
  }
}

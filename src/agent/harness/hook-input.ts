/** What a harness says on stdin, as far as it is needed. Anything may be missing or wrong: nothing here throws. */
import { isAbsolute } from 'node:path';
import { printable } from '../../store/errors.ts';

export interface HookInput {
  /** Session id; '' when none was given. */
  readonly session: string;
  /** Subagent id; '' for the main agent. */
  readonly agent: string;
  /** Folder that the session works in; '' when none was given. It need not exist. */
  readonly cwd: string;
  /** Why a session starts: startup, resume, clear, compact, fork; '' when not said. */
  readonly source: string;
  /** Name of the event as the harness says it; '' when not said. */
  readonly event: string;
}

const idCharactersMax = 128;
const pathCharactersMax = 4_096;

/** Reads the JSON object of a hook. @returns the fields, or why there are none. */
export function parseHookInput(text: string): HookInput | { readonly fault: string } {
  if (text.trim() === '') return { fault: 'stdin is empty' };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { fault: 'stdin is not JSON' };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { fault: 'stdin is not a JSON object' };
  const fields = value as Record<string, unknown>;
  const id = (name: string): string => {
    const field = fields[name];
    return typeof field === 'string' ? printable(field, idCharactersMax) : '';
  };
  const { cwd } = fields;
  const sound = typeof cwd === 'string' && isAbsolute(cwd) && cwd.length <= pathCharactersMax && !cwd.includes('\0');
  return {
    session: id('session_id'),
    agent: id('agent_id'),
    cwd: sound ? cwd : '',
    source: id('source'),
    event: id('hook_event_name'),
  };
}

/** The input of a hook that was told nothing. */
export const noHookInput: HookInput = { session: '', agent: '', cwd: '', source: '', event: '' };

/** Session of the run by which `memctl agent status` tries a hook: what it finds is no failure of an agent's hook. */
export const selfTestSession = 'memctl-agent-status';

/**
 * A window: for a while, an agent that the person chose may sign events with one key. The record of it lies in the home and
 * says which agent and until when; the agent itself ends it. Outside of a window no agent is ever asked.
 */
import { lstatSync, readFileSync, rmSync } from 'node:fs';
import { z } from 'zod';
import type { SshPublicKey } from '../crypto/ssh-key.ts';
import { runChild } from '../store/child.ts';
import { realDisk, replaceFile } from '../store/disk.ts';
import type { Home } from '../store/home/home.ts';

export interface Window {
  /** Socket of the agent. */
  readonly agent: string;
  /** Public key text. */
  readonly key: string;
  readonly fingerprint: string;
  /** ISO 8601. */
  readonly until: string;
  /** The agent asks before each use. */
  readonly confirm: boolean;
}

const windowSchema: z.ZodType<Window> = z.strictObject({
  agent: z.string().startsWith('/').max(4_096),
  key: z.string(),
  fingerprint: z.string(),
  until: z.iso.datetime(),
  confirm: z.boolean(),
});

/** How long an agent may take to say which keys it has. */
const agentAnswerMs = 5_000;

/** The window that was opened last and has not run out; undefined when there is none, or the record cannot be read. */
export function readWindow(home: Home, now: number): Window | undefined {
  try {
    const parsed = windowSchema.safeParse(JSON.parse(readFileSync(home.unlock, 'utf8')));
    return parsed.success && Date.parse(parsed.data.until) > now ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}

export function writeWindow(home: Home, window: Window): Promise<void> {
  return replaceFile(realDisk, { file: home.unlock, data: Buffer.from(`${JSON.stringify(window, null, 2)}\n`) });
}

export function forgetWindow(home: Home): void {
  rmSync(home.unlock, { force: true });
}

/** The window in which this key may sign now: it has not run out, and its agent still holds the key. */
export async function openWindowFor(home: Home, key: SshPublicKey, now: number): Promise<Window | undefined> {
  const window = readWindow(home, now);
  if (window === undefined || window.fingerprint !== key.fingerprint) return undefined;
  return (await agentHolds(window.agent, key.text)) ? window : undefined;
}

/** Whether the agent behind a socket of this user has a key. Never throws: an agent that is gone has none. */
export async function agentHolds(agent: string, key: string): Promise<boolean> {
  if (!isOwnSocket(agent)) return false;
  try {
    const request = { command: 'ssh-add', args: ['-L'], env: { SSH_AUTH_SOCK: agent }, deadlineMs: agentAnswerMs };
    const { stdout } = await runChild(request);
    const lines = stdout.toString('utf8').split('\n');
    return lines.some((line) => line === key || line.startsWith(`${key} `));
  } catch {
    return false;
  }
}

/** Somebody else's socket could answer anything. */
function isOwnSocket(path: string): boolean {
  const status = lstatSync(path, { throwIfNoEntry: false });
  return status?.isSocket() === true && status.uid === process.getuid?.();
}

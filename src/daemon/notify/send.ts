/**
 * The ways to reach a person. What they are told was said by strangers: it is data on stdin, in a JSON document or in an
 * argument, never in a shell line or a header. Each attempt has a deadline and a bounded answer.
 */
import { readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { notifyAnswerBytesMax, notifyDeadlineMs } from '../../core/limits.ts';
import { failedChild, runChild } from '../../store/child.ts';
import { printable, systemCode } from '../../store/errors.ts';
import type { NotifierConfig } from '../config/config-file.ts';
import type { MessageJson } from './message.ts';

/** Delivers one message. Rejects with an error whose message is a printable reason. */
export type Send = (notifier: NotifierConfig, message: MessageJson) => Promise<void>;

export interface SendOptions {
  readonly deadlineMs?: number;
  readonly platform?: NodeJS.Platform;
}

/** The real one. */
export async function sendMessage(
  notifier: NotifierConfig,
  message: MessageJson,
  { deadlineMs = notifyDeadlineMs, platform = process.platform }: SendOptions = {},
): Promise<void> {
  switch (notifier.kind) {
    case 'command':
      return runNotifier(notifier.command, { input: `${JSON.stringify(message)}\n`, deadlineMs });
    case 'desktop':
      return runNotifier(desktopCommand(message, platform), { deadlineMs, env: sessionEnvironment() });
    case 'webhook':
      return post(new URL(notifier.url), JSON.stringify(message), { deadlineMs, tokenFile: notifier.tokenFile });
    case 'ntfy':
      return postToTopic(notifier, message, deadlineMs);
  }
}

async function runNotifier(
  [command = '', ...args]: readonly string[],
  options: {
    readonly deadlineMs: number;
    readonly input?: string;
    readonly env?: Readonly<Record<string, string>>;
  },
): Promise<void> {
  const call = { command, args, outputBytesMax: 65_536, ...options };
  const result = await runChild(call);
  // Its arguments may hold a token, or what strangers said.
  if (result.code !== 0) throw failedChild({ command, args: [] }, result);
}

/** What a program needs to find the person's screen. Nothing else of this process's environment is handed on. */
const sessionVariables = ['DBUS_SESSION_BUS_ADDRESS', 'XDG_RUNTIME_DIR', 'DISPLAY', 'WAYLAND_DISPLAY', 'XAUTHORITY'];

function sessionEnvironment(): Record<string, string> {
  return Object.fromEntries(
    sessionVariables.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

const appleScript = [
  'on run argv',
  'display notification (item 2 of argv) with title (item 1 of argv)',
  'end run',
].flatMap((line) => ['-e', line]);

/** Title and text are arguments of their own, behind `--`: nothing in them is read as an option or script. Pure. */
export function desktopCommand({ title, text }: MessageJson, platform: NodeJS.Platform): readonly string[] {
  if (platform === 'darwin') return ['osascript', ...appleScript, '--', title, text];
  // The body may hold Pango markup.
  const body = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return ['notify-send', '--app-name=memd', '--', title, body];
}

/** ntfy takes a JSON document at the root of the server: a title in a header would have to be ASCII. */
function postToTopic(
  { url, tokenFile }: { readonly url: string; readonly tokenFile: string | undefined },
  { title, text }: MessageJson,
  deadlineMs: number,
): Promise<void> {
  const root = new URL(url);
  const parts = root.pathname.split('/').filter((part) => part !== '');
  const topic = decodeURIComponent(parts.pop() ?? '');
  root.pathname = `/${parts.join('/')}`;
  return post(root, JSON.stringify({ topic, title, message: text, tags: ['warning'] }), { deadlineMs, tokenFile });
}

/** One POST, no redirects, no proxy. Any answer of the 200s is a success. */
async function post(
  url: URL,
  body: string,
  { deadlineMs, tokenFile }: { readonly deadlineMs: number; readonly tokenFile: string | undefined },
): Promise<void> {
  const token = tokenFile === undefined ? undefined : readToken(tokenFile);
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'user-agent': 'memd',
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
  const { status, said } = await ask(url, { headers, body, deadlineMs });
  if (status >= 200 && status < 300) return;
  throw new Error(`${url.host} answers ${status}${said === '' ? '' : `: ${said}`}`);
}

function ask(
  url: URL,
  {
    headers,
    body,
    deadlineMs,
  }: { readonly headers: Record<string, string | number>; readonly body: string; readonly deadlineMs: number },
): Promise<{ readonly status: number; readonly said: string }> {
  const start = url.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(deadlineMs);
    const fail = (error: Error): void => {
      const why = signal.aborted
        ? `did not answer within ${deadlineMs / 1_000} s`
        : `cannot be reached: ${systemCode(error) || error.name}`;
      reject(new Error(`${url.host} ${why}`));
    };
    // No agent: a connection that is kept would keep the process, and a proxy of the environment is not asked.
    const call = start(url, { method: 'POST', headers, signal, agent: false }, (answer) => {
      let said = '';
      answer.setEncoding('utf8');
      answer.on('data', (text: string) => {
        said += text;
        if (said.length > notifyAnswerBytesMax) answer.destroy();
      });
      answer.on('error', () => undefined);
      answer.on('close', () => resolve({ status: answer.statusCode ?? 0, said: printable(said, 120) }));
    });
    call.on('error', fail);
    // Unheard, a change of protocol would end the call without a word, and the deadline with it.
    call.on('upgrade', ({ statusCode = 0 }, socket) => {
      socket.destroy();
      resolve({ status: statusCode, said: '' });
    });
    call.end(body);
  });
}

function readToken(file: string): string {
  try {
    const token = readFileSync(file, 'utf8').trim();
    if (/^[\x21-\x7e]{1,4096}$/.test(token)) return token;
  } catch (error) {
    throw new Error(`${file} cannot be read (${systemCode(error)})`, { cause: error });
  }
  throw new Error(`${file} holds no token`);
}

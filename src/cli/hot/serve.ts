/**
 * `memctl serve --stdio` beside a running memd: a pipe between the plain sshd that started it and memd's local socket. memd
 * itself serves the peer, with everything that holds for any other; here is nothing but the way.
 */
import { connect, type Socket } from 'node:net';
import { dialDeadlineMs } from '../../core/limits.ts';
import { parseOriginalCommand } from '../../mesh/ssh/exec-request.ts';
import { homePaths, resolveHome, socketAddress } from '../../store/home/home.ts';
import { readHotWords } from './words.ts';

/** EX_TEMPFAIL: come back later. */
const busyStatus = 75;

/** Runs until either end has enough. @returns false when it is not for here: then nothing was done. */
export async function runServe(words: readonly string[]): Promise<boolean> {
  const asked = readHotWords(words, { flags: ['--stdio'], options: ['--peer'] });
  if (asked === undefined || !asked.flags.has('--stdio') || asked.positional.length > 0) return false;
  const original = parseOriginalCommand(process.env['SSH_ORIGINAL_COMMAND'] ?? '');
  if (original?.kind !== 'pipe') return false;
  try {
    const home = resolveHome({ flag: asked.home, env: process.env });
    // Whoever asks for another home is told so by the command line proper.
    if (original.home !== undefined && original.home !== home) return false;
    const socket = await reach(socketAddress(homePaths(home)));
    if (socket === undefined) return false;
    await relay(socket);
    leave();
    return true;
  } catch {
    return false;
  }
}

/** Ends the process once everything is out: a socket that sshd gave it as its output would keep it for ever. */
export function leave(): void {
  process.stdout.write('', () => process.exit());
}

function reach(path: string): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('error', () => resolve(undefined));
    socket.once('connect', () => {
      socket.removeAllListeners('error');
      resolve(socket);
    });
  });
}

/** Asks to be served, and passes on what follows the answer. Resolves when either end is gone. */
function relay(socket: Socket): Promise<void> {
  const [from = ''] = (process.env['SSH_CLIENT'] ?? '').split(' ');
  socket.write(`${JSON.stringify({ id: 1, method: 'serve', params: { from } })}\n`);
  return new Promise((resolve) => {
    const refuse = (why: string): void => {
      process.stderr.write(`memctl: ${why}\n`);
      process.exitCode = busyStatus;
      socket.destroy();
    };
    const late = setTimeout(() => refuse('memd does not answer'), dialDeadlineMs);
    let head = Buffer.alloc(0);
    let served = false;
    const takeAnswer = (chunk: Buffer): void => {
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf(10);
      if (end < 0) return;
      clearTimeout(late);
      socket.off('data', takeAnswer);
      if (!head.toString('latin1', 0, end).startsWith('{"id":1,"result"'))
        return refuse('memd serves no peers: it may be of another version');
      served = true;
      process.stdout.write(head.subarray(end + 1));
      socket.pipe(process.stdout);
      process.stdin.pipe(socket);
    };
    socket.on('data', takeAnswer);
    socket.on('error', () => socket.destroy());
    process.stdout.on('error', () => socket.destroy());
    process.stdin.on('error', () => socket.destroy());
    socket.once('close', () => {
      clearTimeout(late);
      if (!served && process.exitCode === undefined) refuse('memd serves no peers at this moment');
      process.stdin.destroy();
      resolve();
    });
  });
}

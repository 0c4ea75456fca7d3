/** `memd watch`, the end that listens. What comes is a hint: it starts a cycle and proves nothing. */
import type { ClientChannel } from 'ssh2';
import { headsBytesMax, watchPauseMs } from '../core/limits.ts';
import { parseHeads } from './heads.ts';
import type { Heads } from './node.ts';
import type { PeerConnection } from './ssh-client.ts';

/**
 * Watches a peer until the channel ends or says something that is not heads, and hands over what it says, not more often
 * than every `watchPauseMs`. Resolves at the end; `refused`: it never said anything. Never rejects.
 */
export async function watchPeer(
  connection: PeerConnection | undefined,
  onHeads: (heads: Heads) => void,
): Promise<'refused' | 'ended'> {
  const started = await connection?.start('memd watch');
  if (started?.ok !== true) return 'refused';
  const { stream } = started.value;
  let end: 'refused' | 'ended' = 'refused';
  await new Promise<void>((resolve) => {
    stream.on('close', () => resolve());
    readLines(stream, (line) => {
      const heads = parseHeads(line);
      if (!heads.ok) return void stream.close();
      end = 'ended';
      onHeads(heads.value);
    });
  });
  return end;
}

/** Whole lines, of those that came together the last. A line without end, or a flood, costs no more than one line of memory. */
function readLines(stream: ClientChannel, onLine: (line: string) => void): void {
  let rest = '';
  let notBefore = 0;
  let timer: NodeJS.Timeout | undefined;
  stream.setEncoding('utf8');
  const take = (): void => {
    timer = undefined;
    notBefore = performance.now() + watchPauseMs;
    const lines = (rest + ((stream.read() as string | null) ?? '')).split('\n');
    rest = lines.pop() ?? '';
    const line = lines.at(-1);
    if (rest.length > headsBytesMax) stream.close();
    else if (line !== undefined) onLine(line);
  };
  // Not `data`: that gives what has come in pieces, and each of them would be looked at.
  stream.on('readable', () => (timer ??= setTimeout(take, Math.max(0, notBefore - performance.now()))));
}

/** Standard input and output of this process as a stream to a peer, and as what one of its commands runs over. */
import { Duplex, type Readable, type Writable } from 'node:stream';
import type { ServerChannel } from 'ssh2';

export interface Stdio {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
}

/** Ends when stdin does; what was written is out once it has finished. */
export function stdioStream({ stdin, stdout }: Pick<Stdio, 'stdin' | 'stdout'>): Duplex {
  const stream = new Duplex({
    read: () => void stdin.resume(),
    write: (chunk: Buffer, _encoding, done) => void stdout.write(chunk, () => done()),
    destroy(error, done) {
      stdin.destroy();
      done(error);
    },
  });
  stream.on('error', () => undefined);
  // Whoever reads us is gone: nothing that is still to come finds anybody.
  stdout.on('error', () => stream.destroy());
  stdin.on('error', () => stream.destroy());
  stdin.on('data', (chunk: Buffer) => {
    if (!stream.push(chunk)) stdin.pause();
  });
  stdin.once('end', () => stream.push(null));
  return stream;
}

/** The same as a channel of ssh2 looks to a command. `onExit` is told its exit status. */
export function stdioChannel(stdio: Stdio, onExit: (status: number) => void): ServerChannel {
  const own = { stderr: stdio.stderr, exit: (status: number): void => onExit(status) };
  return Object.assign(stdioStream(stdio), own) as unknown as ServerChannel;
}

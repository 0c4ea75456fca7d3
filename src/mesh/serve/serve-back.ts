/**
 * `memd serve-back`: a host that nobody can dial opens this channel at a peer that it dialled, and the peer asks over it.
 * What runs inside is ssh once more, the other way round: the peer is the client and the host that dialled is the server,
 * so the same keys are proved, the same commands are served, and the same limits hold as on a socket.
 */
import { Duplex } from 'node:stream';

type Channel = Duplex & { readonly stderr?: { resume?: () => unknown } };

/** A channel as a stream of its own: over at once when we end it, whatever the other end does. */
export function streamOver(channel: Channel, onFirst: () => void = () => undefined): Duplex {
  const stream = new Duplex({
    read: () => void channel.resume(),
    write(chunk: Buffer, _encoding, done) {
      if (channel.writable) channel.write(chunk, () => done());
      else done();
    },
    final(done) {
      channel.end();
      done();
    },
    destroy(error, done) {
      // What still comes is of no interest, and must not keep the connection beneath from going on.
      channel.removeListener('data', take);
      channel.resume();
      channel.destroy();
      done(error);
    },
  });
  let first = true;
  const take = (chunk: Buffer): void => {
    if (!stream.push(chunk)) channel.pause();
    if (first) onFirst();
    first = false;
  };
  stream.on('error', () => undefined);
  channel.on('error', () => undefined);
  channel.stderr?.resume?.();
  channel.on('data', take);
  channel.once('end', () => stream.push(null));
  channel.once('close', () => stream.destroy());
  return stream;
}

/** Serves whoever speaks over the channel, from its first word on: until then nobody is timed. */
export function serveWhenAsked(channel: Channel, serve: (stream: Duplex) => void): void {
  const stream = streamOver(channel, () => serve(stream));
}

/** Channels over which hosts that dialled us want to be asked. Each carries one ssh connection. */
export interface BackLines {
  /** The newest offer of a host takes the place of the one before. */
  offer(host: string, channel: Duplex): void;
  has(host: string): boolean;
  /** The offered stream, which is then nobody else's. */
  take(host: string): Duplex | undefined;
  /** Ends what these hosts offered. */
  drop(isGone: (host: string) => boolean): void;
}

export function createBackLines(): BackLines {
  const offers = new Map<string, Duplex>();
  return {
    offer(host, channel) {
      const stream = streamOver(channel);
      offers.get(host)?.destroy();
      offers.set(host, stream);
      stream.once('close', () => {
        if (offers.get(host) === stream) offers.delete(host);
      });
    },
    has: (host) => offers.has(host),
    take(host) {
      const stream = offers.get(host);
      offers.delete(host);
      return stream;
    },
    drop(isGone) {
      for (const [host, stream] of offers) if (isGone(host)) stream.destroy();
    },
  };
}

/** One `git upload-pack` child behind one ssh channel: read-only, scrubbed, bounded, gone when the channel is. */
import os from 'node:os';
import type { Duplex } from 'node:stream';
import type { ServerChannel } from 'ssh2';
import {
  fetchRoundCommitsMax,
  servePackHeapBytesMax,
  socketBacklogBytesMax,
  uploadPackDeadlineMs,
  uploadPackNiceness,
  uploadRequestBytesMax,
} from '../../core/limits.ts';
import { startChild, type RunningChild } from '../../store/child.ts';
import { withinHeap } from '../../store/git/repository.ts';

/** Exit status that asks to come back later (EX_TEMPFAIL). */
export const busyStatus = 75;

export interface ServePackOptions {
  readonly host: string;
  readonly channel: ServerChannel;
  /** The socket under the channel: ssh2 writes to it without heeding its backlog, so we do. */
  readonly socket: Duplex;
  readonly repositoryDir: string;
  /** Value of GIT_PROTOCOL, when the peer set one. */
  readonly protocol?: string | undefined;
  /** Called once, when the child is gone. `note` says what went wrong, if anything. */
  readonly onEnd: (note?: string) => void;
}

/** Only these branches exist for a peer: logs, views and the trust set. The last rule that matches counts. */
const shownRefs = ['refs/', '!refs/heads/log/', '!refs/heads/view/', '!refs/heads/trust'];

/** `--timeout` ends a child whose peer says nothing for 30 s. A repository's own configuration can name programs: none here. */
function uploadPackArguments(repositoryDir: string): readonly string[] {
  const settings = [
    ...shownRefs.map((rule) => `transfer.hideRefs=${rule}`),
    'uploadpack.allowFilter=false',
    'core.fsmonitor=false',
    'core.hooksPath=/dev/null',
    'pack.threads=1',
    // Caches that grow to 256 MiB otherwise, in each of 16 children: a peer only has to ask.
    'pack.deltaCacheSize=4m',
    'pack.windowMemory=4m',
    // A round begins with every file of a log, and each would be tried against ten that have nothing in common with it.
    'pack.window=1',
  ];
  return [...settings.flatMap((setting) => ['-c', setting]), 'upload-pack', '--strict', '--timeout=30', repositoryDir];
}

/** A child at work. */
export interface ServedPack {
  /** Who is served. */
  readonly host: string;
  /** Ends the child now. Safe to call twice. */
  stop(): void;
  isStopped(): boolean;
  /** Settles when it is gone. Never rejects. */
  readonly done: Promise<void>;
}

/** Starts it. The caller may stop it at any time; it is stopped when the channel closes. */
export function serveUploadPack(options: ServePackOptions): ServedPack {
  const { channel, protocol, onEnd } = options;
  const child = startChild({
    ...withinHeap(servePackHeapBytesMax, uploadPackArguments(options.repositoryDir)),
    deadlineMs: uploadPackDeadlineMs,
    ...(protocol === undefined ? {} : { env: { GIT_PROTOCOL: protocol } }),
  });
  giveWay(child.pid);
  let stopped = false;
  const stop = (): void => {
    stopped = true;
    child.kill();
    // What a paused pipe still holds would keep the child from being gone.
    child.stdout.destroy();
  };
  channel.on('close', stop);
  const timer = setTimeout(stop, uploadPackDeadlineMs);
  pumpRequest(options, child);
  const unplug = pumpAnswer(options, child);
  const done = child.done
    .then(
      ({ code, stderr }) => ({ code, stderr, note: code === 0 ? undefined : `upload-pack ended with ${code}` }),
      (error: unknown) => ({ code: 1, stderr: '', note: String(error) }),
    )
    .then(({ code, stderr, note }) => {
      clearTimeout(timer);
      unplug();
      // What git says names local paths; the peer learns that it failed, the note here says why.
      const why = stopped ? 'cut off, ask again' : `upload-pack ${reasonFor(stderr)}`;
      if (code !== 0) channel.stderr.write(`memd: ${why}\n`);
      channel.exit(code === 0 ? 0 : stopped ? busyStatus : 1);
      channel.end();
      onEnd(stopped ? undefined : note);
    });
  return { host: options.host, stop, isStopped: () => stopped, done };
}

/** What this host does for itself comes first. A child that is gone already, or never was, has nothing to give way with. */
function giveWay(pid: number): void {
  try {
    os.setPriority(pid, uploadPackNiceness);
  } catch {
    // As it was.
  }
}

/** What the peer may know, since a person there cannot put it right and has to tell somebody here, or can ask in another way. */
function reasonFor(stderr: string): string {
  if (stderr.includes('dubious ownership'))
    return 'refused: the repository belongs to another user on that machine; memctl doctor there says what to do';
  if (!stderr.includes('pack-objects died')) return 'failed';
  const inParts = `git clone --depth ${fetchRoundCommitsMax}, then git fetch --deepen ${fetchRoundCommitsMax}`;
  return `failed, perhaps since that is more than it may send at once; in parts: ${inParts}`;
}

/** Channel to stdin, honouring backlog; a peer that asks without end is cut. */
function pumpRequest({ channel }: ServePackOptions, child: RunningChild): void {
  let bytes = 0;
  channel.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > uploadRequestBytesMax) return child.kill();
    if (!child.stdin.write(chunk)) channel.pause();
  });
  child.stdin.on('drain', () => channel.resume());
  channel.on('end', () => child.stdin.end());
}

/** Stdout to channel. Without this a peer that opens a huge window and then reads nothing fills our memory. */
function pumpAnswer({ channel, socket }: ServePackOptions, child: RunningChild): () => void {
  const congested = (): boolean => channel.writableNeedDrain || socket.writableLength > socketBacklogBytesMax;
  const resume = (): void => {
    if (!congested()) child.stdout.resume();
  };
  child.stdout.on('data', (chunk: Buffer) => {
    channel.write(chunk);
    if (congested()) child.stdout.pause();
  });
  channel.on('drain', resume);
  socket.on('drain', resume);
  return () => socket.off('drain', resume);
}

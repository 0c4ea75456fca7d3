/** The ssh server of a running daemon, and where it listens: it moves when the charter says that it should. */
import { startSshServer, type SshServer } from '../mesh/ssh-server.ts';
import type { Engine } from './engine.ts';
import { headsLine } from './heads-line.ts';
import { chooseListen, printListen, sameListen, type ListenAddress } from './listen-address.ts';
import { createNoteLog, type NoteLog } from './ssh-notes.ts';

export interface SshListener {
  /** ADDRESS:PORT as it is now. */
  readonly listening: () => string;
  /** Listens where the charter, as it is now, says. Does nothing when that is where it listens. */
  readonly follow: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** `asked`: ADDRESS:PORT that a person decided on; null lets the number of hosts decide. */
export async function openSshListener(engine: Engine, asked: string | null): Promise<SshListener> {
  let wanted = chooseListen(asked, engine.charter().hosts.size);
  const notes = createNoteLog((note) => engine.log?.warn(note, 'ssh'));
  let server = await open(engine, wanted, notes);
  let moving: Promise<void> = Promise.resolve();

  const move = async (): Promise<void> => {
    const next = chooseListen(asked, engine.charter().hosts.size);
    if (sameListen(next, wanted)) return;
    wanted = next;
    await server.close();
    server = await open(engine, next, notes);
    engine.log?.info({ listen: printListen(server) }, 'listens where a mesh of several hosts needs it');
  };
  return {
    listening: () => printListen(server),
    follow: () => {
      moving = moving.then(move, move);
      return moving;
    },
    close: async () => {
      await moving.catch(() => undefined);
      await server.close();
      notes.close();
    },
  };
}

async function open(engine: Engine, listen: ListenAddress, notes: NoteLog): Promise<SshServer> {
  const server = await startSshServer({
    hostKey: engine.keys.ssh.pem,
    repositoryDir: engine.home.repository,
    listen,
    charterHosts: () => engine.charter().hosts,
    heads: () => headsLine(engine),
    onNote: notes.note,
  });
  // A taken port was probed upward: what peers are told must be the port that was found.
  engine.listening({ asked: listen.port, found: server.port });
  return server;
}

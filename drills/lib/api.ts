/** A client of the local JSON-lines socket, small on purpose: it shares no code with the daemon that it tests. */
import { connect } from 'node:net';

/** What the other side answered to one request. */
export interface ApiReply {
  readonly result?: unknown;
  readonly error?: { readonly code: string; readonly message: string };
}

export interface ApiConnection {
  /** Rejects with `connection lost` when no answer will come. */
  call(method: string, params: unknown): Promise<ApiReply>;
  close(): void;
}

/** Connects; rejects when nobody listens. */
export function openApi(socketPath: string): Promise<ApiConnection> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath);
    const waiting = new Map<number, { answer: (reply: ApiReply) => void; lost: (error: Error) => void }>();
    let nextId = 1;
    let rest = '';
    let open = true;
    const end = (): void => {
      open = false;
      for (const { lost } of waiting.values()) lost(new Error('connection lost'));
      waiting.clear();
    };
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const reply = JSON.parse(line) as ApiReply & { id: number; progress?: string };
        if (reply.progress !== undefined) continue;
        waiting.get(reply.id)?.answer(reply);
        waiting.delete(reply.id);
      }
    });
    socket.on('error', (error) => {
      reject(error);
      end();
    });
    socket.on('close', end);
    socket.on('connect', () =>
      resolve({
        call: (method, params) =>
          new Promise((answer, lost) => {
            if (!open) return lost(new Error('connection lost'));
            const id = nextId;
            nextId += 1;
            waiting.set(id, { answer, lost });
            socket.write(`${JSON.stringify({ id, method, params })}\n`);
          }),
        close: () => void socket.destroy(),
      }),
    );
  });
}

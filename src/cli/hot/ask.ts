/** One question to a running memd, with a deadline. */
import { connectApi } from '../../daemon/api/api-client.ts';
import { socketAddress, type Home } from '../../store/home/home.ts';

export type Asked =
  | { readonly state: 'answered'; readonly result: unknown }
  /** Nobody listens. */
  | { readonly state: 'absent' }
  /** Somebody listens, and this is what went wrong. */
  | { readonly state: 'failed'; readonly why: string };

/** Asks; never throws, and is back within the wait. An answer that comes later is lost. */
export async function askMemd(
  home: Home,
  request: { readonly method: string; readonly params: unknown; readonly waitMs: number },
): Promise<Asked> {
  const { waitMs } = request;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Asked>((resolve) => {
    timer = setTimeout(() => resolve({ state: 'failed', why: `no answer within ${waitMs} ms` }), waitMs);
  });
  try {
    return await Promise.race([ask(home, request), late]);
  } catch (error) {
    return { state: 'failed', why: error instanceof Error ? error.message : String(error) };
  } finally {
    clearTimeout(timer);
  }
}

async function ask(home: Home, request: { readonly method: string; readonly params: unknown }): Promise<Asked> {
  const connection = await connectApi(socketAddress(home));
  if (connection === undefined) return { state: 'absent' };
  const result = await connection.call(request.method, request.params);
  connection.close();
  return { state: 'answered', result };
}

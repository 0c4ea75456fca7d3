/** The tools that `memctl mcp` offers, asked for line by line as a harness does. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import type { DrillContext } from './drill.ts';
import { isolated } from './hosts.ts';

interface Answer {
  readonly id?: number;
  readonly result?: { readonly tools?: readonly { readonly name: string }[] };
}

/** Names of the tools, sorted. */
export async function askMcpForTools(
  context: DrillContext,
  { home, folder }: { readonly home: string; readonly folder: string },
): Promise<readonly string[]> {
  const memctl = join(import.meta.dirname, '..', '..', 'bin', 'memctl');
  const child = spawn(process.execPath, [memctl, '--home', home, 'mcp'], {
    env: { ...process.env, ...isolated(folder) },
    stdio: ['pipe', 'pipe', 'ignore'],
    timeout: 30_000,
  });
  context.onCleanup(() => void child.kill('SIGKILL'));
  const send = (message: object): void => void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const clientInfo = { name: 'drill', version: '1' };
  send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } });
  send({ method: 'notifications/initialized' });
  send({ id: 2, method: 'tools/list', params: {} });
  for await (const line of createInterface({ input: child.stdout })) {
    const answer = JSON.parse(line) as Answer;
    if (answer.id !== 2) continue;
    child.stdin.end();
    return (answer.result?.tools ?? []).map((tool) => tool.name).toSorted();
  }
  throw new Error('memctl mcp ended without an answer');
}

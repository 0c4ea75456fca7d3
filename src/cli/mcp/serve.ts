/** The MCP server of `memctl mcp`: one set of tools, both protocol eras, over stdio. */
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { version } from '../../daemon/version.ts';
import type { Cli } from '../context.ts';
import { readTools } from './read-tools.ts';
import { sharedCall } from './shared-call.ts';
import { takeStdio } from './stdio.ts';
import type { Desk } from './tool.ts';
import { writeTools } from './write-tools.ts';

const instructions = `Shared memory of agents on several machines. Before you rely on a remembered fact: recall its subject.
UNRESOLVED, STALE, UNDECIDED and QUARANTINED are answers: do not guess past them. Write down what the next session needs
(assert with the home of the fact, lesson, decide with what was rejected), never a secret. Only a person can sign.`;

/** Serves until the client closes its end. Nothing but the protocol is written to stdout. */
export async function serveMcp(cli: Cli, session: string): Promise<void> {
  const { input, output, track } = takeStdio();
  const desk: Desk = { cli: { home: () => cli.home(), call: sharedCall(cli) }, session, track };
  const closed = new Promise<void>((resolve) => void input.once('close', resolve));
  const handle = serveStdio(() => serverOf(desk), {
    transport: new StdioServerTransport(input, output),
    onerror: (error) => void process.stderr.write(`memctl mcp: ${error.message.split('\n')[0] ?? ''}\n`),
  });
  await closed;
  await handle.close();
}

function serverOf(desk: Desk): McpServer {
  const server = new McpServer({ name: 'memctl', version }, { capabilities: { tools: {} }, instructions });
  for (const register of [...readTools, ...writeTools]) register(server, desk);
  return server;
}

import { randomBytes } from 'node:crypto';
import { Command } from 'commander';
import type { Cli } from '../context.ts';

/** mcp: the tools of an agent. What it says on stdout is the protocol and nothing else. */
export function makeCommand(cli: Cli): Command {
  return new Command('mcp')
    .description('serve the tools of an agent over the Model Context Protocol, on stdin and stdout')
    .option('--session <S>', 'session of everything that is written; default: $MEMCTL_SESSION, else mcp: and 8 digits')
    .addHelpText(
      'after',
      `
Both protocol eras (2025-11-25 and before, 2026-07-28). Asks memd; without one each call takes the home for a moment.
No tool can sign, promote, purge or change the charter. Host, session and time are set here, not by a tool's arguments.
Example, in the settings of a harness:
  {"mcpServers":{"memctl":{"command":"memctl","args":["mcp"]}}}`,
    )
    .action(async (options: { session?: string }) => {
      const { serveMcp } = await import('../mcp/serve.ts');
      const drawn = `mcp:${randomBytes(4).toString('hex')}`;
      await serveMcp(cli, options.session ?? process.env['MEMCTL_SESSION'] ?? drawn);
    });
}

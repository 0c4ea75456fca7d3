import { Command } from 'commander';
import { harnessNames, hookEvents } from '../../agent/harness/harness.ts';
import type { Cli } from '../context.ts';
import { runHook } from '../hot/hook.ts';

/** hook: what a harness runs. `memctl agent install` writes the calls; a person seldom types one. */
export function makeCommand(cli: Cli): Command {
  return new Command('hook')
    .description('answer a hook of an agent harness (what agent install wires up)')
    .argument('<harness>', harnessNames.join(' or '))
    .argument('<event>', hookEvents.join(', '))
    .addHelpText(
      'after',
      `
Reads the JSON of the harness on stdin, prints its answer or nothing, and exits 0 whatever is wrong: a hook must never
stop an agent. What it could not do stands in hooks.log of the home folder.
Example:
  echo '{"session_id":"s1","source":"startup"}' | memctl hook claude-code SessionStart`,
    )
    .action(async (harness: string, event: string) => void (await runHook(['--home', cli.home(), harness, event])));
}

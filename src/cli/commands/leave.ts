import { Command } from 'commander';
import type { Cli } from '../context.ts';
import { leaveMesh } from '../leave.ts';

/** leave: this machine stops taking part. The home stays. */
export function makeCommand(cli: Cli): Command {
  return new Command('leave')
    .description('stop taking part in the mesh; the home stays, and how to remove it is said')
    .option('--force', 'also while the newest line of this host is held by no other host')
    .addHelpText(
      'after',
      `
It ends memd and removes its service. Nothing is deleted: memctl still reads this home, and memd started again goes on
where it was. The mesh forgets this host when a signer revokes it.
Exit code 5: nobody else holds the newest line of this host yet, and nothing was done.
Example:
  memctl leave`,
    )
    .action(async ({ force }: { force?: boolean }) => {
      const done = await leaveMesh(cli, { force: force === true });
      cli.output.result(done, () => [
        `host ${done.host} has left mesh ${done.mesh}: ${done.stopped}`,
        `  ${done.held}`,
        ...done.next.map((step) => `next: ${step}`),
      ]);
    });
}

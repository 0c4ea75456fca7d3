import { Command } from 'commander';
import type { Cli } from '../context.ts';

/** charter: what the trust set amounts to. */
export function makeCommand(cli: Cli): Command {
  return new Command('charter')
    .description('hosts, signers, classes and audiences in effect, and who approved them')
    .addHelpText('after', '\nExample:\n  memctl charter --json')
    .action(async () => {
      const charter = await cli.call('charter', {});
      cli.output.result(charter, () => [
        `mesh ${charter.mesh}`,
        `trust ${charter.trust}`,
        ...charter.hosts.map((host) => `host ${host.host} ${host.status} ${host.address} (op ${host.op.slice(0, 12)})`),
        ...charter.signers.map(
          (signer) =>
            `signer ${signer.name} ${signer.key} may sign ${signer.scopes.join(', ')} (op ${signer.op.slice(0, 12)})`,
        ),
        ...charter.classes.map(
          (one) => `class ${one.name}: ${one.claims ?? 'no claims'}, revise ${one.revise ?? '-'}, ${one.description}`,
        ),
        `audiences ${charter.audiences.join(', ')}`,
        ...charter.conflicts.map((conflict) => `CONFLICT ${conflict.kind}: ${conflict.detail}`),
      ]);
    });
}

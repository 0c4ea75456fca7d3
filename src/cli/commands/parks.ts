import { Command } from 'commander';
import type { ParkJson } from '../../daemon/api/api-types.ts';
import type { Cli } from '../context.ts';
import { claimLine, saying } from '../claim-text.ts';

/** parks: every subject whose live claims contradict. */
export function makeCommand(cli: Cli): Command {
  return new Command('parks')
    .description('subjects whose live claims contradict each other, with every side')
    .addHelpText('after', '\nExample:\n  memctl parks --json')
    .action(async () => {
      const { parks } = await cli.call('parks', {});
      cli.output.result(parks, () => describeParks(parks, Date.now(), (head) => cli.output.strong(head)));
    });
}

/** Every park with its sides, in lines. `strong` marks its head. Pure. */
export function describeParks(
  parks: readonly ParkJson[],
  now: number,
  strong: (text: string) => string = (text) => text,
): string[] {
  if (parks.length === 0) return ['no parks: nothing that is known here contradicts anything else'];
  return parks.flatMap((park) => [
    `${strong(`UNRESOLVED ${park.subject}`)}${park.scope === '*' ? '' : ` in ${park.scope}`} (${park.alarm})`,
    ...park.claims.map((claim) => `  ${saying(claim)}\n    ${claimLine(claim, now)}`),
  ]);
}

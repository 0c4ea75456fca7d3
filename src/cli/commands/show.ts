import { Command } from 'commander';
import type { ShowEventJson, ShowOpJson } from '../../daemon/api-types.ts';
import type { Cli } from '../context.ts';

/** show: one event or trust op, whole. */
export function makeCommand(cli: Cli): Command {
  return new Command('show')
    .description('one event or trust op whole: what it says, its level, who carries it, what became of it')
    .argument('<id>', '64 hex or a unique prefix of at least 8')
    .addHelpText('after', '\nExample:\n  memctl show 3fa2b1c09d11')
    .action(async (id: string) => {
      const shown = await cli.call('show', { id });
      cli.output.result(shown, () => ('op' in shown ? describeOp(shown) : describeEvent(shown)));
    });
}

function describeEvent(shown: ShowEventJson): string[] {
  return [
    shown.id,
    `  status: ${shown.status}${shown.reason === undefined ? '' : ` (${shown.reason})`}`,
    `  level: ${shown.level}`,
    ...(shown.supersededBy.length > 0 ? [`  superseded by: ${shown.supersededBy.join(', ')}`] : []),
    ...shown.lines.map(
      ({ log, seq, auth }) =>
        `  carried by ${log}:${seq}${auth ? `, approved by ${auth.signer} (${auth.valid ? 'valid' : 'NOT VALID'})` : ''}`,
    ),
    JSON.stringify(shown.event, null, 2),
  ];
}

function describeOp(shown: ShowOpJson): string[] {
  const { auth } = shown;
  return [
    `${shown.id} (trust op)`,
    `  status: ${shown.status}`,
    `  approved by ${auth.signer}, key ${auth.key} (${auth.valid ? 'valid' : 'NOT VALID'})`,
    JSON.stringify(shown.op, null, 2),
  ];
}

import { Command } from 'commander';
import { describeError } from '../../daemon/describe-error.ts';
import type { PeerJson, StatusJson } from '../../daemon/api/api-types.ts';
import { counted } from '../../daemon/counted.ts';
import type { Cli } from '../context.ts';
import { ago, headsText } from '../output.ts';

/** status: the one line, then what stands behind it. */
export function makeCommand(cli: Cli): Command {
  return new Command('status')
    .description('is it running, is it in step with its peers, what is wrong')
    .addHelpText('after', '\nExample:\n  memctl status --json')
    .action(async () => {
      const status = await cli.call('status', {}).catch((error: unknown) => {
        // Whoever reads only the first line must not take silence for health.
        if (!cli.output.json) cli.output.result(null, () => [`memd: CANNOT TELL, ${describeError(error).message}`]);
        throw error;
      });
      cli.output.result(status, () => describeStatus(status, Date.now()));
    });
}

/** The one line, then what stands behind it. Pure. */
export function describeStatus(status: StatusJson, now: number): string[] {
  const counts = Object.entries(status.counts).map(([what, count]) =>
    what.endsWith('s') ? counted(count, what.slice(0, -1)) : `${count} ${what}`,
  );
  return [
    status.line,
    `  mesh ${status.mesh}`,
    `  host ${status.host}, heads ${headsText(status.heads) || 'none'}`,
    `  root ${status.root}`,
    `  ${counts.join(', ')}`,
    ...ownLine(status, now),
    ...status.peers.map((peer) => peerLine(peer, now)),
    ...packedLine(status, now),
    ...status.alarms.map((alarm) => `  ALARM ${alarm.kind}: ${alarm.detail}`),
    ...status.warnings.map((warning) => `  note: ${warning}`),
  ];
}

/** What would be lost with this machine is seen before anybody relies on it. */
function ownLine({ replicated, host }: StatusJson, now: number): string[] {
  if (replicated === null || replicated.of === 0) return [];
  const { seq, peers, of, since } = replicated;
  const alone = since === undefined ? '' : `, unsynced since ${ago(since, now)}`;
  return [`  ${host}:${seq} replicated to ${peers} of ${counted(of, 'peer')}${alone}`];
}

function packedLine({ maintenance: { lookedAt, packedAt } }: StatusJson, now: number): string[] {
  return lookedAt === null ? [] : [`  repository packed ${when(packedAt, now)}, looked at ${when(lookedAt, now)}`];
}

/** Down, behind and empty never look alike. */
function peerLine(peer: PeerJson, now: number): string {
  const { host, state, lastContact, lastNewEvent, behind, ahead, quietDays, reason } = peer;
  const parts = [
    `last contact ${when(lastContact, now)}`,
    `last new event ${when(lastNewEvent, now)}${quietDays === undefined ? '' : ' (QUIET)'}`,
    `${behind} behind`,
    `${ahead} ahead`,
  ];
  return `  peer ${host}: ${state}, ${parts.join(', ')}${reason === undefined ? '' : `: ${reason}`}`;
}

function when(at: string | null, now: number): string {
  return at === null ? 'never' : ago(at, now);
}

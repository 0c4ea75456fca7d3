import { Command } from 'commander';
import type {
  ListedPurgeJson,
  PurgeExportJson,
  PurgeLimitsJson,
  PurgePlanJson,
  WaitingHostJson,
} from '../../daemon/api/api-types.ts';
import { counted } from '../../daemon/counted.ts';
import { Refusal } from '../../daemon/refusal.ts';
import { approveOp, rememberedKey } from '../approve.ts';
import { askToSign } from '../confirm.ts';
import type { Cli } from '../context.ts';
import { shortId } from '../output.ts';
import { openSigningKey } from '../signing.ts';
import { withSigningOptions, type SigningOptions } from '../signing-options.ts';

type PurgeOptions = SigningOptions & { readonly reason?: string; readonly list?: boolean };

/** purge: the body of an event goes, on every host; that there was one stays. */
export function makeCommand(cli: Cli): Command {
  const command = new Command('purge')
    .description('take the bodies of events out of every host: signed, and for good')
    .argument('[id...]', '64 hex, a unique prefix of at least 8, or HOST:SEQ')
    .option('--reason <CODE>', 'secret, personal-data, legal, mistake, or another code; it is kept for ever')
    .option('--list', 'what is purged, by whom and why, from which hosts it is gone, and from which not yet');
  return withSigningOptions(command)
    .addHelpText(
      'after',
      `
What stays for ever: id, host, kind, subject, scope, audience, level, what it superseded and rests on, a hash of what a
claim says, the reason, and any approval of it. A secret in a subject cannot be purged. Revoke what leaked as well: a
purge reaches the hosts of the mesh, and no backup, export, terminal, harness log or checkout elsewhere.
Examples:
  memctl purge 3fa2b1c09d11 --reason secret
  memctl purge --list`,
    )
    .action(async (ids: readonly string[], options: PurgeOptions) => {
      if (options.list === true) return list(cli, ids);
      const { reason } = options;
      if (ids.length === 0 || reason === undefined) throw usage();
      await purge(cli, { ids, reason, options });
    });
}

function usage(): Refusal {
  return new Refusal({
    code: 'BAD_REQUEST',
    message: 'name the events and the reason: memctl purge ID --reason CODE',
    hint: 'memctl log SUBJECT shows ids; memctl purge --list shows what is purged',
    exit: 2,
  });
}

async function purge(
  cli: Cli,
  { ids, reason, options }: { ids: readonly string[]; reason: string; options: PurgeOptions },
): Promise<void> {
  const keyFile = options.key ?? rememberedKey(cli);
  const key = (await openSigningKey(keyFile)).publicKey.fingerprint;
  const plan = await cli.call('purge.plan', { ids, reason, key });
  const targets = plan.targets.map(({ skeleton }) => skeleton);
  const op = await approveOp(cli, {
    op: 'purge',
    args: { targets, reason },
    keyFile,
    async review() {
      for (const line of describePlan(plan)) cli.output.note(line);
      const events = counted(targets.length, 'event');
      await askToSign({
        message: `Purge ${events} for good, on every host?`,
        yes: options.yes,
        task: 'say that this may go',
      });
    },
  });
  const { purges, limits } = await cli.call('purge.list', {});
  const purged = purges.filter((one) => one.op === op);
  const done = purged.length === targets.length && purged.every((one) => one.done);
  const { unconfirmed = plan.hosts, left = [], exports = [] } = purged[0] ?? {};
  const purgedIds = targets.map(({ id }) => id);
  const result: DoneJson = { id: op, reason, targets: purgedIds, done, unconfirmed, left, exports, ...limits };
  cli.output.result(result, () => describeDone(result));
  if (!done) process.exitCode = 1;
}

/** What will go and what it touches, never what it says. Pure. */
function describePlan({ targets, hosts, reason }: PurgePlanJson): string[] {
  const purged = targets.flatMap(({ skeleton, lines, supersededBy, basisOf, repeatedBy }) => {
    const { id, kind, subject, scope, host, level } = skeleton;
    const where = scope === '*' ? '' : ` (scope ${scope})`;
    return [
      `${shortId(id)} ${kind} on ${subject}${where}, ${level}, by host ${host}`,
      `  in line ${lines.map(({ log, seq }) => `${log}:${seq}`).join(', ') || '(no usable line here)'}`,
      ...(skeleton.supersedes.length === 0 ? [] : [`  it goes on superseding ${short(skeleton.supersedes)}`]),
      ...(supersededBy.length === 0 ? [] : [`  superseded by ${short(supersededBy)}`]),
      ...(repeatedBy.length === 0 ? [] : [`  ALSO SAID by ${short(repeatedBy)}, which stay unless you name them too`]),
      ...(basisOf.length === 0 ? [] : [`  cited by ${short(basisOf)}, which stay: read whether they repeat it`]),
    ];
  });
  return [
    ...purged,
    `reason: ${reason}`,
    `copies: this host${hosts.length === 0 ? '' : `, and ${hosts.join(', ')} once they have fetched the op`}`,
    outside,
  ];
}

const outside = 'not reached: backups, exports, checkouts elsewhere, terminals, logs of agents and harnesses';
const shownIdsMax = 8;

function short(ids: readonly string[]): string {
  const more = ids.length - shownIdsMax;
  return `${ids.slice(0, shownIdsMax).map(shortId).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** What `memctl purge` prints: the op, and where what it named may still be. */
interface DoneJson extends PurgeLimitsJson, Pick<ListedPurgeJson, 'id' | 'reason' | 'done' | 'unconfirmed' | 'left'> {
  readonly targets: readonly string[];
  readonly exports: readonly PurgeExportJson[];
}

function describeDone(purged: DoneJson): string[] {
  const { id, targets, done, unconfirmed, left, exports } = purged;
  return [
    `purged ${short(targets)} by trust op ${id}`,
    done
      ? '  carried out here: nothing in this home says what it said'
      : '  NOT CARRIED OUT here yet: memctl status says why; memd tries again by itself, at its next start too',
    ...(unconfirmed.length === 0
      ? []
      : [`  not known to be gone from: ${unconfirmed.join(', ')} (memctl fetch; memctl purge --list)`]),
    ...leftLine(left),
    ...exportLines(exports),
    ...limitLines(purged),
    `  ${outside}`,
  ];
}

async function list(cli: Cli, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) throw usage();
  const { purges, limits } = await cli.call('purge.list', {});
  const describe = (): string[] => [...purges.flatMap(describeListed), ...limitLines(limits)];
  cli.output.result(purges, () => (purges.length === 0 ? ['nothing is purged'] : describe()));
}

function describeListed(listed: ListedPurgeJson): string[] {
  const { id, op, by, reason, at, subject, kind, host, done, confirmed, waiting, left, exports, saidAgain } = listed;
  return [
    `${shortId(id)} ${kind} on ${subject} by host ${host}: ${reason}, purged by ${by} at ${at}, trust op ${shortId(op)}`,
    ...(done ? [] : ['  NOT CARRIED OUT here yet: memctl status']),
    ...(confirmed.length === 0
      ? []
      : [`  gone from ${confirmed.map((one) => `${one.host} (as of ${one.at})`).join(', ')}`]),
    ...waiting.map((one) => `  NOT KNOWN TO BE GONE from ${one.host}: ${whyWaiting(one)}`),
    ...leftLine(left),
    ...exportLines(exports),
    ...(saidAgain.length === 0 ? [] : [`  SAID AGAIN by ${short(saidAgain)}: purge that too`]),
  ];
}

function whyWaiting({ told, heard }: WaitingHostJson): string {
  const when = heard === null ? 'it was never heard of' : `last heard of at ${heard}`;
  return told ? `it has the op and has not said that it is done; ${when}` : `it is not known to have the op; ${when}`;
}

function exportLines(exports: readonly PurgeExportJson[]): string[] {
  return exports.map(({ dir, at, there }) => {
    const where = there ? 'still there' : 'not there now: moved, or deleted';
    return `  exported before it to ${dir} at ${at}, ${where}`;
  });
}

/** What memd does not look into, because it does not know it or because it is somebody else's. */
function limitLines({ foreign, edits }: PurgeLimitsJson): string[] {
  return [
    ...(foreign.length === 0 ? [] : [`  in this home and not memd's, look yourself: ${foreign.join(', ')}`]),
    ...edits.map((file) => `  what somebody wrote into a view target, look yourself: ${file}`),
  ];
}

function leftLine(left: readonly string[]): string[] {
  return left.length === 0 ? [] : [`  left the mesh without saying so: ${left.join(', ')}: look there yourself`];
}

import { Command, Option } from 'commander';
import { Refusal } from '../../daemon/refusal.ts';
import { approveOp } from '../approve.ts';
import { askToSign } from '../confirm.ts';
import type { Cli } from '../context.ts';
import { withSigningOptions, wordList, type SigningOptions } from '../signing-options.ts';

type DelegateOptions = SigningOptions & { readonly subjects: string; readonly kinds: string; readonly lines: string };

/** signer delegate: a stretch of a host's own lines outranks unsigned ones. */
export function delegateCommand(cli: Cli): Command {
  const command = new Command('delegate')
    .description('let the next lines of a host count more than unsigned ones, on some subjects')
    .argument('<host>', 'whose log')
    .requiredOption('--subjects <GLOBS>', 'subjects, comma separated; * stands for any run of characters')
    .option('--kinds <LIST>', 'kinds of events, comma separated', 'assert')
    .addOption(
      new Option('--lines <N>', 'how many lines, from the next one on; all of them count, whatever they say').default(
        '200',
      ),
    );
  return withSigningOptions(command)
    .addHelpText(
      'after',
      `
Delegated events outrank unsigned ones and never signed ones; they promote, purge and delegate nothing. The stretch is
counted in lines of that host's log and ends early when the host gets new keys. You grant no more than you may sign.
Example:
  memctl signer delegate alpha --subjects 'ssh-route/*' --kinds assert --lines 200`,
    )
    .action(async (host: string, options: DelegateOptions) => {
      const stretch = await stretchOf(cli, host, options);
      const { from, upto, subjects } = stretch;
      const text = `${stretch.kinds.join(', ')} on ${subjects.join(', ')} in lines ${from} to ${upto} of log ${host}`;
      const { hostKey, ...args } = stretch;
      const id = await approveOp(cli, {
        op: 'delegate',
        args: { host, key: hostKey, ...args },
        keyFile: options.key,
        async review() {
          cli.output.note(`delegated to ${host}: ${text}`);
          await askToSign({ message: 'Delegate this?', yes: options.yes, task: 'say so' });
        },
      });
      cli.output.result({ id, host, from, upto, subjects, kinds: args.kinds }, () => [
        `delegated by trust op ${id}: ${text}`,
      ]);
    });
}

async function stretchOf(cli: Cli, host: string, options: DelegateOptions) {
  const lines = Number(options.lines);
  if (!Number.isSafeInteger(lines) || lines < 1)
    throw badValue(`--lines ${options.lines} is not a whole number from 1 on`);
  const { seq } = await cli.call('place', { host });
  const { hosts } = await cli.call('charter', {});
  const hostKey = hosts.find((one) => one.host === host)?.signKey ?? '';
  return {
    hostKey,
    subjects: wordList(options.subjects),
    kinds: wordList(options.kinds),
    from: seq + 1,
    upto: seq + lines,
  };
}

function badValue(message: string): Refusal {
  return new Refusal({ code: 'BAD_REQUEST', message, hint: 'memctl signer delegate --help', exit: 2 });
}

import { Command } from 'commander';
import type { BodyInput } from '../../core/event.ts';
import type { Cli } from '../context.ts';
import { writingScope } from '../here.ts';
import { digestHere } from '../recall-here.ts';
import { appendEvents, takeAppendOptions, type AppendOptions } from '../appending.ts';
import { describeAppended } from './claim.ts';

interface Options extends AppendOptions {
  readonly homeRef?: string;
  readonly digest?: string;
  readonly scope?: string;
  readonly audience?: string;
}

/** observe: the state of a home as this host sees it. Claims rest on it, and go stale when it changes. */
export function makeCommand(cli: Cli): Command {
  const command = new Command('observe')
    .description('record what a home looks like from here, so that claims can rest on it')
    .argument('<subject>', 'class/entity that it is about')
    .requiredOption('--home-ref <REF>', 'what was looked at: file:PATH#anchor, git:REPO:PATH@REF')
    .option('--digest <D>', 'sha256:HEX or missing, as another tool saw it; default: read now')
    .option('--scope <S>', 'a project; . is the one here; default: what its .memd file says, else everywhere (*)')
    .option('--audience <A>', 'who reads it; default: operator');
  return takeAppendOptions(command)
    .addHelpText(
      'after',
      `
A home that is gone is observed as missing. One that may not be read here is an error: that is not the same.
Examples:
  memctl observe endpoint/grafana --home file:infra/SERVICES.md#grafana
  memctl assert endpoint/grafana --value nas:3000 --home file:infra/SERVICES.md#grafana --basis ID`,
    )
    .action(async (subject: string, options: Options) => {
      const home = options.homeRef ?? '';
      const scope = await writingScope(options.scope);
      const event: BodyInput = {
        kind: 'observe',
        subject,
        home,
        digest: options.digest ?? (await digestHere(cli, home, scope ?? '*')),
        ...(scope === undefined ? {} : { scope }),
        ...(options.audience === undefined ? {} : { audience: options.audience }),
      };
      for (const result of await appendEvents(cli, [event], options)) {
        cli.output.result({ ...result, digest: event.digest }, () => [
          ...describeAppended(event, result),
          `  ${home}: ${event.digest}`,
        ]);
      }
    });
}

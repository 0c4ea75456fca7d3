import { Command } from 'commander';
import { OperatingError } from '../../store/errors.ts';
import type { Cli } from '../context.ts';

/** index: the resident index, as agents read it. */
export function makeCommand(cli: Cli): Command {
  return new Command('index')
    .description('the index that agents read')
    .option('--audience <A>', 'whose index', 'operator')
    .option('--path', 'print the path of the file instead')
    .addHelpText('after', '\nExamples:\n  memctl index\n  cat "$(memctl index --path)"')
    .action(async (options: { audience: string; path?: boolean }) => {
      const index = await cli.call('index', { audience: options.audience });
      const { path } = index;
      if (options.path && path === null)
        throw new OperatingError(
          'DISK_FULL',
          'the file of the index is older than what is believed: the disk is full',
          {
            hint: 'memctl index prints it as it is now; free some space on that file system',
          },
        );
      if (options.path) cli.output.result({ path }, () => [path ?? '']);
      else cli.output.file(cli.output.json ? index.json : index.markdown);
    });
}

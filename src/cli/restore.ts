/** import of an export, for a person: where it goes, what came of it, and what is to be done next. */
import { hostname } from 'node:os';
import type { RestoredJson } from '../daemon/api/api-types.ts';
import { isPrepared, prepareHome } from '../daemon/backup/prepare-home.ts';
import { counted } from '../daemon/counted.ts';
import { Refusal } from '../daemon/refusal.ts';
import type { Cli } from './context.ts';

export interface RestoreOptions {
  readonly host?: string;
  readonly mesh?: string;
  readonly dryRun?: boolean;
}

/** Restores the export in `folder`, an absolute path. Exit code 1 when not all of it could be taken. */
export async function restoreExport(cli: Cli, folder: string, options: RestoreOptions): Promise<void> {
  const dryRun = options.dryRun === true;
  const into = { home: cli.home(), folder, host: options.host, mesh: options.mesh, machine: hostname() };
  if (!(await isPrepared(into))) {
    if (dryRun) throw noHome(into.home);
    await prepareHome(into);
  }
  const done = await cli.call('restore', { folder, dryRun });
  cli.output.result(done, () => describe(done, dryRun));
  process.exitCode = done.skipped.length === 0 ? 0 : 1;
}

function noHome(home: string): Refusal {
  return new Refusal({
    code: 'NO_MESH',
    message: `${home} holds no memd host yet: there is nothing to compare the export with`,
    hint: 'memctl import DIR --host NAME makes an archive of it',
  });
}

function describe(done: RestoredJson, dryRun: boolean): string[] {
  const { logs, trust, skipped, mesh, root } = done;
  const verb = dryRun ? 'would be new' : 'new';
  return [
    ...skipped.map(({ what, why }) => `NOT TAKEN ${what}: ${why}`),
    `export of mesh ${mesh}`,
    `  trust: ${counted(trust.new, 'op')} ${verb}, ${trust.unchanged} held already`,
    ...Object.entries(logs).map(
      ([host, log]) =>
        `  log ${host}: ${counted(log.new, 'line')} ${verb}, ${log.unchanged} held already${log.mended ? '; its copy here was damaged and is whole again' : ''}`,
    ),
    `  root ${root}`,
    ...nextOf(done),
  ];
}

function nextOf({ standing, host, request }: RestoredJson): string[] {
  if (standing === 'host') return [];
  const what = `this home is an archive: it reads, and appends nothing, since the mesh does not know its keys as those of ${host}`;
  if (request === undefined)
    return [what, `next: to be host ${host} here, and nowhere else, as a signer: memctl host recover --key FILE`];
  return [what, `next: to be a host of the mesh, as a signer: memctl host add '${request}' --key FILE`];
}

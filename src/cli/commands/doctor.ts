import { Command } from 'commander';
import type { CheckJson, DoctorJson } from '../../daemon/api/api-types.ts';
import type { Repaired } from '../../daemon/repair/repair.ts';
import { Refusal } from '../../daemon/refusal.ts';
import type { Cli } from '../context.ts';
import { aroundChecks } from '../doctor/around-checks.ts';
import { openRoom, runChecks } from '../doctor/checks.ts';
import { dataChecks } from '../doctor/data-checks.ts';
import { diskChecks } from '../doctor/disk-checks.ts';
import { homeChecks } from '../doctor/home-checks.ts';
import { machineChecks } from '../doctor/machine-checks.ts';
import { oneLine } from '../claim-text.ts';
import { configHere } from '../here.ts';
import { homePaths } from '../../store/home/home.ts';

/** What nobody can tell from here, or what another command does. */
const beyond = [
  'every object, signature, row and copy: memctl verify --deep',
  'whether peers can dial this host: memctl status there',
  'clocks of other machines, beyond the times of their last events',
  'hooks and view targets of single projects: memctl agent status --project, memctl status',
] as const;

/** doctor: what is wrong on this machine and what to do about it. */
export function makeCommand(cli: Cli): Command {
  return new Command('doctor')
    .description('check this machine, its home, memd, the service and the hooks; each fault with its fix')
    .option('--repair', 'first put right what can be: from what is here, from peers, from the plain copies')
    .option('--accept-loss', 'with --repair: go on without what nobody holds any more')
    .addHelpText(
      'after',
      `
Without --repair it changes nothing, takes no lock and works without memd and on a broken home.
--repair needs the home for itself: stop memd first. What is damaged is moved into damaged/ of the home, with a note; nothing
is deleted, and no line that its host signed is given up. What may be lost stops the writes of this host until you say
--accept-loss; first reach every peer that may hold it.
Exit code: 0 when nothing is wrong (any more), 1 when a check fails or a repair leaves something to you.
Examples:
  memctl doctor
  memctl doctor --repair`,
    )
    .action(async ({ repair = false, acceptLoss = false }: { repair?: boolean; acceptLoss?: boolean }) => {
      if (acceptLoss && !repair) throw lossAlone();
      const done = repair ? await runRepair(cli, acceptLoss) : undefined;
      const room = openRoom({
        dir: cli.home(),
        env: process.env,
        now: Date.now(),
        progress: (text) => cli.output.progress(text),
      });
      const found = await runChecks(
        [...machineChecks, ...diskChecks, ...homeChecks, ...dataChecks, ...aroundChecks],
        room,
      );
      const report: DoctorJson = {
        ok: found.checks.every(({ ok }) => ok) && (done === undefined || done.left.length === 0),
        checks: found.checks,
        notChecked: [...found.notChecked, ...beyond],
        ...done,
      };
      cli.output.result(report, () => describe(report));
      process.exitCode = report.ok ? 0 : 1;
    });
}

/** Refuses nothing by itself: settings that cannot be read are a check's to tell. */
async function runRepair(cli: Cli, acceptLoss: boolean): Promise<Repaired> {
  const { repairHome } = await import('../../daemon/repair/repair.ts');
  const settings = await configHere();
  return repairHome({
    home: homePaths(cli.home()),
    now: new Date(),
    acceptLoss,
    config: 'config' in settings ? settings.config : undefined,
    progress: (text) => cli.output.progress(text),
  });
}

function lossAlone(): Refusal {
  return new Refusal({
    code: 'BAD_REQUEST',
    message: '--accept-loss goes with --repair',
    hint: 'memctl doctor --repair --accept-loss',
    exit: 2,
  });
}

function describe({ checks, notChecked, repaired = [], left = [], aside = null }: DoctorJson): string[] {
  const bad = checks.filter(({ ok }) => !ok).length;
  return [
    ...repaired.map(({ what, detail }) => `repaired ${what}: ${oneLine(detail)}`),
    ...(aside === null ? [] : [`kept    ${aside} has what was moved aside, and why`]),
    ...left.flatMap(({ what, detail, fix }) => [`LEFT    ${what}: ${oneLine(detail)}`, `        fix: ${oneLine(fix)}`]),
    ...checks.flatMap(checkLines),
    ...notChecked.map((what) => `not checked: ${oneLine(what)}`),
    bad === 0 ? 'nothing is wrong' : `${bad} ${bad === 1 ? 'check fails' : 'checks fail'}`,
  ];
}

function checkLines({ name, ok, detail, fix }: CheckJson): string[] {
  const line = `${ok ? 'ok   ' : 'WRONG'} ${name}: ${oneLine(detail)}`;
  return fix === undefined ? [line] : [line, `      fix: ${oneLine(fix)}`];
}

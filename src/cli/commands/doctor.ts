import { Command } from 'commander';
import type { CheckJson, DoctorJson } from '../../daemon/api/api-types.ts';
import type { Cli } from '../context.ts';
import { aroundChecks } from '../doctor/around-checks.ts';
import { openRoom, runChecks } from '../doctor/checks.ts';
import { dataChecks } from '../doctor/data-checks.ts';
import { diskChecks } from '../doctor/disk-checks.ts';
import { homeChecks } from '../doctor/home-checks.ts';
import { machineChecks } from '../doctor/machine-checks.ts';
import { oneLine } from '../claim-text.ts';

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
    .addHelpText(
      'after',
      `
It changes nothing, takes no lock and works without memd and on a broken home.
Exit code: 0 when nothing is wrong, 1 when a check fails.
Examples:
  memctl doctor
  memctl doctor --json`,
    )
    .action(async () => {
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
        ok: found.checks.every(({ ok }) => ok),
        checks: found.checks,
        notChecked: [...found.notChecked, ...beyond],
      };
      cli.output.result(report, () => describe(report));
      process.exitCode = report.ok ? 0 : 1;
    });
}

function describe({ checks, notChecked }: DoctorJson): string[] {
  const bad = checks.filter(({ ok }) => !ok).length;
  return [
    ...checks.flatMap(checkLines),
    ...notChecked.map((what) => `not checked: ${oneLine(what)}`),
    bad === 0 ? 'nothing is wrong' : `${bad} ${bad === 1 ? 'check fails' : 'checks fail'}`,
  ];
}

function checkLines({ name, ok, detail, fix }: CheckJson): string[] {
  const line = `${ok ? 'ok   ' : 'WRONG'} ${name}: ${oneLine(detail)}`;
  return fix === undefined ? [line] : [line, `      fix: ${oneLine(fix)}`];
}

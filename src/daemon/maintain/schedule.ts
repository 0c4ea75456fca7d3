/** When memd maintains its repository: on a schedule, and once after a start or a sleep, in place of what was missed. */
import cron from 'node-cron';
import { maintainAfterStartMs } from '../../core/limits.ts';
import type { Config } from '../config/config-file.ts';
import { defaultMaintenance } from '../config/config-file.ts';
import { onSchedule } from '../cron-schedule.ts';
import type { Engine } from '../engine.ts';
import { Refusal } from '../refusal.ts';

export interface MaintenanceSchedule {
  /** This machine slept, and a time may have been missed. It is judged by counts, so once too often does nothing. */
  readonly awake: () => void;
  readonly close: () => Promise<void>;
}

/** Machines and homes of one schedule do not all begin in one second. */
const spreadMs = 300_000;

/** The schedule of the config, or the default. Refuses CONFIG_INVALID. */
export function maintenanceSchedule(config: Config | undefined): string {
  const schedule = config?.maintenance.schedule ?? defaultMaintenance;
  if (cron.validate(schedule)) return schedule;
  throw new Refusal({
    code: 'CONFIG_INVALID',
    message: `${config?.file ?? ''}: maintenance.schedule ${schedule} is not a cron expression`,
    hint: `for example ${defaultMaintenance}`,
    exit: 2,
  });
}

export function keepMaintained({ maintenance }: Pick<Engine, 'maintenance'>, schedule: string): MaintenanceSchedule {
  const task = onSchedule(schedule, { work: () => void maintenance.scheduled(), spreadMs });
  let soon: NodeJS.Timeout | undefined;
  const runSoon = (): void => {
    clearTimeout(soon);
    soon = setTimeout(() => void maintenance.scheduled(), maintainAfterStartMs).unref();
  };
  runSoon();
  return {
    awake: runSoon,
    async close() {
      clearTimeout(soon);
      task.stop();
    },
  };
}

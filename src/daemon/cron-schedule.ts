/**
 * Work on a cron schedule, by a clock that may be set or stand still meanwhile. What was missed runs once, whatever was
 * missed; a clock that is set back puts nothing off. The timer of node-cron goes through each missed time on its own, which
 * kept memd from answering where a machine without a battery for its clock got the right time, and waits for the time that it
 * had planned where a clock is set back.
 */
import cron from 'node-cron';

/** How often the clock is looked at where nothing is due: a time that it was set to is noticed within this. */
const lookMs = 30_000;

export interface CronSchedule {
  readonly stop: () => void;
}

/** Begins `work`, which does not throw, each time; up to `spreadMs` later, drawn each time. `schedule` is a valid expression. */
export function onSchedule(
  schedule: string,
  { work, spreadMs }: { readonly work: () => void; readonly spreadMs: number },
): CronSchedule {
  const times = cron.createTask(schedule, () => undefined);
  const next = (): number => times.getNextRuns(1)[0]?.getTime() ?? Number.POSITIVE_INFINITY;
  const waiting = new Set<NodeJS.Timeout>();
  const beginSoon = (): void => {
    const timer = setTimeout(() => {
      waiting.delete(timer);
      work();
    }, Math.random() * spreadMs);
    waiting.add(timer);
  };
  let due = next();
  let timer: NodeJS.Timeout;
  const look = (): void => {
    if (Date.now() >= due) beginSoon();
    due = next();
    timer = setTimeout(look, Math.min(Math.max(due - Date.now(), 1), lookMs));
  };
  look();
  return {
    stop() {
      clearTimeout(timer);
      for (const one of waiting) clearTimeout(one);
      void times.destroy();
    },
  };
}

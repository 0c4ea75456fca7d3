import { describeError } from './describe-error.ts';
import type { Memd } from './memd.ts';

/** Time that a clean stop may take before the process ends anyway; nothing acknowledged is lost by that. */
const stopMs = 4_500;

/** Ends the process: cleanly on the first SIGTERM or SIGINT, at once on the second. */
export function stopOnSignals(memd: Memd): void {
  let stopping = false;
  const stop = (): void => {
    if (stopping) process.exit(0);
    stopping = true;
    setTimeout(() => process.exit(0), stopMs).unref();
    memd.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        process.stderr.write(`memd: ${describeError(error).message}\n`);
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

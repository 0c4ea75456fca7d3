/** What becomes of output that nobody takes. */

/**
 * Has output into a pipe that its reader has closed (`memctl log | head`) be no failure: the work goes on. Where output
 * cannot be written otherwise (it goes to a full disk), the work goes on too, and it is told at the end, by exit code 1.
 */
export function ignoreClosedPipes(): void {
  let told = false;
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE' || told) return;
      told = true;
      process.on('exit', (code) => {
        if (code === 0) process.exitCode = 1;
      });
      process.stderr.write(
        `memctl: the answer cannot be written: ${error.message}\n  next: let it go elsewhere; what was to be done is done all the same\n`,
      );
    });
  }
}

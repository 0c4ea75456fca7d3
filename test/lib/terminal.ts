/** A program on a pseudo-terminal, for a test: it is ended with the test. */
import { onTestFinished } from 'vitest';
import { startTerminal, type Terminal } from '../../drills/lib/terminal.ts';

export { hasTerminals, keys, type Terminal } from '../../drills/lib/terminal.ts';

/** Starts a program on a terminal of 160 columns. */
export function openTerminal(...call: Parameters<typeof startTerminal>): Terminal {
  const terminal = startTerminal(...call);
  onTestFinished(() => terminal.kill());
  return terminal;
}

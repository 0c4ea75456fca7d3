/**
 * Verbs that a harness, an agent or a peer calls at every session, prompt, look-up or connection: answered over the socket with next to
 * nothing loaded. This module is bundled into one file, dist/hot.cjs, since every module costs such a call half a
 * millisecond. Whatever the short way cannot do goes to the command line proper.
 */
import { runHook } from './hook.ts';
import { runRecall } from './recall.ts';
import { runServe } from './serve.ts';

/** Does the call. @returns false when it is not one for here; then nothing was done. Never throws. */
export async function runHot(argv: readonly string[]): Promise<boolean> {
  // The verb stands behind `--home DIR` and flags without a value.
  const at = argv.findIndex((word, i) => !word.startsWith('-') && argv[i - 1] !== '--home');
  const rest = argv.toSpliced(at, 1);
  if (argv[at] === 'hook') return runHook(rest);
  if (argv[at] === 'recall') return runRecall(rest);
  if (argv[at] === 'serve') return runServe(rest);
  return false;
}

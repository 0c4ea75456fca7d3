/** `memctl recall SUBJECT` over the socket of a running memd: the usual forms of it, and nothing but success. */
import { homePaths, resolveHome } from '../../store/home/home.ts';
import type { RecallJson } from '../../daemon/api/api-types.ts';
import { apiSilenceMs } from '../../core/limits.ts';
import { ignoreClosedPipes } from '../closed-pipes.ts';
import { openOutput } from '../output.ts';
import { recallHere } from '../recall-here.ts';
import { describeRecall, exitOfRecall } from '../recall-text.ts';
import { askMemd } from './ask.ts';
import { readHotWords } from './words.ts';

/** Thrown inside, for the command line proper to do it all again and say what is wrong: reading twice harms nothing. */
class NotHere extends Error {}

/** Answers. @returns false when it did not: no memd, other words, or any fault; then nothing was printed. */
export async function runRecall(words: readonly string[]): Promise<boolean> {
  const asked = readHotWords(words, {
    flags: ['--json', '--quiet', '--no-color', '--check'],
    options: ['--scope'],
  });
  const [subject, more] = asked?.positional ?? [];
  if (asked === undefined || subject === undefined || more !== undefined) return false;
  const { flags, values } = asked;
  try {
    const home = resolveHome({ flag: asked.home, env: process.env });
    const call = async (method: string, params: unknown): Promise<RecallJson> => {
      const answer = await askMemd(homePaths(home), { method, params, waitMs: apiSilenceMs });
      if (answer.state !== 'answered') throw new NotHere();
      return answer.result as RecallJson;
    };
    const scope = values.get('--scope');
    const asker = { call: call as never, home: () => home };
    const recalled = await recallHere(asker, subject, {
      check: flags.has('--check'),
      ...(scope === undefined ? {} : { scope }),
    });
    ignoreClosedPipes();
    const output = openOutput({
      json: flags.has('--json'),
      quiet: flags.has('--quiet'),
      color: !flags.has('--no-color'),
    });
    output.result(recalled, () => describeRecall(recalled, Date.now()));
    process.exitCode = exitOfRecall[recalled.status];
    return true;
  } catch {
    return false;
  }
}

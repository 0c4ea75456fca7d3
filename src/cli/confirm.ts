/** The question before a person's signature. */
import { Refusal } from '../daemon/refusal.ts';

export interface Question {
  readonly message: string;
  /** The person said so on the command line. */
  readonly yes: boolean | undefined;
  /** What nobody can do without a terminal, as the end of "nobody is there to …". */
  readonly task: string;
}

/** Asks on the terminal; stdout stays for the result. Refuses SIGN_FAILED unless the answer is yes. */
export async function askToSign({ message, yes, task }: Question): Promise<void> {
  if (yes === true) return;
  if (!process.stdin.isTTY) {
    throw new Refusal({
      code: 'SIGN_FAILED',
      message: `nobody is there to ${task}; nothing was signed`,
      hint: 'run it in a terminal, or say --yes',
      exit: 6,
    });
  }
  const { confirm, isCancel } = await import('@clack/prompts');
  const answer = await confirm({ message, initialValue: false, output: process.stderr });
  if (isCancel(answer) || !answer)
    throw new Refusal({ code: 'SIGN_FAILED', message: 'not confirmed; nothing was signed', exit: 6 });
}

/** The options of every command that signs for the mesh. Those whose arguments say it all take --yes and ask nothing. */
import type { Command } from 'commander';

export interface SigningOptions {
  readonly key?: string;
  readonly yes?: boolean;
}

export function withSigningOptions(command: Command): Command {
  return command
    .option('--yes', 'do not ask')
    .option('--key <PRIVFILE>', "a signer's private key; default: the one of init");
}

/** A list of words as people write it: `a,b, c`. Empty for ''. Pure. */
export function wordList(text: string): readonly string[] {
  return text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
}

/** The key of a person who is to sign: read, shown, and asked about. */
import { isSlug } from '../../core/id.ts';
import { fingerprintWords, looksLikePrivateKey, type SshPublicKey } from '../../crypto/ssh-key.ts';
import { Refusal } from '../../daemon/refusal.ts';
import { isUnprotectedKey } from '../../daemon/trust/signer-key.ts';
import { printable } from '../../store/errors.ts';
import type { Cli } from '../context.ts';
import { readTextInput } from '../read-input.ts';

import { readPublicKey } from '../signing.ts';

export interface NewSigner {
  readonly name: string;
  readonly key: SshPublicKey;
  /** Private half beside the file that was named, if there could be one. */
  readonly privateFile: string | undefined;
}

/** A key in place of a file: what people paste. */
const keyText = /^(?:ssh|ecdsa|sk)-[a-z0-9@.-]+ AAAA/;

/** Reads PUBFILE (`-` is stdin, a pasted public key will do). Refuses BAD_REQUEST, INPUT_UNREADABLE, SIGN_FAILED. */
export async function readNewSigner(source: string, name: string): Promise<NewSigner> {
  if (!isSlug(name)) {
    throw new Refusal({
      code: 'BAD_REQUEST',
      message: `--as ${printable(name, 100)} is not a name like dana`,
      hint: 'a-z, 0-9 and -, a letter first, at most 31; a name is used once, also after a revocation',
      exit: 2,
    });
  }
  if (looksLikePrivateKey(source)) throw pastedSecret();
  if (keyText.test(source)) return { name, key: readPublicKey(source, 'the key'), privateFile: undefined };
  const text = await readTextInput(source);
  if (looksLikePrivateKey(text)) throw privateFile(source);
  const key = readPublicKey(text, source === '-' ? 'stdin' : source);
  return { name, key, privateFile: source.endsWith('.pub') ? source.slice(0, -4) : undefined };
}

/** Shows what two people compare, and what weakens the key. */
export function describeNewSigner({ output }: Cli, signer: NewSigner, scopes: readonly string[]): void {
  const { name, key, privateFile: file } = signer;
  output.note(`signer ${name}, may sign ${scopes.join(', ')}`);
  output.note(`fingerprint ${key.fingerprint} (${key.type})`);
  output.note(`read aloud: ${fingerprintWords(key.fingerprint)}`);
  if (file !== undefined && isUnprotectedKey(file)) {
    output.note(
      `warning: ${file} has no passphrase: any process of this user, an agent too, can sign as ${name}; set one: memctl signer protect --key ${file}`,
    );
  }
}

function privateFile(source: string): Refusal {
  return new Refusal({
    code: 'SIGN_FAILED',
    message: `${source === '-' ? 'stdin' : source} holds a private key; a signer is added by the public half, and nothing of it was read further`,
    hint: 'give the file that ends in .pub; ssh-keygen -y -f PRIVFILE prints it',
    exit: 6,
  });
}

function pastedSecret(): Refusal {
  return new Refusal({
    code: 'SIGN_FAILED',
    message: 'a private key stands on the command line; it was not used, and is not shown',
    hint: 'it is in the history of the shell now: take it out there, make a new key, and give the .pub file',
    exit: 6,
  });
}

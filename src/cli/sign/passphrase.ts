/** What stands between a private key file and any process of the same user. */
import { runChild } from '../../store/child.ts';

/**
 * `none`: whoever reads the file can sign. `passphrase`: it is encrypted. `touch`: the key is in hardware that wants to
 * be touched. `unknown`: no private key that ssh-keygen can read here.
 */
export type Protection = 'none' | 'passphrase' | 'touch' | 'unknown';

/** Tries the empty passphrase, with stock ssh-keygen and nobody to ask. Refuses PROGRAM_MISSING. */
export async function protectionOf(file: string): Promise<Protection> {
  const { code, stdout, stderr } = await runChild({ command: 'ssh-keygen', args: ['-y', '-P', '', '-f', file] });
  if (code === 0) return stdout.toString('utf8').startsWith('sk-') ? 'touch' : 'none';
  return /passphrase/i.test(stderr) ? 'passphrase' : 'unknown';
}

/** A line of authorized_keys(5) that lets one host of the mesh through a plain sshd, and to nothing else there. */
import { fileURLToPath } from 'node:url';
import type { CharterHost } from '../core/trust/charter.ts';
import { shellWord } from './shell-word.ts';

/** Node and memctl by their paths: sshd starts commands with a PATH of its own. */
export function keyLine({ name, ssh }: Pick<CharterHost, 'name' | 'ssh'>, home: string): string {
  const memctl = fileURLToPath(new URL('../../bin/memctl', import.meta.url));
  const words = [process.execPath, memctl, '--home', home, 'serve', '--stdio', '--peer', name];
  const command = words.map((word) => shellWord(word)).join(' ');
  return `restrict,command="${command.replaceAll('"', '\\"')}" ${ssh.text} ${name}`;
}

/** A mesh of one host whose signer's key has a passphrase, and a person at a terminal. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { newWorld, type Json, type World } from './memctl.ts';
import { openTerminal, type Terminal } from './terminal.ts';

export const passphrase = 'correct horse battery';

export interface SigningWorld extends World {
  /** Private key file of the signer craig. */
  readonly key: string;
  /** Runs memctl on a terminal. */
  terminal(args: readonly string[], env?: Readonly<Record<string, string>>): Terminal;
  /** Runs another program on one. */
  terminalOf(command: readonly string[], env?: Readonly<Record<string, string>>): Terminal;
  /** Two claims that park `subject`. @returns their ids. */
  park(subject: string, values?: readonly string[]): Promise<string[]>;
  recall(subject: string): Promise<Json>;
}

export function makeKey(file: string, words: string, ...kind: string[]): string {
  const type = kind.length === 0 ? ['-t', 'ed25519'] : kind;
  execFileSync('ssh-keygen', ['-q', ...type, '-N', words, '-C', 'test', '-f', file]);
  return file;
}

/** An empty world with memctl on a terminal. */
export function terminalWorld(): World & Pick<SigningWorld, 'terminal' | 'terminalOf'> {
  const world = newWorld();
  const memctl = fileURLToPath(new URL('../../bin/memctl', import.meta.url));
  const terminalOf: SigningWorld['terminalOf'] = (command, env = {}) =>
    openTerminal(command, { env: { ...world.env, ...env }, cwd: world.work });
  return { ...world, terminalOf, terminal: (args, env) => terminalOf([process.execPath, memctl, ...args], env) };
}

/** `protectedKey: false`: a key without a passphrase, for what is about something else. */
export async function signingWorld(options: { readonly protectedKey?: boolean } = {}): Promise<SigningWorld> {
  const world = terminalWorld();
  const key = makeKey(join(world.folder, 'craig'), options.protectedKey === false ? '' : passphrase);
  const init = ['init', '--host', 'alpha', '--listen', '127.0.0.1:0', '--signer', `${key}.pub`, '--as', 'craig'];
  if (options.protectedKey === false) {
    const made = await world.run(init);
    if (made.code !== 0) throw new Error(made.stderr);
  } else {
    const person = world.terminal(init);
    await person.see(/Enter passphrase/);
    person.type(`${passphrase}\r`);
    if ((await person.ended()) !== 0) throw new Error(person.text());
  }
  const claim = async (subject: string, value: string): Promise<string> => {
    const { value: made } = await world.json([
      'assert',
      subject,
      '--value',
      value,
      '--home-ref',
      'file:infra/FLEET.md',
    ]);
    return String(made['id']);
  };
  return {
    ...world,
    key,
    async park(subject, values = ['bastion', 'direct']) {
      const ids: string[] = [];
      for (const value of values) ids.push(await claim(subject, value));
      return ids;
    },
    recall: async (subject) => (await world.json(['recall', subject])).value,
  };
}

/** The lines of alpha's log as they are copied in plain text. */
export function plainLog(world: World): Json[] {
  const text = readFileSync(join(world.home, 'logs', 'alpha.jsonl'), 'utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Json);
}

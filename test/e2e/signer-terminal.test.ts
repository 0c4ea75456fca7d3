/** Signers on a terminal: what a person is shown before the passphrase, and the passphrase itself. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isUnprotectedKey } from '../../src/daemon/trust/signer-key.ts';
import { makeKey, passphrase, signingWorld, type SigningWorld } from '../lib/signing-world.ts';
import { hasTerminals, keys } from '../lib/terminal.ts';

const names = async (world: SigningWorld): Promise<string[]> => {
  const { value } = await world.json(['signer', 'list']);
  return (value as unknown as { name: string; status: string }[]).map(({ name, status }) => `${name} ${status}`);
};

describe.skipIf(!hasTerminals)('signers on a terminal (needs script of util-linux)', () => {
  test('add shows the words and asks; no signs nothing, yes goes on to the passphrase; revoke shows what falls and asks', async () => {
    const world = await signingWorld();
    const dana = makeKey(join(world.folder, 'dana'), '');
    const add = ['signer', 'add', `${dana}.pub`, '--as', 'dana', '--scopes', '*,charter'];
    const refuses = world.terminal(add);
    expect(await refuses.see(/Does dana see the same words\?/)).toMatch(/read aloud: [a-z]+( [a-z]+){5}/);
    refuses.type(keys.enter);
    await refuses.see(/not confirmed; nothing was signed/);
    expect(await refuses.ended()).toBe(6);
    expect(await names(world)).toEqual(['craig active']);
    const agrees = world.terminal(add);
    await agrees.see(/Does dana see the same words\?/);
    agrees.type('y');
    await agrees.see(/Enter passphrase.*:/);
    agrees.type(`${passphrase}${keys.enter}`);
    await agrees.see(/signer dana added by trust op [0-9a-f]{64}/);
    expect(await agrees.ended()).toBe(0);
    await world.run(['sign', 'note/a', '--value', 'x', '--home-ref', 'file:a.md', '--yes', '--key', dana]);
    const revokes = world.terminal(['signer', 'revoke', 'dana', '--marks', '']);
    expect(await revokes.see(/Revoke dana, and let this fall\?/)).toMatch(/falls: the approval of 1 event/);
    revokes.type('y');
    await revokes.see(/Enter passphrase/);
    revokes.type(`${passphrase}${keys.enter}`);
    expect(await revokes.ended()).toBe(0);
    expect(await names(world)).toEqual(['craig active', 'dana revoked']);
  }, 60_000);

  test('protect sets the passphrase that status asks for; from then on nothing is signed without a terminal', async () => {
    const world = await signingWorld({ protectedKey: false });
    const warned = async (): Promise<boolean> => (await world.run(['status'])).stdout.includes('memctl signer protect');
    expect(await warned()).toBe(true);
    const alone = await world.run(['signer', 'protect']);
    expect(alone).toMatchObject({
      code: 6,
      stderr: expect.stringMatching(/^memctl: nobody is there to type a passphrase/),
    });
    const person = world.terminal(['signer', 'protect']);
    await person.see(/Enter new passphrase/);
    person.type(`${passphrase}${keys.enter}`);
    await person.see(/Enter same passphrase again/);
    person.type(`${passphrase}${keys.enter}`);
    await person.see(/asks for a passphrase now/);
    expect(await person.ended()).toBe(0);
    expect(person.raw()).not.toContain(passphrase);
    expect(isUnprotectedKey(world.key)).toBe(false);
    expect(await warned()).toBe(false);
    for (const args of [
      ['policy', 'set', 'index.lines', '3'],
      ['class', 'add', 'service'],
      ['audience', 'add', 'ops'],
      ['host', 'revoke', 'alpha', '--yes'],
      ['signer', 'delegate', 'alpha', '--subjects', 'note/*', '--yes'],
    ]) {
      const { code, stderr } = await world.run(args);
      expect({ args, code }).toEqual({ args, code: 6 });
      expect(stderr).toMatch(/^memctl: .*passphrase/m);
    }
  }, 60_000);

  test('protect with an empty passphrase says that nothing is protected, and fails', async () => {
    const world = await signingWorld({ protectedKey: false });
    const person = world.terminal(['signer', 'protect']);
    await person.see(/Enter new passphrase/);
    person.type(keys.enter);
    await person.see(/Enter same passphrase again/);
    person.type(keys.enter);
    await person.see(/still has no passphrase/);
    expect(await person.ended()).toBe(1);
  }, 40_000);
});

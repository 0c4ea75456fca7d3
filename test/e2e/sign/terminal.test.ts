/** memctl sign on a terminal: the passphrase, the list of parks, and what a person can do wrong. */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { makeKey, passphrase, signingWorld } from '../../lib/signing-world.ts';
import { hasTerminals, keys } from '../../lib/terminal.ts';

describe.skipIf(!hasTerminals)('memctl sign on a terminal (needs script of util-linux)', () => {
  test('the passphrase is typed on the terminal, and the signed claim is served', async () => {
    const world = await signingWorld();
    const [first = '', second = ''] = await world.park('ssh-route/mini');
    const person = world.terminal(['sign', 'ssh-route/mini', '--accept', first.slice(0, 12)]);
    const shown = await person.see(/Sign this\?/);
    expect(shown).toMatch(/To be signed, as craig:\s+assert ssh-route\/mini\s+value +"bastion"/);
    expect(shown).toContain(`replaces ${second.slice(0, 12)}`);
    expect(shown).toMatch(/id [0-9a-f]{64}/);
    person.type('y');
    await person.see(/Enter passphrase.*:/);
    person.type(`${passphrase}${keys.enter}`);
    await person.see(/signed assert ssh-route\/mini [0-9a-f]{12} by craig \(alpha:3\), served/);
    expect(await person.ended()).toBe(0);
    expect(person.raw()).not.toContain(passphrase);
    const recalled = await world.recall('ssh-route/mini');
    expect(recalled).toMatchObject({ status: 'served', claim: { value: 'bastion', level: 'signed', signer: 'craig' } });
    expect(recalled['corroboration']).toBe(1);
  }, 120_000);

  test('--yes skips the question and not the passphrase', async () => {
    const world = await signingWorld();
    const [first = ''] = await world.park('ssh-route/mini');
    const person = world.terminal(['sign', 'ssh-route/mini', '--accept', first, '--yes', '--quiet']);
    await person.see(/Enter passphrase/);
    expect(person.text()).not.toContain('Sign this?');
    person.type(`${passphrase}${keys.enter}`);
    expect(await person.ended()).toBe(0);
  }, 120_000);

  test('a passphrase may be mistyped twice; the third time ends it with exit 6 and nothing is signed', async () => {
    const world = await signingWorld();
    const [first = ''] = await world.park('ssh-route/mini');
    const args = ['sign', 'ssh-route/mini', '--accept', first, '--yes'];
    const clumsy = world.terminal(args);
    for (const words of ['wrong', 'wrong again', 'and again']) {
      await clumsy.see(/Enter passphrase/);
      clumsy.type(`${words}${keys.enter}`);
    }
    await clumsy.see(/passphrase of .*craig was wrong 3 times; nothing was signed/);
    expect(await clumsy.ended()).toBe(6);
    const better = world.terminal(args);
    await better.see(/Enter passphrase/);
    better.type(`wrong${keys.enter}`);
    await better.see(/Enter passphrase/);
    better.type(`${passphrase}${keys.enter}`);
    expect(await better.ended()).toBe(0);
    expect((await world.recall('ssh-route/mini'))['status']).toBe('served');
  }, 120_000);

  test('no at the question, and an interrupt at the passphrase: exit 6, nothing is signed, the terminal is sane', async () => {
    const world = await signingWorld();
    const [first = ''] = await world.park('ssh-route/mini');
    const refuses = world.terminal(['sign', 'ssh-route/mini', '--accept', first]);
    await refuses.see(/Sign this\?/);
    refuses.type(keys.enter);
    await refuses.see(/not confirmed; nothing was signed/);
    expect(await refuses.ended()).toBe(6);
    const leaves = world.terminal(['sign', 'ssh-route/mini', '--accept', first, '--yes']);
    await leaves.see(/Enter passphrase/);
    // One that comes between prompt and read is lost by ssh-keygen itself: a person presses again.
    const pressing = setInterval(() => leaves.type(keys.interrupt), 500);
    onTestFinished(() => clearInterval(pressing));
    await leaves.see(/cancelled; nothing was signed/);
    clearInterval(pressing);
    expect(await leaves.ended()).toBe(6);
    expect((await world.recall('ssh-route/mini'))['status']).toBe('parked');
  }, 120_000);

  test('the list: a side, a third, all withdrawn, left alone; then nothing is parked but what was left', async () => {
    const world = await signingWorld();
    await world.park('ssh-route/a', ['one', 'two']);
    await world.park('ssh-route/b', ['one', 'two']);
    await world.park('ssh-route/c', ['one', 'two']);
    await world.park('ssh-route/d', ['one', 'two']);
    const person = world.terminal(['sign']);
    const agree = async (): Promise<void> => {
      await person.see(/Sign this\?/);
      person.type('y');
      await person.see(/Enter passphrase/);
      person.type(`${passphrase}${keys.enter}`);
    };
    const list = await person.see(/4 subjects unresolved\. Which one\?[^]*none: leave/);
    expect(list).toMatch(/ssh-route\/a, 2 sides, newest \d+ s ago/);
    person.type(keys.enter);
    const sides = await person.see(/ssh-route\/a: what is right\?[^]*leave it parked/);
    expect(sides).toMatch(
      /1 {2}one\s+[0-9a-f]{12} · alpha:1 · unsigned · cli · \d+ s ago · inferred · parked\s+home: file:infra/,
    );
    // The first side.
    person.type(keys.enter);
    await agree();
    await person.see(/signed assert ssh-route\/a/);
    // A third for the next.
    await person.see(/3 subjects unresolved\. Which one\?[^]*none: leave/);
    person.type(keys.enter);
    await person.see(/ssh-route\/b: what is right\?[^]*leave it parked/);
    person.type(keys.down + keys.down + keys.enter);
    await person.see(/Its value/);
    person.type(`three${keys.enter}`);
    await person.see(/In words/);
    person.type(keys.enter);
    await person.see(/Where the fact lives[^]*file:infra\/FLEET\.md/);
    person.type(keys.enter);
    await agree();
    await person.see(/signed assert ssh-route\/b/);
    // All withdrawn.
    await person.see(/2 subjects unresolved\. Which one\?[^]*none: leave/);
    person.type(keys.enter);
    await person.see(/ssh-route\/c: what is right\?[^]*leave it parked/);
    person.type(keys.down + keys.down + keys.down + keys.enter);
    await agree();
    await person.see(/signed retract ssh-route\/c/);
    // Left alone, then out.
    await person.see(/1 subject unresolved\. Which one\?[^]*none: leave/);
    person.type(keys.enter);
    await person.see(/ssh-route\/d: what is right\?[^]*leave it parked/);
    person.type(keys.up + keys.enter);
    await person.see(/1 subject unresolved\. Which one\?[^]*none: leave/);
    person.type(keys.up + keys.enter);
    expect(await person.ended()).toBe(0);
    const statuses = await Promise.all(['a', 'b', 'c', 'd'].map((name) => world.recall(`ssh-route/${name}`)));
    expect(statuses.map(({ status }) => status)).toEqual(['served', 'served', 'retracted', 'parked']);
    expect(statuses[1]).toMatchObject({ claim: { value: 'three', level: 'signed' } });
  }, 120_000);

  test('the list asks about what holds beyond the park: nothing, beside it, or replaced too', async () => {
    const world = await signingWorld({ protectedKey: false });
    const claim = ['assert', 'note/x', '--home-ref', 'file:a.md', '--value'];
    await world.run([...claim, 'wide']);
    await world.run([...claim, 'narrow', '--scope', 'web']);
    const person = world.terminal(['sign', 'note/x']);
    const chooseNarrow = async (): Promise<void> => {
      await person.see(/1 subject unresolved[^]*none: leave/);
      person.type(keys.enter);
      const seen = await person.see(/what is right\?[^]*leave it parked/);
      person.type((/\n {2}1 {2}narrow/.test(seen) ? '' : keys.down) + keys.enter);
      await person.see(/this would replace [0-9a-f]{12} of alpha, which is served[^]*What about[^]*sign nothing/);
    };
    await chooseNarrow();
    person.type(keys.enter);
    await chooseNarrow();
    person.type(keys.up + keys.up + keys.enter);
    await person.see(/replaces [0-9a-f]{12}[^]*Sign this\?/);
    person.type('y');
    await person.see(/signed assert note\/x/);
    expect(await person.ended()).toBe(0);
    const none = world.terminal(['sign', 'note/x']);
    await none.see(/nothing is parked on note\/x[^]*--value V/);
    expect(await none.ended()).toBe(6);
    expect((await world.json(['recall', 'note/x', '--scope', 'web'])).value).toMatchObject({
      status: 'served',
      claim: { value: 'narrow', level: 'signed' },
    });
  }, 120_000);

  test('what strangers wrote is shown escaped: no control, bidirectional or escape character reaches the terminal', async () => {
    const world = await signingWorld({ protectedKey: false });
    const hostile = 'safe\u202Eevil\u2066\u200B\nsecond line\ttab';
    const file = join(world.folder, 'events');
    const event = { kind: 'assert', subject: 'note/x', content: hostile, home: 'file:a.md', session: 'a\u202Eb' };
    writeFileSync(file, `${JSON.stringify(event)}\n${JSON.stringify({ ...event, content: 'other' })}\n`);
    expect((await world.run(['append', '--file', file])).code).toBe(0);
    const person = world.terminal(['sign']);
    await person.see(/Which one\?[^]*none: leave/);
    person.type(keys.enter);
    await person.see(/what is right\?[^]*leave it parked/);
    person.type(keys.enter);
    const shown = await person.see(/Sign this\?/);
    expect(shown).toContain('\\u{202e}evil');
    expect(shown).toContain('\\nsecond line\\ttab');
    person.type('n');
    await person.see(/not confirmed[^]*Which one\?[^]*none: leave/);
    person.type(keys.interrupt);
    await person.ended();
    expect(person.raw()).not.toMatch(/[\u202A-\u202E\u2066-\u2069\u200B]/);
  }, 120_000);

  test('a key that others can read, one of another kind of file, one that is no signer: each has its own sentence', async () => {
    const world = await signingWorld();
    const [first = ''] = await world.park('ssh-route/mini');
    const sign = async (key: string, sentence: RegExp): Promise<void> => {
      const person = world.terminal(['sign', 'ssh-route/mini', '--accept', first, '--yes', '--key', key]);
      await person.see(sentence);
      expect(await person.ended()).toBe(6);
    };
    await sign(makeKey(join(world.folder, 'stranger'), ''), /no signer of this mesh has the key SHA256:/);
    await sign(join(world.folder, 'nowhere'), /there is no key file/);
    chmodSync(world.key, 0o644);
    await sign(world.key, /craig can be read by others[^]*chmod 600/);
    writeFileSync(world.key, 'no key\n', { mode: 0o600 });
    chmodSync(world.key, 0o600);
    await sign(world.key, /no private key that ssh-keygen can read/);
  }, 120_000);
});

/** What memctl sign reaches and what it does not; what memd takes as an approval and what it does not. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { canonicalJson, type JsonObject } from '../../../src/crypto/canonical.ts';
import { sha256Hex } from '../../../src/crypto/hash.ts';
import { armorToBlob } from '../../../src/crypto/sshsig.ts';
import { openApi } from '../../../drills/lib/api.ts';
import { makeKey, plainLog, signingWorld, type SigningWorld } from '../../lib/signing-world.ts';
import type { Json } from '../../lib/memctl.ts';

const open = (): Promise<SigningWorld> => signingWorld({ protectedKey: false });

async function append(world: SigningWorld, event: JsonObject): Promise<string> {
  const file = join(world.folder, 'event');
  writeFileSync(file, JSON.stringify(event));
  const { stdout, code, stderr } = await world.run(['append', '--file', file, '--json']);
  if (code !== 0) throw new Error(stderr + stdout);
  return String((JSON.parse(stdout) as Json)['id']);
}

/** Signs without asking; gives the document, which is an error where that is refused. */
async function sign(world: SigningWorld, ...args: string[]): Promise<{ code: number; value: Json }> {
  return world.json(['sign', ...args, '--yes']);
}

const claim = (value: string, more: JsonObject = {}): JsonObject => ({
  kind: 'assert',
  subject: 'ssh-route/mini',
  value,
  home: 'file:a.md',
  ...more,
});

describe('what it replaces', () => {
  test('the other sides go, what says the same stays and corroborates, and the park is gone', async () => {
    const world = await open();
    const [a = '', b = '', a2 = ''] = await world.park('ssh-route/mini', ['a', 'b', 'a']);
    const { value } = await sign(world, 'ssh-route/mini', '--accept', a.slice(0, 12), '--hook', 'by the bastion');
    expect(value).toMatchObject({ signer: 'craig', supersedes: [b], subject: 'ssh-route/mini', notes: [] });
    const recalled = await world.recall('ssh-route/mini');
    expect(recalled).toMatchObject({
      status: 'served',
      claim: { id: value['id'], hook: 'by the bastion' },
      claims: [],
    });
    expect((await world.json(['show', a2])).value).toMatchObject({ status: 'corroborates', supersededBy: [] });
    expect((await world.json(['parks'])).value).toEqual([]);
  }, 120_000);

  test('a served claim is replaced only when it is named, and then with what says the same; or it is left', async () => {
    const world = await open();
    const [first = '', twin = ''] = await world.park('ssh-route/mini', ['a', 'a']);
    const served = String(((await world.recall('ssh-route/mini'))['claim'] as Json)['id']);
    const refused = await sign(world, 'ssh-route/mini', '--value', 'b');
    expect(refused).toMatchObject({ code: 6, value: { error: { code: 'SERVED_CLAIM' } } });
    expect(JSON.stringify(refused.value)).toContain('--supersedes');
    expect(await sign(world, 'ssh-route/mini', '--retract')).toMatchObject({
      value: { error: { code: 'NOTHING_TO_SIGN' } },
    });
    expect(plainLog(world)).toHaveLength(2);
    const named = await sign(world, 'ssh-route/mini', '--value', 'b', '--supersedes', served.slice(0, 10));
    expect(named).toMatchObject({ code: 0, value: { supersedes: [first, twin].toSorted(), notes: [] } });
    expect(await world.recall('ssh-route/mini')).toMatchObject({
      status: 'served',
      claim: { value: 'b', level: 'signed' },
    });
    const beside = await sign(world, 'ssh-route/mini', '--value', 'c', '--leave', String(named.value['id']));
    expect(beside).toMatchObject({
      code: 0,
      value: { status: 'parked', notes: [expect.stringMatching(/SIGNERS_DISAGREE/)] },
    });
    const ended = await sign(world, 'ssh-route/mini', '--retract', '--content', 'nobody knows');
    expect(ended.code).toBe(0);
    expect((await world.recall('ssh-route/mini'))['status']).toBe('retracted');
  }, 120_000);

  test('two parks of one subject: a project is settled without what holds everywhere, unless that is named', async () => {
    const world = await open();
    const wide = await append(world, claim('wide'));
    const narrow = await append(world, claim('narrow', { scope: 'web' }));
    const other = await append(world, claim('other', { scope: 'web' }));
    expect((await sign(world, 'ssh-route/mini', '--accept', narrow)).value).toMatchObject({
      error: { code: 'SERVED_CLAIM' },
    });
    const left = await sign(world, 'ssh-route/mini', '--accept', narrow, '--leave', wide.slice(0, 8));
    expect(left.value).toMatchObject({ supersedes: [other] });
    expect((await world.recall('ssh-route/mini'))['claim']).toMatchObject({ value: 'wide' });
    expect((await world.json(['recall', 'ssh-route/mini', '--scope', 'web'])).value).toMatchObject({
      status: 'contested',
      claim: { value: 'narrow', level: 'signed' },
    });
    const everywhere = await sign(
      world,
      'ssh-route/mini',
      '--scope',
      'web',
      '--value',
      'new',
      '--supersedes',
      `${wide},${String(left.value['id'])}`,
    );
    expect(everywhere.value).toMatchObject({ supersedes: [wide, narrow, String(left.value['id'])].toSorted() });
    expect((await world.json(['recall', 'ssh-route/mini', '--scope', 'web'])).value).toMatchObject({
      status: 'served',
      claim: { value: 'new' },
    });
  }, 120_000);

  test('more sides than one event may name: 64 at a time, and what is left is said', async () => {
    const world = await open();
    const file = join(world.folder, 'many');
    writeFileSync(file, Array.from({ length: 70 }, (_, n) => JSON.stringify(claim(`v${n}`))).join('\n'));
    expect((await world.run(['append', '--file', file])).code).toBe(0);
    const { value } = await sign(world, 'ssh-route/mini', '--value', 'right');
    expect(value['supersedes']).toHaveLength(64);
    expect(value['notes']).toEqual([expect.stringMatching(/6 claims beside it say otherwise/)]);
    expect(await world.recall('ssh-route/mini')).toMatchObject({ status: 'contested', claim: { value: 'right' } });
    expect((await sign(world, 'ssh-route/mini', '--retract')).value['supersedes']).toHaveLength(6);
    expect(await world.recall('ssh-route/mini')).toMatchObject({ status: 'served', claim: { value: 'right' } });
  }, 120_000);
});

describe('events that were said before', () => {
  test('a quarantined claim is promoted as it is, with its id; a proposal becomes a claim that cites it', async () => {
    const world = await open();
    const id = await append(world, claim('x', { lineage: 'untrusted' }));
    expect((await world.recall('ssh-route/mini'))['status']).toBe('quarantined');
    expect((await sign(world, 'ssh-route/mini', '--accept', id)).value).toMatchObject({
      error: { hint: expect.stringMatching(/--promote/) },
    });
    expect((await sign(world, '--promote', id)).value).toMatchObject({ id, supersedes: [], status: 'served' });
    expect(await world.recall('ssh-route/mini')).toMatchObject({
      status: 'served',
      claim: { id, level: 'signed', signer: 'craig' },
    });
    expect((await sign(world, '--promote', id)).value).toMatchObject({ error: { code: 'NOTHING_TO_SIGN' } });
    const proposal = await append(world, {
      kind: 'propose',
      proposes: 'lesson',
      subject: 'lesson/quote',
      content: 'Quote paths',
      hook: 'quote',
    });
    expect((await sign(world, '--event', proposal)).value).toMatchObject({
      error: { hint: expect.stringMatching(/--promote/) },
    });
    const taken = await sign(world, '--promote', proposal);
    expect((await world.json(['show', String(taken.value['id'])])).value).toMatchObject({
      level: 'signed',
      event: { kind: 'lesson', content: 'Quote paths', hook: 'quote', basis: [proposal] },
    });
  }, 120_000);

  test('a promotion does not displace what is served unless that is named', async () => {
    const world = await open();
    const served = await append(world, claim('old'));
    const id = await append(world, claim('new', { lineage: 'untrusted' }));
    expect((await sign(world, '--promote', id)).value).toMatchObject({ error: { code: 'SERVED_CLAIM' } });
    const named = await sign(world, '--promote', id, '--supersedes', served);
    expect(named.value).toMatchObject({ supersedes: [served], status: 'served' });
    expect(await world.recall('ssh-route/mini')).toMatchObject({
      status: 'served',
      claim: { value: 'new', level: 'signed' },
    });
  }, 120_000);

  test('what was withdrawn is said before it is signed, and a signed word brings it back', async () => {
    const world = await open();
    const id = await append(world, claim('x'));
    await world.run(['retract', 'ssh-route/mini', 'wrong']);
    const { stderr } = await world.run(['sign', '--event', id, '--yes']);
    expect(stderr).toMatch(/was withdrawn by [0-9a-f]{12}[^]*retract wrong/);
    expect(await world.recall('ssh-route/mini')).toMatchObject({ status: 'served', claim: { id, level: 'signed' } });
  }, 120_000);

  test('an event is approved once; decisions and pins too, records of the machine not', async () => {
    const world = await open();
    const decision = await append(world, { kind: 'decision', subject: 'decision/db', content: 'Postgres' });
    expect((await sign(world, '--event', decision.slice(0, 8))).value).toMatchObject({
      id: decision,
      status: 'recorded',
    });
    expect((await sign(world, '--event', decision)).value).toMatchObject({
      error: { message: expect.stringMatching(/signed already by craig/) },
    });
    const seen = await append(world, { kind: 'observe', subject: 'home/a', home: 'file:a.md', digest: 'missing' });
    expect((await sign(world, '--event', seen)).value).toMatchObject({ error: { code: 'NOTHING_TO_SIGN' } });
    expect((await sign(world, 'decision/db', '--pin')).value).toMatchObject({ kind: 'pin', supersedes: [] });
    expect((await world.run(['verify', '--deep'])).code).toBe(0);
  }, 120_000);

  test('a body that leaves no room for an approval in its line is refused in words, and nothing ends', async () => {
    const world = await open();
    const big = claim('x', { kind: 'lesson', subject: 'lesson/big', content: 'c', text: 't'.repeat(24_000) });
    const { value: _value, home: _home, ...lesson } = big;
    const id = await append(world, lesson);
    expect((await sign(world, '--event', id)).value).toMatchObject({ id, status: 'served' });
    const { value: shown } = await world.json(['show', id]);
    // What another writer may have made: up to 32 KB, beside which no approval fits.
    const huge = canonicalJson({
      ...(shown['event'] as JsonObject),
      content: 'c'.repeat(2_000),
      text: '"'.repeat(14_900),
    });
    const submit = await submitter(world);
    await expect(submit(huge, signatureOf(world, huge))).rejects.toThrow(
      /LINE_TOO_LONG.*lesson\/big would be \d+ bytes/,
    );
    expect((await world.run(['recall', 'lesson/big'])).code).toBe(0);
  }, 120_000);
});

/** Hands in approvals over the socket of a memd; rejects with code and message of a refusal. */
async function submitter(world: SigningWorld): Promise<(body: string, sshsig: string) => Promise<Json>> {
  await world.memd();
  const api = await openApi(join(world.home, 'memd.sock'));
  onTestFinished(() => api.close());
  return async (body, sshsig) => {
    const { result, error } = await api.call('sign.submit', { body, sshsig });
    if (error !== undefined) throw new Error(`${error.code}: ${error.message}`);
    return result as Json;
  };
}

/** A signature as ssh-keygen makes it, base64. */
function signatureOf(world: SigningWorld, text: string, namespace = 'memd-event', key = world.key): string {
  const file = join(world.folder, `signed-${Math.floor(performance.now() * 1_000)}`);
  writeFileSync(file, text);
  execFileSync('ssh-keygen', ['-Y', 'sign', '-q', '-f', key, '-n', namespace, file], { stdio: 'ignore' });
  const blob = armorToBlob(readFileSync(`${file}.sig`, 'utf8'));
  if (!blob.ok) throw new Error(blob.detail);
  return blob.value;
}

describe('sign.submit takes nothing but an approval that counts', () => {
  test('another namespace, another key, other bytes, another mesh, no event: refused, and nothing is appended', async () => {
    const world = await open();
    await world.park('ssh-route/mini');
    const file = join(world.folder, 'drafted');
    await world.json(['sign', 'ssh-route/mini', '--value', 'z', '--prepare', file]);
    const drafted = readFileSync(file, 'utf8');
    const body = JSON.parse(drafted) as JsonObject;
    const submit = await submitter(world);
    const stranger = makeKey(join(world.folder, 'stranger'), '');
    const foreign = canonicalJson({ ...body, mesh: 'f'.repeat(64) });
    const good = signatureOf(world, drafted);
    const attempts: readonly [string, string, RegExp][] = [
      [drafted, signatureOf(world, drafted, 'memd-trust'), /no signer of this mesh made this signature/],
      [drafted, signatureOf(world, drafted, 'memd-event', stranger), /no signer of this mesh/],
      [canonicalJson({ ...body, value: 'y' }), good, /no signer of this mesh/],
      [drafted, good.slice(0, -4), /no signer|base64/],
      [drafted, '', /base64/],
      [`${drafted}\n`, good, /not the bytes of an event/],
      [foreign, signatureOf(world, foreign), /drafted for another mesh/],
      ['[]', signatureOf(world, '[]'), /an event is an object/],
      [canonicalJson({ ...body, kind: 'gossip' }), good, /this is no event/],
    ];
    for (const [text, sshsig, why] of attempts) await expect(submit(text, sshsig)).rejects.toThrow(why);
    expect(await submit(drafted, good)).toMatchObject({ id: sha256Hex(drafted), seq: 3 });
    const again = { id: sha256Hex(drafted), seq: null, notes: [expect.stringMatching(/stood here already/)] };
    expect(await submit(drafted, good)).toMatchObject(again);
  }, 120_000);

  test('a signer whose scopes do not cover the subject hears it before signing, and who could', async () => {
    const world = await open();
    const dana = makeKey(join(world.folder, 'dana'), '');
    const added = await world.run(['signer', 'add', `${dana}.pub`, '--as', 'dana', '--scopes', 'lesson/*', '--yes']);
    expect(added).toMatchObject({ code: 0 });
    await world.park('ssh-route/mini');
    const { code, value } = await sign(world, 'ssh-route/mini', '--value', 'x', '--key', dana);
    expect({ code, value }).toMatchObject({
      code: 6,
      value: { error: { code: 'SIGNER_SCOPE', hint: expect.stringContaining('craig') } },
    });
    const lesson = await sign(world, 'lesson/a', '--content', 'Quote', '--key', dana);
    expect(lesson).toMatchObject({ code: 0, value: { signer: 'dana' } });
  }, 120_000);

  test('a claim without a home is refused in the words of sign', async () => {
    const world = await open();
    const { value } = await sign(world, 'note/new', '--value', 'x');
    expect(value).toMatchObject({
      error: {
        code: 'EVENT_INVALID',
        hint: expect.stringMatching(/memctl sign --help.*--home-ref.*nothing was signed/),
      },
    });
  }, 120_000);

  test('what looks like a secret is refused before anybody is asked for a passphrase', async () => {
    const world = await open();
    const secret = ['AKIA', 'Q3EGRIFAEXAMPLE7'].join('');
    const { code, value } = await sign(
      world,
      'note/key',
      '--value',
      'x',
      '--home-ref',
      'file:a.md',
      '--content',
      `aws_access_key_id = ${secret} aws_secret_access_key = wJalrXUtnFEMIK7MDENGbPxRfiCYzzzzzzzzzzzz`,
    );
    expect({ code, value }).toMatchObject({ code: 6, value: { error: { code: 'SECRET_FOUND' } } });
  }, 120_000);
});

describe('away from the mesh', () => {
  test('a prepared file is signed by stock ssh-keygen and handed in, after what it replaces has changed', async () => {
    const world = await open();
    const [first = '', second = ''] = await world.park('ssh-route/mini');
    const file = join(world.work, 'mini.json');
    const prepared = await world.json(['sign', 'ssh-route/mini', '--accept', first, '--prepare', file]);
    expect(prepared.value).toMatchObject({
      file,
      subject: 'ssh-route/mini',
      supersedes: [second],
      namespace: 'memd-event',
    });
    expect(readFileSync(`${file}.txt`, 'utf8')).toMatch(/ssh-keygen -Y sign -f KEY -n memd-event/);
    expect((await world.json(['sign', 'ssh-route/mini', '--retract', '--prepare', file])).value).toMatchObject({
      error: { message: expect.stringMatching(/there already/) },
    });
    expect((await world.json(['sign', '--finish', file])).value).toMatchObject({ error: { code: 'INPUT_UNREADABLE' } });
    execFileSync('ssh-keygen', ['-Y', 'sign', '-q', '-f', world.key, '-n', 'memd-event', file], { stdio: 'ignore' });
    await world.run(['retract', 'ssh-route/mini', '--supersedes', second]);
    const finished = await world.json(['sign', '--finish', file]);
    expect(finished.value).toMatchObject({
      id: prepared.value['id'],
      signer: 'craig',
      notes: [expect.stringMatching(/was withdrawn before by/)],
    });
    expect(await world.recall('ssh-route/mini')).toMatchObject({ status: 'served', claim: { level: 'signed' } });
    const lines = plainLog(world).length;
    expect((await world.json(['sign', '--finish', file])).value).toMatchObject({
      notes: [expect.stringMatching(/stood here already/)],
    });
    expect(plainLog(world)).toHaveLength(lines);
    writeFileSync(file, `${readFileSync(file, 'utf8')}\n`);
    expect((await world.json(['sign', '--finish', file])).value).toMatchObject({
      error: { message: expect.stringMatching(/ends with a newline/) },
    });
  }, 120_000);

  test('memctl signs a prepared file without a home, and shows what it is first', async () => {
    const world = await open();
    await world.park('ssh-route/mini');
    const file = join(world.work, 'gone.json');
    await world.json(['sign', 'ssh-route/mini', '--retract', '--prepare', file]);
    const away = ['--home', join(world.folder, 'no-home'), 'sign', '--file', file];
    expect((await world.run([...away, '--yes'])).code).toBe(2);
    const signed = await world.run([...away, '--key', world.key, '--yes']);
    expect(signed).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/retract ssh-route\/mini[^]*namespace memd-event/),
    });
    expect(await world.json(['sign', '--finish', file, '--signature', `${file}.sig`])).toMatchObject({
      code: 0,
      value: { kind: 'retract' },
    });
    expect((await world.recall('ssh-route/mini'))['status']).toBe('retracted');
  }, 120_000);
});

test('usage: what says nothing, or two things, is refused before a key is used', async () => {
  const world = await open();
  const cases: readonly [string[], RegExp][] = [
    [['note/a'], /nothing is said/],
    [['note/a', '--accept', 'deadbeef', '--retract'], /exclude each other/],
    [['note/a', '--accept', 'deadbeef', '--value', 'x'], /--accept says what that side says/],
    [['--value', 'x'], /says nothing without a subject/],
    [['note/a', '--pin', '--hook', 'x'], /--pin takes no --hook/],
    [['--event', 'xyz'], /8 to 64 hex digits/],
    [['--event', 'deadbeefdeadbeef'], /no event has an id/],
    [['no-subject', '--value', 'x'], /no subject of the form/],
    [['note/a', '--finish', 'f'], /name nothing else/],
  ];
  for (const [args, why] of cases) {
    const { code, value } = await sign(world, ...args);
    expect([2, 7]).toContain(code);
    expect((value['error'] as Json)['message']).toMatch(why);
  }
}, 120_000);

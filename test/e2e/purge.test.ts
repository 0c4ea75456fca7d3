/** A purge with a real memd: what was said is nowhere in the home, everything else is as it was, and nobody waits in vain. */
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { childEnvironment } from '../../src/store/child.ts';
import { findBytes } from '../lib/byte-search.ts';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';
import { expectSound, git, secret, subject, tellSecret, type Claim, type Purged } from '../lib/purge-hosts.ts';

const bench = openBench();

describe('a purge on one host', { timeout: 90_000 }, () => {
  let alpha: BenchHost;
  let id = '';
  let purged: Purged;

  beforeAll(async () => {
    alpha = await bench.lay('alpha');
    await alpha.json('init', '--host', 'alpha', '--listen', alpha.address);
    id = await tellSecret(alpha);
    const echo = { kind: 'lesson', subject: 'lesson/echo', content: 'go through gate-nine' };
    await alpha.append(JSON.stringify(echo));
    await alpha.start();
    await alpha.ctl('index');
    // What a home may hold beside: a hand edit of a view, an edit that was kept, a database that was given up.
    appendFileSync(join(alpha.home, 'views/operator/INDEX.md'), `edited: ${secret}\n`);
    writeFileSync(join(alpha.home, 'views/operator/STALE.md.edited-0123abcd'), secret);
    cpSync(join(alpha.home, 'state.sqlite'), join(alpha.home, 'state.sqlite.damaged'));
    mkdirSync(join(alpha.home, 'damaged/2026-07-27'), { recursive: true });
    writeFileSync(join(alpha.home, 'damaged/2026-07-27/alpha.jsonl'), secret);
    await alpha.json('export', join(bench.folder(), 'before'));
    writeFileSync(join(alpha.home, 'mine.txt'), 'kept here by a person');
  }, 60_000);

  test('takes every byte out of the home while appends go on and readers ask, and says what it cannot reach', async () => {
    expect(findBytes(alpha.home, secret).length, 'there is much to find').toBeGreaterThan(6);
    const api = await alpha.api();
    const meanwhile = { going: true };
    const appended: string[] = [];
    const writer = (async () => {
      for (let n = 0; meanwhile.going; n += 1) {
        const event = { kind: 'lesson', subject: `lesson/meanwhile-${n}`, content: `m ${n}` };
        const { result } = await api.call('append', { events: [event] });
        appended.push((result as { results: { id: string }[] }).results[0]?.id ?? '');
      }
    })();
    const reader = (async () => {
      const reading = await alpha.api();
      while (meanwhile.going)
        expect(await reading.call('recall', { subject: 'lesson/rule-3' })).toMatchObject({ result: {} });
    })();
    const { code, stdout, stderr } = await alpha.ctl('purge', id, '--reason', 'secret', '--yes', '--json');
    meanwhile.going = false;
    await Promise.all([writer, reader]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining(`by host alpha`) });
    expect(`${stdout}${stderr}`, 'what it says is never said again').not.toContain(secret);
    expect(stderr).toMatch(/cited by [0-9a-f]{12}/);
    expect(stderr).toMatch(/ALSO SAID by [0-9a-f]{12}/);
    purged = JSON.parse(stdout) as Purged;
    expect(purged).toMatchObject({ targets: [id], done: true, unconfirmed: [], foreign: ['mine.txt'], edits: [] });
    expect(purged.exports).toMatchObject([{ dir: join(bench.folder(), 'before'), there: true }]);
    const lines = git(alpha, 'show', 'log/alpha:00/00/00.jsonl') + git(alpha, 'log', '--format=%B', 'log/alpha');
    expect(lines).not.toContain(secret);
    for (const one of appended)
      expect((await api.call('show', { id: one })).result).toMatchObject({ status: 'served' });
    await expectSound(alpha);
  });

  test('every answer about it is PURGED, with op, signer, reason and time, and exit 7', async () => {
    const recalled = await alpha.ctl('recall', subject);
    expect(recalled).toMatchObject({ code: 7, stdout: expect.stringContaining(`PURGED: ${subject}`) });
    expect(recalled.stdout).toContain(`trust op ${purged.id}`);
    const shown = await alpha.ctl('show', id, '--json');
    expect({ code: shown.code, ...(JSON.parse(shown.stdout) as object) }).toMatchObject({
      code: 7,
      event: null,
      status: 'purged',
      purged: { id, op: purged.id, by: 'root', reason: 'secret', at: expect.stringMatching(/^\d{4}-/) },
    });
    expect((await alpha.ctl('log', subject)).stdout).toContain('PURGED (secret) by root');
    expect((await alpha.ctl('blame', subject)).stdout).toContain('PURGED (secret) by root');
    expect(JSON.parse((await alpha.ctl('search', 'xylophone', '--json')).stdout || '{}')).not.toMatchObject({ id });
    expect(await alpha.json('purge', '--list')).toMatchObject([{ id, op: purged.id, reason: 'secret', done: true }]);
    expect(await alpha.json('status')).toMatchObject({ alarms: [] });
  });

  test('stock git clones it, an export of it verifies and holds the hole, and a rebuild gives the same bytes', async () => {
    const clone = join(bench.folder(), 'clone');
    const env = childEnvironment({ GIT_ALLOW_PROTOCOL: 'file' });
    execFileSync('git', ['clone', '-q', `file://${alpha.repository}`, clone], { env, stdio: 'pipe' });
    expect(findBytes(clone, secret, join(clone, '.git'))).toEqual([]);
    const exported = join(bench.folder(), 'export');
    expect(await alpha.json('export', exported)).toMatchObject({ problems: [] });
    expect(readFileSync(join(exported, 'logs/alpha.jsonl'), 'utf8')).toContain(`"body":"${id}"`);
    expect(findBytes(exported, secret)).toEqual([]);
    const [{ exports }] = await alpha.json<[Purged]>('purge', '--list');
    expect(
      exports.map(({ dir }) => dir),
      'the new one is without it',
    ).toEqual([join(bench.folder(), 'before')]);
    const { stdout } = await alpha.ctl('purge', '--list');
    expect(stdout).toContain(`exported before it to ${join(bench.folder(), 'before')}`);
    expect(stdout).toContain("not memd's, look yourself: mine.txt");
    const derived = (): string[] =>
      ['views/operator/INDEX.md', 'views/operator/index.json', 'logs/alpha.jsonl', 'repo.git/refs/heads/log/alpha'].map(
        (name) => readFileSync(join(alpha.home, name), 'utf8'),
      );
    const before = derived();
    await alpha.json('rebuild');
    expect(derived()).toEqual(before);
    expect((await alpha.ctl('doctor')).stdout).toContain('ok    logs');
    await expectSound(alpha);
  });

  test('a restart finds nothing to do, and appends go on from the new commit', async () => {
    expect(await alpha.stop()).toBe(0);
    const note = readFileSync(join(alpha.home, 'purged.json'), 'utf8');
    await alpha.start();
    const head = git(alpha, 'rev-parse', 'log/alpha');
    await alpha.append(JSON.stringify({ kind: 'lesson', subject: 'lesson/after', content: 'still here' }));
    expect(git(alpha, 'rev-parse', 'log/alpha^')).toBe(head);
    expect(readFileSync(join(alpha.home, 'purged.json'), 'utf8')).toBe(note);
    await expectSound(alpha);
  });

  test('what cannot be purged is refused before anybody signs', async () => {
    const [{ id: other }] = (await alpha.ctl('log', 'lesson/rule-1', '--json')).stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Claim) as [Claim];
    expect(await alpha.refused(6, ['purge', id, '--reason', 'secret', '--yes'])).toMatchObject({
      code: 'PURGE_REFUSED',
      message: expect.stringContaining('purged already'),
    });
    expect(await alpha.refused(6, ['purge', purged.id, '--reason', 'secret', '--yes'])).toMatchObject({
      code: 'PURGE_REFUSED',
      message: expect.stringContaining('trust ops cannot be purged'),
    });
    expect(await alpha.refused(7, ['purge', 'ab'.repeat(32), '--reason', 'secret', '--yes'])).toMatchObject({
      code: 'ID_UNKNOWN',
    });
    expect(await alpha.refused(2, ['purge', other, '--reason', 'It said: hello', '--yes'])).toMatchObject({
      code: 'BAD_REQUEST',
    });
    expect(await alpha.refused(2, ['purge', other])).toMatchObject({ code: 'BAD_REQUEST' });
    expect(await alpha.refused(6, ['purge', other, '--reason', 'mistake'])).toMatchObject({ code: 'SIGN_FAILED' });
    const key = join(bench.folder(), 'narrow');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
    for (const [name, scopes] of [
      ['without-purge', '*,charter'],
      ['narrow', 'endpoint/*,purge'],
    ] as const) {
      execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', `${key}-${name}`]);
      await alpha.json('signer', 'add', `${key}-${name}.pub`, '--as', name, '--scopes', scopes, '--yes');
      const run = ['purge', other, '--reason', 'mistake', '--yes', '--key', `${key}-${name}`];
      expect(await alpha.refused(6, run)).toMatchObject({
        code: 'SIGNER_SCOPE',
        message: expect.stringContaining('that takes the scopes purge and *'),
      });
    }
    expect((await alpha.ctl('show', other)).code).toBe(0);
  });
});

/** What shows from outside how far a purge is. */
interface Moment {
  readonly trust: string;
  readonly log: string;
  readonly packs: number;
  readonly loose: number;
  readonly copy: string;
  readonly database: number;
  readonly note: boolean;
}

/** Folders of objects come and go. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function momentOf({ home, repository }: BenchHost): Moment {
  const read = (...names: readonly string[]): string => readFileSync(join(...names), 'utf8');
  const objects = join(repository, 'objects');
  const names = readdirSync(objects).flatMap((folder) =>
    namesIn(join(objects, folder)).map((name) => `${folder}/${name}`),
  );
  return {
    trust: read(repository, 'refs/heads/trust'),
    log: read(repository, 'refs/heads/log/alpha'),
    packs: names.filter((name) => name.endsWith('.idx')).length,
    loose: names.filter((name) => /^[0-9a-f]{2}\/[0-9a-f]{38}$/.test(name)).length,
    copy: read(home, 'logs/alpha.jsonl'),
    database: statSync(join(home, 'state.sqlite'), { throwIfNoEntry: false })?.ino ?? 0,
    note: existsSync(join(home, 'purged.json')),
  };
}

/** From the op that is durable to the note that all is done. */
const stages: readonly ((before: Moment, now: Moment) => boolean)[] = [
  (before, now) => now.trust !== before.trust,
  (before, now) => now.log !== before.log,
  (before, now) => now.packs > before.packs,
  (before, now) => now.log !== before.log && now.loose < before.loose / 2,
  (before, now) => now.copy !== before.copy,
  (before, now) => now.database !== before.database,
  (_before, now) => now.note,
];

describe('a purge that is interrupted', { timeout: 90_000 }, () => {
  test('a memd that is killed anywhere in it finishes it when it starts again', { timeout: 180_000 }, async () => {
    const model = await bench.lay('killed-model');
    await model.json('init', '--host', 'alpha', '--listen', '127.0.0.1:0');
    const id = await tellSecret(model);
    for (const [round, reached] of stages.entries()) {
      const host = await bench.lay(`killed-${round}`);
      cpSync(model.home, host.home, { recursive: true });
      const memd = await host.start();
      const before = momentOf(host);
      const run = host.ctl('purge', id, '--reason', 'secret', '--yes', '--json');
      const over = run.then(() => true);
      while (!reached(before, momentOf(host)) && !(await Promise.race([over, pause(1, false)]))) continue;
      memd.signal('SIGKILL');
      await memd.ended;
      await run;
      await host.start();
      expect(await host.json('purge', '--list')).toMatchObject([{ id, done: true }]);
      expect(await host.json('status')).toMatchObject({ alarms: [] });
      await expectSound(host);
      await host.stop();
    }
  });

  test('a repository that cannot be packed loses nothing: the purge stays due and told, and the next start does it', async () => {
    const host = await bench.lay('unpackable');
    await host.json('init', '--host', 'alpha', '--listen', '127.0.0.1:0');
    const id = await tellSecret(host);
    // A branch whose commit is missing: git refuses to pack, and nothing may be dropped then.
    const view = join(host.repository, 'refs/heads/view/alpha');
    writeFileSync(view, `${'1'.repeat(40)}\n`);
    const { code, stdout } = await host.ctl('purge', id, '--reason', 'secret', '--yes', '--json');
    expect({ code, ...(JSON.parse(stdout) as Purged) }).toMatchObject({ code: 1, done: false });
    expect((await host.ctl('recall', subject)).code, 'it counts all the same').toBe(7);
    const { alarms } = await host.json<{ alarms: { kind: string }[] }>('status');
    expect(alarms.map(({ kind }) => kind)).toContain('PURGE_DUE');
    rmSync(view);
    expect(await host.json('purge', '--list')).toMatchObject([{ id, done: true }]);
    await expectSound(host);
  });
});

describe('a body that is brought back by hand', { timeout: 90_000 }, () => {
  test('counts for nothing, is told, refused as an append, and goes again with the next rebuild', async () => {
    const host = await bench.lay('brought-back');
    await host.json('init', '--host', 'alpha', '--listen', '127.0.0.1:0');
    const id = await tellSecret(host);
    const { event } = await host.json<{ event: unknown }>('show', id);
    const old = join(bench.folder(), 'old.git');
    cpSync(host.repository, old, { recursive: true });
    await host.json('purge', id, '--reason', 'secret', '--yes');
    const env = childEnvironment({ GIT_ALLOW_PROTOCOL: 'file' });
    const fetch = ['--git-dir', host.repository, 'fetch', '-q', `file://${old}`, '+log/alpha:log/alpha'];
    execFileSync('git', fetch, { env, stdio: 'pipe' });
    expect(await host.json('rebuild')).toMatchObject({ events: 82 });
    await expectSound(host);
    execFileSync('git', fetch, { env, stdio: 'pipe' });
    await host.start();
    expect((await host.ctl('recall', subject)).code).toBe(7);
    expect(await host.refusedVerify()).toEqual([expect.stringContaining('PURGE_DUE')]);
    expect(await host.json('status')).toMatchObject({ alarms: [{ kind: 'PURGE_DUE' }] });
    await host.json('rebuild');
    expect(await host.json('status')).toMatchObject({ alarms: [] });
    await expectSound(host);
    const body = JSON.stringify(event);
    const api = await host.api();
    const key = join(bench.folder(), 'config/memd/operator_ed25519');
    const file = join(bench.folder(), 'body');
    writeFileSync(file, body);
    execFileSync('ssh-keygen', ['-Y', 'sign', '-q', '-f', key, '-n', 'memd-event', file], { stdio: 'pipe' });
    const sshsig = readFileSync(`${file}.sig`, 'utf8').replace(/-----[^\n]*|\n/g, '');
    expect(await api.call('sign.submit', { body, sshsig })).toMatchObject({ error: { code: 'EVENT_PURGED' } });
    await host.stop();
  });
});

describe('a purge that counts no more', { timeout: 90_000 }, () => {
  test('withholds what comes after the hole, and another purge of the event brings it back', async () => {
    const host = await bench.lay('voided');
    await host.json('init', '--host', 'alpha', '--listen', '127.0.0.1:0');
    const id = await tellSecret(host);
    const key = join(bench.folder(), 'dana');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
    await host.json('signer', 'add', `${key}.pub`, '--as', 'dana', '--scopes', '*,purge', '--yes');
    const { id: op } = await host.json<Purged>('purge', id, '--reason', 'secret', '--yes', '--key', key);
    await host.json('signer', 'revoke', 'dana', '--void', op, '--yes');
    expect(await host.json('status')).toMatchObject({ alarms: [{ kind: 'WITHHELD', host: 'alpha' }] });
    expect(await host.json('purge', '--list')).toEqual([]);
    expect((await host.ctl('recall', 'lesson/rule-60')).stdout).toContain('NOT WHOLE HERE');
    const event = JSON.stringify({ kind: 'lesson', subject: 'lesson/after', content: 'still here' });
    expect(await host.refused(1, ['append', '--file', '-'], { input: event })).toMatchObject({
      code: 'OWN_LOG_DAMAGED',
    });
    expect(await host.json('purge', id, '--reason', 'secret', '--yes')).toMatchObject({ done: true });
    expect(await host.json('status')).toMatchObject({ alarms: [] });
    await host.append(event);
    await expectSound(host);
  });
});

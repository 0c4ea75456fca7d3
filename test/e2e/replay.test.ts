/** Time travel with real hosts: what a host believed then is told by every host, from its signed journal. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { converge, enrol } from '../../drills/lib/hosts.ts';
import { buildViewLine, viewLineHash } from '../../src/core/view-line.ts';
import { signEd25519 } from '../../src/crypto/ed25519.ts';
import { childEnvironment } from '../../src/store/child.ts';
import { openRepository } from '../../src/store/git/repository.ts';
import { homePaths } from '../../src/store/home/home.ts';
import { readKeys } from '../../src/store/home/keys.ts';
import { openViewWriter, readNewestViewLine, readNotes } from '../../src/store/logs/view-journal.ts';
import type { ReplayJson, StatusJson } from '../../src/daemon/api/api-types.ts';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';

const bench = openBench();
let mesh = '';
let alpha: BenchHost;
let beta: BenchHost;

interface Then extends ReplayJson {
  readonly status?: string;
  readonly claim?: { readonly value?: string };
}

interface Recorded {
  readonly host: BenchHost;
  readonly at: string;
  readonly root: string;
  readonly index: string;
}

beforeAll(async () => {
  [alpha, beta] = [await bench.lay('alpha'), await bench.lay('beta')];
  ({ mesh } = await alpha.json<{ mesh: string }>('init', '--host', 'alpha', '--listen', alpha.address));
  await alpha.start();
  await enrol(alpha, beta, mesh);
  await beta.start();
}, 60_000);

function say(host: BenchHost, subject: string, value: string): Promise<unknown> {
  return host.json('assert', subject, `it is ${value}`, '--value', value, '--home', 'file:x');
}

/** Has the journal of the host say what it believes now: whoever asks for the present is a waiter. */
async function published(host: BenchHost): Promise<void> {
  const { root } = await host.json<StatusJson>('status');
  expect(await host.json<Then>('replay', '--at', 'now')).toMatchObject({ root, verified: true });
  expect((await readNewestViewLine(openRepository(host.repository), host.name))?.root).toBe(root);
}

async function record(host: BenchHost): Promise<Recorded> {
  await published(host);
  const { root } = await host.json<StatusJson>('status');
  // The file comes behind what is believed, unless somebody asks for it.
  await host.json('index');
  const index = readFileSync(join(host.home, 'views', 'operator', 'INDEX.md'), 'utf8');
  return { host, at: new Date().toISOString(), root, index };
}

describe('replay', () => {
  test('every host tells what each believed at an instant, with the root that it signed; later lines do not leak in', async () => {
    const records: Recorded[] = [];
    await say(alpha, 'ssh-route/mini', 'bastion');
    records.push(await record(alpha));
    await say(beta, 'ssh-route/mini', 'direct');
    records.push(await record(beta));
    await converge([alpha, beta]);
    records.push(await record(alpha), await record(beta));
    await say(alpha, 'ssh-route/late', 'later');
    await say(alpha, 'ssh-route/late', 'contradicted');
    await published(alpha);
    await converge([alpha, beta]);
    for (const teller of [alpha, beta]) {
      for (const { host, at, root, index } of records) {
        const then = await teller.json<Then>('replay', '--at', at, '--host', host.name);
        expect({ ...then, at: '' }).toMatchObject({ host: host.name, root, verified: true });
        expect(then.at <= at).toBe(true);
        const shown = await teller.ctl('replay', '--at', at, '--host', host.name, '--index');
        expect(shown).toMatchObject({ code: 0, stdout: index });
      }
    }
    const [first] = records;
    const mini = await beta.json<Then>(
      'replay',
      '--at',
      first?.at ?? '',
      '--host',
      'alpha',
      '--subject',
      'ssh-route/mini',
    );
    expect(mini).toMatchObject({ status: 'served', claim: { value: 'bastion' }, verified: true, host: 'alpha' });
    const both = await beta.ctl('replay', '--at', 'now', '--subject', 'ssh-route/mini', '--json');
    expect(both.code).toBe(3);
    const changes = await beta.json<{ subject: string; before: unknown; after: unknown; by: string }[]>(
      'diff',
      '--from',
      first?.at ?? '',
      '--to',
      'now',
      '--host',
      'alpha',
    );
    expect(changes).toMatchObject([
      { subject: 'ssh-route/late', before: null, after: { status: 'parked' }, by: expect.any(String) as string },
      { subject: 'ssh-route/mini', before: { status: 'served' }, after: { status: 'parked' } },
    ]);
  }, 120_000);

  test('an instant before the first line, a host that is none, and a journal that is not here say so', async () => {
    expect(await beta.refused(7, ['replay', '--at', '2020-01-01T00:00:00Z', '--host', 'alpha'])).toMatchObject({
      code: 'REPLAY_BEFORE',
      hint: expect.stringMatching(/^memctl replay --at \S+Z --host alpha$/) as string,
    });
    expect(await beta.refused(7, ['replay', '--at', '-1h', '--host', 'delta'])).toMatchObject({ code: 'HOST_UNKNOWN' });
    expect(await beta.refused(2, ['replay', '--at', 'noon'])).toMatchObject({ code: 'USAGE' });
  }, 30_000);

  test('the trust set of then is found where this host never had exactly that, and what was purged since is named', async () => {
    const early = await beta.refused(7, ['replay', '--at', '2020-01-01T00:00:00Z', '--host', 'alpha']);
    const first = /--at (\S+)/.exec(early.hint ?? '')?.[1] ?? '';
    // Only alpha was in the mesh then; beta got its first trust ops all at once.
    const alone = await beta.json<Then>('replay', '--at', first, '--host', 'alpha');
    expect(alone).toMatchObject({ host: 'alpha', verified: true });
    const { trust } = await beta.json<StatusJson>('status');
    expect(alone.trust).not.toBe(trust);
    const { id } = (await say(alpha, 'note/leak', 'xylophone')) as { id: string };
    await published(alpha);
    const at = new Date().toISOString();
    await alpha.json('class', 'add', 'later', '--yes');
    await converge([alpha, beta]);
    expect(await beta.json('replay', '--at', at, '--host', 'alpha')).toMatchObject({ verified: true });
    await alpha.json('purge', id, '--reason', 'secret', '--yes');
    await converge([alpha, beta]);
    for (const teller of [alpha, beta]) {
      const { code, stdout } = await teller.ctl('replay', '--at', at, '--host', 'alpha', '--json');
      const why = expect.stringMatching(/^1 event purged since/) as string;
      expect({ code, told: JSON.parse(stdout) as unknown }).toMatchObject({ code: 4, told: { verified: false, why } });
      expect(await teller.json('replay', '--at', first, '--host', 'alpha')).toMatchObject({ verified: true });
    }
    const changes = await beta.ctl('diff', '--from', at, '--to', 'now', '--host', 'alpha', '--json');
    expect(changes.code).toBe(4);
  }, 90_000);

  test('another root of the same lines is an alarm that names both hosts, and goes when it is put right', async () => {
    await converge([alpha, beta]);
    await Promise.all([published(alpha), published(beta)]);
    await alpha.stop();
    const repository = openRepository(alpha.repository);
    const writer = await openViewWriter({ repository, host: 'alpha', meshId: mesh });
    const before = writer.newest();
    if (before === null) throw new Error('alpha has a journal');
    const { key } = readKeys(homePaths(alpha.home)).sign;
    const parts = { ...before, n: before.n + 1, prev: viewLineHash(before), root: 'f'.repeat(64) };
    await writer.append(buildViewLine(parts, (message) => signEd25519(key, message)));
    await writer.writeNotes('a note\n');
    await beta.stop();
    // Carried by git: a running alpha would say the truth again before beta could ask.
    const ref = 'refs/heads/view/alpha';
    execFileSync('git', ['--git-dir', beta.repository, 'fetch', '-q', alpha.repository, `+${ref}:${ref}`], {
      env: { ...childEnvironment(), GIT_ALLOW_PROTOCOL: 'file' },
    });
    await beta.start();
    expect(await readNotes(openRepository(beta.repository), 'alpha')).toBe('a note\n');
    const { alarms: raised, counts } = await beta.json<StatusJson>('status');
    expect(raised.filter(({ kind }) => kind === 'DIVERGED')).toEqual([
      {
        kind: 'DIVERGED',
        host: 'alpha',
        detail: expect.stringMatching(/^beta and alpha fold the same lines/) as string,
      },
    ]);
    expect(counts['alarms']).toBe(raised.length);
    const shown = await beta.ctl('replay', '--at', 'now', '--host', 'alpha');
    expect(shown).toMatchObject({ code: 4, stdout: expect.stringContaining('NOT VERIFIED') as string });
    await alpha.start();
    const deadline = Date.now() + 40_000;
    for (;;) {
      await beta.json('fetch');
      const { alarms } = await beta.json<StatusJson>('status');
      const line = await readNewestViewLine(openRepository(beta.repository), 'alpha');
      if ((line?.n ?? 0) > parts.n) {
        expect(alarms.filter(({ kind }) => kind === 'DIVERGED')).toEqual([]);
        return;
      }
      expect(Date.now()).toBeLessThan(deadline);
      await pause(100);
    }
  }, 90_000);
});

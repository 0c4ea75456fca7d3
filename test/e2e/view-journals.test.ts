/** View journals between real hosts: carried by relays, bad ones told, and one that a restore took back found again. */
import { execFileSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { converge, enrol } from '../../drills/lib/hosts.ts';
import { buildViewLine, viewLineHash, type ViewLine } from '../../src/core/view-line.ts';
import { signEd25519 } from '../../src/crypto/ed25519.ts';
import type { CheckJson, ReplayJson, StatusJson, VerifyJson } from '../../src/daemon/api/api-types.ts';
import { childEnvironment } from '../../src/store/child.ts';
import { openRepository } from '../../src/store/git/repository.ts';
import { homePaths } from '../../src/store/home/home.ts';
import { readKeys } from '../../src/store/home/keys.ts';
import { openViewWriter, readNewestViewLine } from '../../src/store/logs/view-journal.ts';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';

const bench = openBench();
let mesh = '';
let hosts: readonly [BenchHost, BenchHost, BenchHost];

beforeAll(async () => {
  const [alpha, beta, gamma] = [await bench.lay('alpha'), await bench.lay('beta'), await bench.lay('gamma')];
  hosts = [alpha, beta, gamma];
  ({ mesh } = await alpha.json<{ mesh: string }>('init', '--host', 'alpha', '--listen', alpha.address));
  await alpha.start();
  for (const host of [beta, gamma]) {
    await enrol(alpha, host, mesh);
    await host.start();
  }
  for (const host of hosts) await say(host, 'note/first');
  await converge(hosts);
}, 90_000);

function say(host: BenchHost, subject: string): Promise<unknown> {
  return host.json('assert', subject, '--value', host.name, '--home', 'file:x');
}

/** Has the journal of a host say what it believes now. */
async function publish(host: BenchHost): Promise<ViewLine> {
  await host.json<ReplayJson>('replay', '--at', 'now');
  return newest(host, host.name);
}

async function newest(at: BenchHost, of: string): Promise<ViewLine> {
  const line = await readNewestViewLine(openRepository(at.repository), of);
  if (line === undefined) throw new Error(`${at.name} holds no line of ${of}`);
  return line;
}

async function alarmsOf(host: BenchHost): Promise<readonly string[]> {
  return (await host.json<StatusJson>('status')).alarms.map(({ kind, host: about }) => `${kind} ${about ?? ''}`);
}

describe('view journals', () => {
  test('of a host that is gone come from whoever holds them', async () => {
    const [alpha, beta, gamma] = hosts;
    // It could have the line from gamma itself.
    await beta.stop();
    await say(gamma, 'note/last');
    const line = await publish(gamma);
    await alpha.json('fetch', 'gamma');
    expect((await newest(alpha, 'gamma')).text).toBe(line.text);
    await gamma.stop();
    const before = await newest(beta, 'gamma').catch(() => undefined);
    expect(before?.n ?? 0).toBeLessThan(line.n);
    await beta.start();
    // The first answer tells beta that gamma is down, the second is taken from alpha.
    for (let round = 0; round < 3; round += 1) await beta.ctl('fetch');
    expect((await newest(beta, 'gamma')).text).toBe(line.text);
    expect(await beta.json('replay', '--at', 'now', '--host', 'gamma')).toMatchObject({
      root: line.root,
      verified: true,
    });
    await gamma.start();
  }, 90_000);

  test('with a line that nobody signed are an alarm: the lines before it count, and the host is heard as ever', async () => {
    const [alpha, , gamma] = hosts;
    await publish(gamma);
    await converge(hosts);
    const good = await newest(alpha, 'gamma');
    await gamma.stop();
    const writer = await openViewWriter({ repository: openRepository(gamma.repository), host: 'gamma', meshId: mesh });
    const last = writer.newest();
    if (last === null) throw new Error('gamma has a journal');
    const wrongKey = readKeys(homePaths(alpha.home)).sign.key;
    const parts = { ...last, n: last.n + 1, prev: viewLineHash(last), root: 'e'.repeat(64) };
    await writer.append(buildViewLine(parts, (message) => signEd25519(wrongKey, message)));
    await gamma.start();
    await say(gamma, 'note/after');
    await alpha.json('fetch', 'gamma');
    expect(await alarmsOf(alpha)).toContain('VIEW_CUT gamma');
    expect((await newest(alpha, 'gamma')).n).toBeLessThanOrEqual(last.n);
    expect((await newest(alpha, 'gamma')).n).toBeGreaterThanOrEqual(good.n);
    const { peers } = await alpha.json<StatusJson>('status');
    expect(peers.find(({ host }) => host === 'gamma')?.state).toBe('up');
    expect(await alpha.json('recall', 'note/after')).toMatchObject({ status: 'served' });
    const isSound = async (): Promise<boolean> => {
      const { problems } = JSON.parse((await gamma.run(['verify', '--json'])).stdout) as VerifyJson;
      return !problems.some((problem) => problem.startsWith('view gamma'));
    };
    // A line that gamma writes meanwhile changes what is last in its journal.
    const before = await isSound();
    const shown = JSON.parse((await gamma.run(['doctor', '--json'])).stdout) as { checks: readonly CheckJson[] };
    const after = await isSound();
    expect([before, after]).toContain(shown.checks.find(({ name }) => name === 'view journals')?.ok);
    // Whatever gamma has written since, its journal holds a line that is not its own.
    const deep = JSON.parse((await gamma.run(['verify', '--deep', '--json'])).stdout) as VerifyJson;
    expect(deep.problems).toContainEqual(expect.stringMatching(/^view gamma: line \d+ is not signed by gamma/));
  }, 90_000);

  test('that a restore took back are fetched from peers, and gone on from', async () => {
    const [alpha, beta] = hosts;
    await publish(beta);
    await beta.stop();
    const saved = `${beta.home}.saved`;
    cpSync(beta.repository, saved, { recursive: true });
    await beta.start();
    await say(beta, 'note/lost');
    const lost = await publish(beta);
    await alpha.json('fetch', 'beta');
    expect((await newest(alpha, 'beta')).text).toBe(lost.text);
    await beta.stop();
    // Only the journal: the log of a restored home has its own test.
    const ref = 'refs/heads/view/beta';
    const env = childEnvironment();
    const was = execFileSync('git', ['--git-dir', saved, 'rev-parse', ref], { env, encoding: 'utf8' }).trim();
    execFileSync('git', ['--git-dir', beta.repository, 'update-ref', ref, was], { env });
    rmSync(saved, { recursive: true });
    const alone = JSON.parse((await beta.run(['status', '--json'])).stdout) as StatusJson;
    expect(alone.alarms.map(({ kind }) => kind)).toContain('VIEW_REWOUND');
    await beta.start();
    await beta.json('fetch');
    await say(beta, 'note/again');
    const next = await publish(beta);
    expect(next.n).toBeGreaterThan(lost.n);
    await alpha.json('fetch', 'beta');
    expect((await newest(alpha, 'beta')).text).toBe(next.text);
    expect((await alarmsOf(alpha)).filter((alarm) => alarm.endsWith('beta'))).toEqual([]);
    expect(await alarmsOf(beta)).not.toContain('VIEW_REWOUND ');
  }, 90_000);
});

import { execFileSync, spawn } from 'node:child_process';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { packBounds } from '../../../src/mesh/fetch/fetch-bounds.ts';
import { fetchPack, type FetchedPack } from '../../../src/mesh/fetch/fetch-pack.ts';
import { dataPacket } from '../../../src/mesh/fetch/pkt-line.ts';
import { takeOver } from '../../../src/mesh/fetch/take-over.ts';
import { listCommits } from '../../../src/mesh/judge/commit-chain.ts';
import type { PeerConnection } from '../../../src/mesh/ssh/ssh-client.ts';
import { childEnvironment } from '../../../src/store/child.ts';
import { listPacks } from '../../../src/store/git/pack-index.ts';
import { initRepository, type Repository } from '../../../src/store/git/repository.ts';
import { git } from '../../e2e/mesh/hostile.ts';
import { temporaryFolder } from '../../lib/temporary.ts';

const roundCommitsMax = 10;
/** More than one round of ten may take. */
const lines = 1_000;

function repository(): Promise<Repository> {
  return initRepository(join(temporaryFolder(), 'repo.git'), { host: 'gamma' });
}

/** A log of so many lines, each in a commit of its own, a new file after every seventh. @returns the commits, oldest first. */
function history(into: Repository, count: number): readonly string[] {
  let text = '';
  const commits = Array.from({ length: count }, (_, at) => {
    text = at % 7 === 0 ? '' : text;
    text += `line ${at}\n`;
    const file = `00/00/${String(Math.floor(at / 7)).padStart(2, '0')}.jsonl`;
    const said = `commit refs/heads/log/gamma\ncommitter x <x@x> ${at} +0000\ndata 0\n`;
    return `${said}M 100644 inline ${file}\ndata ${text.length}\n${text}\n`;
  });
  const args = ['--git-dir', into.gitDir, 'fast-import', '--quiet'];
  execFileSync('git', args, { input: commits.join(''), env: childEnvironment() });
  return git(into, 'rev-list', '--reverse', 'log/gamma').split('\n');
}

/** What was asked, by round. */
interface Peer {
  readonly connection: PeerConnection;
  readonly asked: string[];
}

/** A peer whose git answers; `as` may say something else instead of it, and `hears` hear something else than was asked. */
function peerOf(
  from: Repository,
  as: (answer: Buffer) => Buffer = (answer) => answer,
  hears: (request: string) => string = (request) => request,
): Peer {
  const asked: string[] = [];
  const start = async (): Promise<unknown> => {
    const child = spawn('git', ['upload-pack', '--strict', from.gitDir], {
      env: childEnvironment({ GIT_PROTOCOL: 'version=2' }),
    });
    const answer: Buffer[] = [];
    const stream = new Duplex({
      read: () => undefined,
      write(chunk: Buffer, _encoding, done) {
        asked.push(chunk.toString('latin1'));
        child.stdin.end(hears(chunk.toString('latin1')));
        done();
      },
    });
    child.stdin.on('error', () => undefined);
    child.stdout.on('data', (chunk: Buffer) => answer.push(chunk));
    child.on('close', () => {
      stream.push(as(Buffer.concat(answer)));
      stream.push(null);
    });
    const close = (): void => void stream.destroy();
    return { ok: true, value: { stream: Object.assign(stream, { close }), said: () => '' } };
  };
  return { connection: { start } as unknown as PeerConnection, asked };
}

type Fetched = Awaited<ReturnType<typeof fetchPack>>;

function fetchAll(peer: Peer, into: Repository, { want = '', haves = [] as readonly string[] }): Promise<Fetched> {
  const { connection } = peer;
  const whole = { ...packBounds(lines), deadlineMs: 60_000, roundCommitsMax };
  return fetchPack({ connection, repository: into, wants: [want], haves, form: 'pack', ...whole });
}

function valueOf(fetched: Fetched): FetchedPack {
  if (!fetched.ok) throw new Error(`${fetched.code}: ${fetched.detail}`);
  return fetched.value;
}

/** What an ordinary fetch does with it: lists its commits, and takes all of it over. */
async function takeAll(into: Repository, fetched: Fetched, ends: { commit: string; base: string | null }) {
  const { quarantine } = valueOf(fetched);
  const chain = await listCommits(quarantine.view, { ...ends, commitsMax: lines, deadlineMs: 60_000 });
  if (!chain.ok) throw new Error(chain.detail);
  const clean = await takeOver(into, quarantine, { commits: chain.value.commits, base: ends.base ?? undefined });
  quarantine.remove();
  return { ...chain.value, clean };
}

describe('a fetch in rounds', () => {
  test('brings a long history ten commits at a time, the newest first, and it is whole', async () => {
    const [gamma, alpha] = [await repository(), await repository()];
    const commits = history(gamma, 95);
    const peer = peerOf(gamma);
    const fetched = await fetchAll(peer, alpha, { want: commits.at(-1) });
    expect(peer.asked).toHaveLength(10);
    expect(peer.asked[1]).toContain(`want ${commits[84]}\n`);
    expect(listPacks(valueOf(fetched).quarantine.view)).toHaveLength(10);
    const taken = await takeAll(alpha, fetched, { commit: commits.at(-1) ?? '', base: null });
    expect(taken).toEqual({ commits, descends: true, clean: true });
    expect(git(alpha, 'fsck', '--strict', '--full', commits.at(-1) ?? '')).toBe('');
    expect(git(alpha, 'rev-list', '--objects', commits.at(-1) ?? '')).toBe(
      git(gamma, 'rev-list', '--objects', 'log/gamma'),
    );
  });

  test.each([
    ['in the middle of a round', 44],
    ['at the end of one', 45],
    ['one after it', 46],
    ['in the first one', 91],
  ])('ends where what is held begins: %s', async (_where, held) => {
    const [gamma, alpha] = [await repository(), await repository()];
    const commits = history(gamma, 95);
    const [base = '', commit = ''] = [commits[held - 1], commits.at(-1)];
    const first = await fetchAll(peerOf(gamma), alpha, { want: base });
    await takeAll(alpha, first, { commit: base, base: null });
    const peer = peerOf(gamma);
    const second = await fetchAll(peer, alpha, { want: commit, haves: [base] });
    expect(peer.asked).toHaveLength(Math.max(1, Math.ceil((95 - held) / 10)));
    const taken = await takeAll(alpha, second, { commit, base });
    expect(taken).toEqual({ commits: commits.slice(held), descends: true, clean: true });
    expect(git(alpha, 'fsck', '--strict', '--full', commit)).toBe('');
  });

  test('of a history that leaves ours before what we hold', async () => {
    const [gamma, alpha] = [await repository(), await repository()];
    const commits = history(gamma, 40);
    const first = await fetchAll(peerOf(gamma), alpha, { want: commits[39] });
    await takeAll(alpha, first, { commit: commits[39] ?? '', base: null });
    git(gamma, 'update-ref', 'refs/heads/log/gamma', commits[14] ?? '');
    const text = Array.from(
      { length: 25 },
      (_, at) => `commit refs/heads/log/gamma\ncommitter x <x@x> ${at} +0000\ndata 5\nother\n`,
    );
    execFileSync('git', ['--git-dir', gamma.gitDir, 'fast-import', '--quiet'], {
      input: text.map((one, at) => (at === 0 ? `${one}from refs/heads/log/gamma^0\n` : one)).join(''),
      env: childEnvironment(),
    });
    const commit = git(gamma, 'rev-parse', 'log/gamma');
    const fetched = await fetchAll(peerOf(gamma), alpha, { want: commit, haves: [commits[39] ?? ''] });
    const taken = await takeAll(alpha, fetched, { commit, base: commits[39] ?? '' });
    expect(taken).toMatchObject({ descends: false, clean: true });
    expect(taken.commits).toHaveLength(25);
  });

  test('of few commits asks once, and for all of them', async () => {
    const [gamma, alpha] = [await repository(), await repository()];
    const commits = history(gamma, 8);
    const peer = peerOf(gamma);
    const { connection } = peer;
    const few = { ...packBounds(8), deadlineMs: 60_000 };
    const wants = [commits.at(-1) ?? ''];
    const fetched = await fetchPack({ connection, repository: alpha, wants, haves: [], form: 'pack', ...few });
    expect(peer.asked.join()).not.toContain('deepen');
    valueOf(fetched).quarantine.remove();
  });

  test('is refused when a round brings less than was asked for: rounds would never end', async () => {
    const [gamma, alpha] = [await repository(), await repository()];
    const commits = history(gamma, 30);
    const lying = peerOf(
      gamma,
      (answer) => answer,
      (request) => request.replace('000edeepen 10', '000ddeepen 1'),
    );
    expect(await fetchAll(lying, alpha, { want: commits.at(-1) })).toMatchObject({
      ok: false,
      code: 'PROTOCOL',
      detail: 'the peer sent less than it was asked for',
    });
  });

  test('is refused when it is cut at a commit that is not there: its history has a hole', async () => {
    const [gamma, alpha] = [await repository(), await repository()];
    const commits = history(gamma, 30);
    const other = dataPacket(`shallow ${'5'.repeat(40)}`);
    const cut = Buffer.from(dataPacket(`shallow ${commits[20]}`));
    const peer = peerOf(gamma, (answer) => {
      const at = answer.indexOf(cut);
      expect(at).toBeGreaterThan(0);
      return Buffer.concat([answer.subarray(0, at), other, answer.subarray(at + cut.length)]);
    });
    // git finds that the parent of the last one did not come.
    expect(await fetchAll(peer, alpha, { want: commits.at(-1) })).toMatchObject({ ok: false, code: 'PACK_REFUSED' });
  });
});

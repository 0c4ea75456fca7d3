import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, describe, onTestFinished, test } from 'vitest';
import { dialDeadlineMs } from '../../../src/core/limits.ts';
import { listLogs } from '../../../src/store/git/refs.ts';
import { readLog } from '../../../src/store/logs/log-store.ts';
import { craig, hostAdd, otherOp, testSigner } from '../../lib/trust-ops.ts';
import { createObjectGate } from '../../../src/mesh/object-gate.ts';
import { createPeers } from '../../../src/mesh/peers.ts';
import { git, serveTrustFile, writeCommit, writeTree, type Folder } from './hostile.ts';
import { introduce, meshId, meshOps, startNode, type TestNode } from './node.ts';

/** Nothing is left of a fetch: no quarantine, no broken object, every object reachable is there. */
function expectClean(node: TestNode): void {
  const quarantine = join(node.repository.gitDir, 'quarantine');
  expect(existsSync(quarantine) ? readdirSync(quarantine) : []).toEqual([]);
  const fsck = execFileSync('git', ['--git-dir', node.repository.gitDir, 'fsck', '--strict', '--no-dangling'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  expect(fsck).toBe('');
}

async function texts(node: TestNode, log: string): Promise<number> {
  return (await readLog(node.repository, log)).lines.length;
}

describe('two nodes', () => {
  test('fetch each other over loopback; a second cycle changes nothing', async () => {
    const [alpha, beta] = [await startNode('alpha'), await startNode('beta')];
    introduce(alpha, beta);
    await alpha.append('one', 'two');
    await alpha.append('three');
    await beta.append('hello');
    const [atBeta] = await beta.cycle('alpha');
    expect(atBeta).toMatchObject({ peer: 'alpha', state: 'up', newEvents: 3, lines: { alpha: 3 }, alarms: [] });
    expect((await alpha.cycle('beta'))[0]).toMatchObject({
      peer: 'beta',
      state: 'up',
      newEvents: 1,
      lines: { beta: 1 },
    });
    expect(listLogs(alpha.repository)).toEqual(listLogs(beta.repository));
    expect(beta.tips.get('alpha')).toEqual(alpha.tips.get('alpha'));
    expect(await texts(beta, 'alpha')).toBe(3);
    expect((await beta.cycle('alpha'))[0]).toMatchObject({ state: 'up', newEvents: 0, alarms: [] });
    await alpha.append('four');
    expect((await beta.cycle('alpha'))[0]).toMatchObject({ state: 'up', newEvents: 1 });
    for (const node of [alpha, beta]) expectClean(node);
    expect(readdirSync(join(beta.repository.objectDir, 'pack')), 'small fetches leave no packs').toEqual([]);
  });

  test('hundreds of commits come as one pack, and single lines on top of it loose', async () => {
    const [alpha, beta] = [await startNode('alpha'), await startNode('beta')];
    introduce(alpha, beta);
    for (let index = 0; index < 200; index++) await alpha.append(`line ${index} ${'x'.repeat(500)}`);
    expect((await beta.cycle('alpha'))[0]).toMatchObject({ state: 'up', newEvents: 200 });
    expect(readdirSync(join(beta.repository.objectDir, 'pack')).filter((name) => name.endsWith('.pack'))).toHaveLength(
      1,
    );
    await alpha.append('one more');
    expect((await beta.cycle('alpha'))[0]).toMatchObject({ state: 'up', newEvents: 1 });
    expectClean(beta);
    expect(await texts(beta, 'alpha')).toBe(201);
  });

  test('a thousand lines in one commit are a few objects, and leave no pack', async () => {
    const [alpha, beta] = [await startNode('alpha'), await startNode('beta')];
    introduce(alpha, beta);
    await alpha.append('first');
    await beta.cycle('alpha');
    await alpha.append(...Array.from({ length: 1_000 }, (_, index) => `line ${index}`));
    expect((await beta.cycle('alpha'))[0]).toMatchObject({ state: 'up', newEvents: 1_000 });
    expect(readdirSync(join(beta.repository.objectDir, 'pack'))).toEqual([]);
    expectClean(beta);
  });
});

/** A port where somebody accepts and never says a word. */
async function silentPort(): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => void sockets.add(socket.on('error', () => undefined)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as { port: number }).port;
}

describe('three nodes', () => {
  test('a log comes through a relay, byte for byte, although its owner cannot be reached', async () => {
    const nodes = [await startNode('alpha'), await startNode('beta'), await startNode('gamma')] as const;
    const [alpha, beta, gamma] = nodes;
    introduce(...nodes);
    await alpha.append('one', 'two');
    await gamma.append('from gamma');
    await beta.cycle('alpha', 'gamma');
    await alpha.server.close();
    const outcomes = await gamma.cycle();
    expect(outcomes).toMatchObject([
      { peer: 'alpha', state: 'down', reason: { code: 'UNREACHABLE' } },
      { peer: 'beta', state: 'up', newEvents: 2, lines: { alpha: 2 } },
    ]);
    expect(gamma.tips.get('alpha')).toEqual(alpha.tips.get('alpha'));
    expectClean(gamma);
  });

  test('two peers that offer the same lines admit them once', async () => {
    const nodes = [await startNode('alpha'), await startNode('beta'), await startNode('gamma')] as const;
    const [alpha, beta, gamma] = nodes;
    introduce(...nodes);
    await alpha.append('one');
    await beta.cycle('alpha');
    for (let round = 0; round < 5; round++) {
      await alpha.append(`round ${round}`);
      await beta.cycle('alpha');
      const outcomes = await gamma.cycle();
      expect(outcomes.map(({ state }) => state)).toEqual(['up', 'up']);
      expect(outcomes.reduce((sum, { newEvents }) => sum + newEvents, 0)).toBe(round === 0 ? 2 : 1);
    }
    expect(gamma.admitted.flatMap(({ lines }) => lines.map(({ seq }) => seq))).toEqual([1, 2, 3, 4, 5, 6]);
    expectClean(gamma);
  });

  test('a relay is not blamed when its log has grown here by the time that what it offered is looked at', async () => {
    const nodes = [await startNode('alpha'), await startNode('beta'), await startNode('gamma')] as const;
    const [alpha, beta, gamma] = nodes;
    introduce(...nodes);
    await alpha.append('one');
    await gamma.cycle('alpha');
    await alpha.append('two');
    await beta.cycle('alpha');
    await alpha.append('three');
    let waits = true;
    // What beta offers is planned, and before it is asked for, alpha itself brings more.
    const use = async <T>(work: () => Promise<T>): Promise<T> => {
      if (waits) {
        waits = false;
        await gamma.cycle('alpha');
      }
      return work();
    };
    gamma.mesh = Object.assign(gamma.mesh, { gate: { ...createObjectGate(), use } });
    expect(await gamma.cycle('beta')).toMatchObject([{ peer: 'beta', state: 'up', alarms: [], newEvents: 0 }]);
    expect(waits).toBe(false);
    expect(gamma.tips.get('alpha')?.seq).toBe(3);
  });

  test('C1: a silent peer is given up at the deadline and delays nobody', async () => {
    const [alpha, beta] = [await startNode('alpha'), await startNode('beta', { deadlineMs: 6_000 })];
    introduce(alpha, beta);
    await alpha.append('one');
    beta.addresses.set('gamma', `ssh://127.0.0.1:${await silentPort()}`);
    const seen = new Promise<'alpha'>((resolve) => {
      const timer = setInterval(() => {
        if (beta.tips.has('alpha')) resolve('alpha');
      }, 5);
      onTestFinished(() => clearInterval(timer));
    });
    const cycle = beta.cycle();
    expect(await Promise.race([seen, cycle]), 'its line is there before the other is given up').toBe('alpha');
    expect(await cycle).toMatchObject([
      { peer: 'alpha', state: 'up', newEvents: 1 },
      { peer: 'gamma', state: 'down', reason: { code: 'TIMEOUT' } },
    ]);
  });

  test('D6: what one peer says that it holds moves no cursor: the data of another does, and the rest is no old news later', async () => {
    const nodes = [await startNode('alpha'), await startNode('beta'), await startNode('gamma')] as const;
    const [alpha, beta, gamma] = nodes;
    introduce(...nodes);
    await beta.append('1', '2', '3', '4', '5', '6', '7');
    await gamma.cycle('beta');
    const seven = gamma.tips.get('beta');
    // gamma begins anew: alpha says ten lines and has none, beta has seven of them.
    const fresh = await startNode('gamma');
    introduce(alpha, beta, fresh);
    const tip = { oid: '2'.repeat(40), seq: 10, link: '3'.repeat(64) };
    alpha.lie((heads) => ({ ...heads, heads: { ...heads.heads, beta: tip } }));
    const [fromAlpha, fromBeta] = await fresh.cycle();
    expect(fromAlpha).toMatchObject({ peer: 'alpha', newEvents: 0 });
    expect(fromBeta).toMatchObject({ peer: 'beta', state: 'up', newEvents: 7 });
    expect(fresh.tips.get('beta')).toEqual(seven);
    await beta.append('8', '9', '10');
    alpha.lie((heads) => heads);
    await alpha.cycle('beta');
    await beta.server.close();
    expect((await fresh.peers.cycle({ only: ['alpha'], busy: 'wait' }))[0]).toMatchObject({
      state: 'up',
      newEvents: 3,
    });
    expect(await texts(fresh, 'beta')).toBe(10);
    expectClean(fresh);
  });

  test('stopping gives up a cycle with a silent peer at once, and nothing is started afterwards', async () => {
    const [alpha, beta] = [await startNode('alpha'), await startNode('beta')];
    introduce(alpha, beta);
    beta.addresses.set('gamma', `ssh://127.0.0.1:${await silentPort()}`);
    const cycle = beta.cycle('gamma');
    const started = performance.now();
    await beta.peers.close();
    expect(await cycle).toMatchObject([{ peer: 'gamma', state: 'down' }]);
    // The silent one would have been waited for at least as long as a dial may take.
    expect(performance.now() - started).toBeLessThan(dialDeadlineMs);
    expect((await beta.cycle('alpha'))[0]).toMatchObject({ state: 'down', reason: { code: 'CLOSED' } });
    expect(alpha.server.connections()).toBe(0);
  });

  test('a peer without an address, at an odd address, with another key, or that does not know us is told apart', async () => {
    const [alpha, beta] = [await startNode('alpha'), await startNode('beta')];
    introduce(alpha, beta);
    expect((await beta.cycle('gamma'))[0]).toMatchObject({ state: 'down', reason: { code: 'NO_ADDRESS' } });
    beta.addresses.set('gamma', 'ssh://-oProxyCommand=x:1');
    expect((await beta.cycle('gamma'))[0]).toMatchObject({ state: 'down', reason: { code: 'NO_ADDRESS' } });
    beta.addresses.set('gamma', `ssh://127.0.0.1:${alpha.server.port}`);
    expect((await beta.cycle('gamma'))[0]).toMatchObject({ state: 'refused', reason: { code: 'HOST_KEY_MISMATCH' } });
    expect((await beta.cycle('mallory'))[0]).toMatchObject({ state: 'down', reason: { code: 'NOT_ENROLLED' } });
    const stranger = await startNode('gamma', { key: 77 });
    stranger.addresses.set('alpha', `ssh://127.0.0.1:${alpha.server.port}`);
    expect((await stranger.cycle('alpha'))[0]).toMatchObject({ state: 'refused', reason: { code: 'REFUSED_KEY' } });
  });
});

describe('trust first', () => {
  test('a host that was added elsewhere is known, and its log taken, in one cycle', async () => {
    const [alpha, beta] = [await startNode('alpha'), await startNode('beta', { ops: meshOps('beta') })];
    const gamma = await startNode('gamma');
    introduce(alpha, beta, gamma);
    await gamma.append('hello from gamma');
    await alpha.cycle('gamma');
    expect(beta.charter().hosts.has('gamma')).toBe(false);
    const [outcome] = await beta.cycle('alpha');
    expect(outcome).toMatchObject({ state: 'up', newEvents: 1, lines: { gamma: 1 } });
    expect(outcome?.trustAdded).toHaveLength(1);
    expect(beta.charter().hosts.has('gamma')).toBe(true);
    expect(beta.mesh.trust().hash).toBe(alpha.mesh.trust().hash);
    expectClean(beta);
  });

  test('an op that this version cannot apply is a loud alarm that names op and peer, in every cycle; the peer stays up', async () => {
    const [alpha, beta] = [await startNode('alpha'), await startNode('beta')];
    introduce(alpha, beta);
    await alpha.append('one');
    const op = otherOp({ mesh: meshId, by: craig, prev: [meshId], nonce: 500 }, 'host-rename', { name: 'gamma' });
    await serveTrustFile(alpha, op.id, `${op.text}\n`);
    for (let round = 0; round < 2; round++) {
      const [outcome] = await beta.cycle('alpha');
      expect(outcome).toMatchObject({ state: 'up', alarms: [{ code: 'OP_UNSUPPORTED', peer: 'alpha', op: op.id }] });
      expect(outcome?.alarms[0]?.detail).toContain('host-rename');
    }
    expect(beta.tips.get('alpha')?.seq).toBe(1);
  });

  test('an op that this version cannot apply goes on through hosts that cannot either, though all count the same ops', async () => {
    const [alpha, beta, gamma] = [await startNode('alpha'), await startNode('beta'), await startNode('gamma')];
    introduce(alpha, beta, gamma);
    const op = otherOp({ mesh: meshId, by: craig, prev: [meshId], nonce: 502 }, 'host-rename', { name: 'gamma' });
    await alpha.trust(op);
    expect(alpha.mesh.trust().hash).toBe(gamma.mesh.trust().hash);
    const news = [{ code: 'OP_UNSUPPORTED', op: op.id }];
    expect(await beta.cycle('alpha')).toMatchObject([{ state: 'up', alarms: news }]);
    expect(await gamma.cycle('beta')).toMatchObject([{ state: 'up', alarms: news }]);
    expect([...gamma.set().unsupported.keys()]).toEqual([op.id]);
    // Told as long as it is there, and never a reason to refuse the peer.
    expect(await gamma.cycle('beta')).toMatchObject([{ state: 'up', alarms: news }]);
    expect(gamma.mesh.trust()).toEqual(alpha.mesh.trust());
  });

  test('a forged op and a file that is not its op are alarms, and the good ones are taken', async () => {
    const [alpha, beta] = [await startNode('alpha'), await startNode('beta', { ops: meshOps('beta') })];
    introduce(alpha, beta);
    const mallory = testSigner('craig', 66);
    const forged = hostAdd({ mesh: meshId, by: mallory, prev: [meshId], nonce: 501 }, 'mallory', 66);
    await serveTrustFile(alpha, forged.id, `${forged.text}\n`);
    const [outcome] = await beta.cycle('alpha');
    expect(outcome).toMatchObject({ state: 'refused', alarms: [{ code: 'TRUST_OP', op: forged.id }] });
    expect(outcome?.trustAdded).toHaveLength(1);
    expect([...beta.charter().hosts.keys()]).toEqual(['alpha', 'beta', 'gamma']);
    await serveTrustFile(alpha, 'a'.repeat(64), `${forged.text}\n`);
    expect((await beta.cycle('alpha'))[0]?.alarms).toMatchObject([
      { code: 'TRUST_OP', op: 'a'.repeat(64) },
      { code: 'TRUST_OP', op: forged.id },
    ]);
  });

  test.each<[string, Folder]>([
    ['a file at the root', { README: 'x' }],
    ['a folder that is no prefix', { zz: { x: 'x' } }],
    ['an op in the folder of another', { ab: { [`${'c'.repeat(64)}.json`]: '{}\n' } }],
    ['a file without newline', { aa: { [`${'a'.repeat(64)}.json`]: '{}' } }],
    ['an op of 100 kB', { aa: { [`${'a'.repeat(64)}.json`]: `${'x'.repeat(100_000)}\n` } }],
  ])('a trust branch with %s is refused; the logs are fetched all the same', async (_name, folder) => {
    const [alpha, beta] = [await startNode('alpha'), await startNode('beta')];
    introduce(alpha, beta);
    await alpha.append('one');
    const oid = await writeCommit(alpha.repository, await writeTree(alpha.repository, folder));
    alpha.lie((heads) => ({ ...heads, trust: { oid, hash: 'e'.repeat(64) } }));
    const [outcome] = await beta.cycle('alpha');
    expect(outcome).toMatchObject({ state: 'refused', newEvents: 1, alarms: [{ code: 'TRUST_SHAPE', peer: 'alpha' }] });
    expectClean(beta);
  });
});

test('damage in our own copy is ours: it is named, the peer is not blamed, nothing is overwritten', async () => {
  const [alpha, beta] = [await startNode('alpha'), await startNode('beta')];
  introduce(alpha, beta);
  await alpha.append('one');
  await beta.cycle('alpha');
  await alpha.append('two');
  const blob = git(beta.repository, 'rev-parse', 'log/alpha:00/00/00.jsonl');
  const file = join(beta.repository.objectDir, blob.slice(0, 2), blob.slice(2));
  chmodSync(file, 0o600);
  writeFileSync(file, '');
  // What runs after a restart: nothing of the log is in memory.
  const peers = createPeers({ node: beta.mesh, addressesOf: (host) => [beta.addresses.get(host) ?? []].flat() });
  onTestFinished(() => peers.close());
  const [outcome] = await peers.cycle({ only: ['alpha'] });
  expect(outcome).toMatchObject({ state: 'down', newEvents: 0, alarms: [], reason: { code: 'LOCAL' } });
  expect(outcome?.reason?.detail).toMatch(/log alpha: .*OBJECT_DAMAGED/);
  expect(git(beta.repository, 'rev-parse', 'log/alpha')).toBe(beta.tips.get('alpha')?.oid);
});

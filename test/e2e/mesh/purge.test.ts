/** Bodies that are purged on some hosts and not yet on others: they never come back, and nobody else is hurt by the holes. */
import { execFileSync } from 'node:child_process';
import { dirname } from 'node:path';
import { describe, expect, test } from 'vitest';
import { purgePatienceMs } from '../../../src/core/limits.ts';
import { parseLine } from '../../../src/core/line.ts';
import { createObjectGate } from '../../../src/mesh/object-gate.ts';
import { dropUnreachable } from '../../../src/store/git/drop-unreachable.ts';
import { rewriteLog } from '../../../src/store/logs/log-rewrite.ts';
import { readLog } from '../../../src/store/logs/log-store.ts';
import { findBytes } from '../../lib/byte-search.ts';
import { headsFor, say, serveAs } from './impostor.ts';
import { introduce, meshId, startNode, type TestNode } from './node.ts';

const secret = 'the-word-that-must-go';

/** Purges line `seq` of alpha's log, as this node holds it. */
async function purge(node: TestNode, seq: number): Promise<void> {
  node.purged.add(await idAt(node, seq));
  const context = { repository: node.repository, host: 'alpha', meshId, purged: node.purged };
  const rewritten = await rewriteLog(context);
  const tip = node.tips.get('alpha');
  if (rewritten !== undefined && tip !== undefined) node.tips.set('alpha', { ...tip, oid: rewritten.oid });
  await dropUnreachable(node.repository);
}

async function idAt(node: TestNode, seq: number): Promise<string> {
  const line = parseLine((await readLog(node.repository, 'alpha')).lines[seq - 1] ?? '', meshId);
  if (!line.ok) throw new Error(line.detail);
  return line.value.id;
}

async function holes(node: TestNode): Promise<number[]> {
  const { lines } = await readLog(node.repository, 'alpha');
  return lines.flatMap((line, index) => (/"body":"[0-9a-f]{64}"/.test(String(line)) ? [index + 1] : []));
}

function expectNoTrace(node: TestNode): void {
  const { gitDir } = node.repository;
  expect(findBytes(dirname(gitDir), secret, gitDir)).toEqual([]);
  const fsck = ['--git-dir', gitDir, 'fsck', '--strict', '--no-dangling'];
  expect(execFileSync('git', fsck, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })).toBe('');
}

async function threeNodes(): Promise<readonly [TestNode, TestNode, TestNode]> {
  const nodes = [await startNode('alpha'), await startNode('beta'), await startNode('gamma')] as const;
  introduce(...nodes);
  await nodes[0].append('one', 'two');
  await nodes[0].append(secret);
  await nodes[0].append('four', 'five');
  return nodes;
}

describe('a purge in the mesh', () => {
  test('a peer that has not purged yet brings no body back, however much of its log is new', async () => {
    const [alpha, beta, gamma] = await threeNodes();
    await beta.cycle('alpha');
    await purge(beta, 3);
    expectNoTrace(beta);
    for (const texts of [['six'], ['seven', 'eight']]) {
      await alpha.append(...texts);
      expect((await beta.cycle('alpha'))[0]).toMatchObject({ state: 'up', newEvents: texts.length, alarms: [] });
      expect(await holes(beta)).toEqual([3]);
      expect(beta.tips.get('alpha')?.link).toBe(alpha.tips.get('alpha')?.link);
      expectNoTrace(beta);
    }
    gamma.purged.add(await idAt(alpha, 3));
    expect((await gamma.cycle('alpha'))[0]).toMatchObject({ state: 'up', newEvents: 8, alarms: [] });
    expect(gamma.admitted[0]?.lines[2]).toMatchObject({ fault: 'HOLE', body: null });
    expectNoTrace(gamma);
    expect(gamma.tips.get('alpha')?.oid, 'the same lines, the same commit').toBe(beta.tips.get('alpha')?.oid);
  });

  test('hundreds of commits come as holes too where a purge names them', async () => {
    const [alpha, beta] = await threeNodes();
    for (let index = 0; index < 180; index += 1) await alpha.append(`line ${index} ${'x'.repeat(300)}`);
    beta.purged.add(await idAt(alpha, 3));
    expect((await beta.cycle('alpha'))[0]).toMatchObject({ state: 'up', newEvents: 185, alarms: [] });
    expectNoTrace(beta);
    await alpha.append('one more');
    expect((await beta.cycle('alpha'))[0]).toMatchObject({ state: 'up', newEvents: 1, alarms: [] });
    expectNoTrace(beta);
  });

  test('hosts that purged at the same tip hold the same commit and go on from it', async () => {
    const [alpha, beta, gamma] = await threeNodes();
    await beta.cycle('alpha');
    await gamma.cycle('alpha');
    for (const node of [alpha, beta, gamma]) await purge(node, 3);
    expect(new Set([alpha, beta, gamma].map((node) => node.tips.get('alpha')?.oid)).size).toBe(1);
    await alpha.append('six');
    expect((await beta.cycle('alpha'))[0]).toMatchObject({ state: 'up', newEvents: 1, alarms: [] });
    expect((await gamma.cycle('beta'))[0]).toMatchObject({ state: 'up', newEvents: 1, alarms: [] });
    for (const node of [alpha, beta, gamma]) expectNoTrace(node);
  });

  test('a restored host takes its own log from a peer that has not purged yet, with holes', async () => {
    const [alpha, beta] = await threeNodes();
    await beta.cycle('alpha');
    const restored = await startNode('alpha');
    introduce(restored, beta);
    Object.assign(restored.mesh, { aloneWithOwnLog: (_: number, work: () => Promise<boolean>) => work() });
    restored.purged.add(await idAt(beta, 3));
    expect((await restored.cycle('beta'))[0]).toMatchObject({ state: 'up', alarms: [] });
    expect([await holes(restored), restored.tips.get('alpha')?.link]).toEqual([[3], alpha.tips.get('alpha')?.link]);
    expectNoTrace(restored);
    await purge(beta, 3);
    expect(beta.tips.get('alpha')?.oid, 'the same lines, the same commit').toBe(restored.tips.get('alpha')?.oid);
  });

  test('hosts that purged at different tips find together again', async () => {
    const [alpha, beta] = await threeNodes();
    await beta.cycle('alpha');
    await alpha.append('six');
    for (const node of [alpha, beta]) await purge(node, 3);
    expect((await beta.cycle('alpha'))[0]).toMatchObject({ state: 'up', newEvents: 1, alarms: [] });
    expect(beta.tips.get('alpha')).toEqual(alpha.tips.get('alpha'));
    await alpha.append('seven');
    expect((await beta.cycle('alpha'))[0]).toMatchObject({ state: 'up', newEvents: 1, alarms: [] });
    for (const node of [alpha, beta]) expectNoTrace(node);
  });

  test('a peer that sends nothing of what it promised keeps no purge waiting, and is asked again', async () => {
    const [alpha, beta] = await threeNodes();
    const asked = Promise.withResolvers<undefined>();
    const tip = alpha.tips.get('alpha');
    const silent = await serveAs('alpha', (command, channel) => {
      if (command === 'memd heads')
        say(channel, headsFor(beta, 'alpha', { heads: tip === undefined ? {} : { alpha: tip } }));
      else if (command.includes('upload-pack')) asked.resolve(undefined);
    });
    const gate = createObjectGate();
    Object.assign(beta.mesh, { gate });
    beta.addresses.set('alpha', silent.url);
    const cycle = beta.cycle('alpha');
    await asked.promise;
    const start = performance.now();
    await gate.alone(async () => undefined);
    expect(performance.now() - start).toBeLessThan(purgePatienceMs + 5_000);
    expect((await cycle)[0]).toMatchObject({ state: 'down', newEvents: 0, alarms: [] });
    introduce(alpha, beta);
    expect((await beta.cycle('alpha'))[0]).toMatchObject({ state: 'up', newEvents: 5 });
  });

  test('R0: a hole that no purge names overwrites no body, ends what is taken, and another peer is asked', async () => {
    const [alpha, beta, gamma] = await threeNodes();
    await beta.cycle('alpha');
    await purge(alpha, 3);
    await alpha.append('six');
    const [atBeta] = await beta.cycle('alpha');
    expect(atBeta).toMatchObject({
      state: 'refused',
      newEvents: 0,
      alarms: [{ code: 'LOG_CUT', log: 'alpha', seq: 3 }],
    });
    expect([await holes(beta), beta.tips.get('alpha')?.seq]).toEqual([[], 5]);
    expect((await gamma.cycle('alpha'))[0]).toMatchObject({ state: 'refused', newEvents: 0 });
    expect((await gamma.cycle('beta'))[0]).toMatchObject({ state: 'up', newEvents: 5, alarms: [] });
    expect(await holes(gamma)).toEqual([]);
    beta.purged.add(await idAt(beta, 3));
    await purge(beta, 3);
    const later = await startNode('gamma');
    introduce(later, beta);
    later.purged.add(await idAt(beta, 3));
    expect((await later.cycle('beta'))[0]).toMatchObject({ state: 'up', newEvents: 5, alarms: [] });
  });
});

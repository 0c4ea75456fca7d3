import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, describe, test } from 'vitest';
import { listLogs } from '../../../src/store/git/refs.ts';
import { readLog } from '../../../src/store/log-store.ts';
import { introduce, startNode, type TestNode } from './node.ts';

/** Nothing is left of a fetch: no quarantine, no broken object, every object reachable is there. */
function expectClean(node: TestNode): void {
  const quarantine = join(node.repository.gitDir, 'quarantine');
  expect(existsSync(quarantine) ? readdirSync(quarantine) : []).toEqual([]);
  const fsck = execFileSync('git', ['--git-dir', node.repository.gitDir, 'fsck', '--strict', '--no-dangling'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
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
    expect((await alpha.cycle('beta'))[0]).toMatchObject({ peer: 'beta', state: 'up', newEvents: 1, lines: { beta: 1 } });
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
    expect(readdirSync(join(beta.repository.objectDir, 'pack')).filter((name) => name.endsWith('.pack'))).toHaveLength(1);
    await alpha.append('one more');
    expect((await beta.cycle('alpha'))[0]).toMatchObject({ state: 'up', newEvents: 1 });
    expectClean(beta);
    expect(await texts(beta, 'alpha')).toBe(201);
  });
});

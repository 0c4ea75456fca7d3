/** Leaving: what was said last is not lost by it, memd ends, and nothing is deleted. */
import { existsSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { converge, enrol } from '../../drills/lib/hosts.ts';
import { openBench } from '../lib/hosts-bench.ts';

const bench = openBench();

test(
  'I4: a host leaves once somebody else holds what it said last; its home stays and can be read',
  { timeout: 120_000 },
  async () => {
    const [alpha, beta] = [await bench.lay('alpha'), await bench.lay('beta')];
    const { mesh } = await alpha.json<{ mesh: string }>('init', '--host', 'alpha', '--listen', alpha.address);
    await alpha.start();
    await enrol(alpha, beta, mesh);
    await alpha.stop();
    await beta.json('lesson', 'lesson/one', 'said while alone');
    await beta.start();
    const before = readdirSync(beta.home).toSorted();

    const refused = await beta.refused(5, ['leave']);
    expect(refused).toMatchObject({ code: 'NOT_REPLICATED', message: expect.stringContaining('line 1 of beta') });
    expect(beta.memd().alive()).toBe(true);

    await alpha.start();
    await converge([alpha, beta]);
    await converge([alpha, beta]);
    const left = await beta.json<{ left: boolean; next: readonly string[]; stopped: string; held: string }>('leave');
    expect(left).toMatchObject({
      left: true,
      mesh,
      host: 'beta',
      stopped: 'memd was ended',
      held: expect.stringContaining('1 of 1 peers'),
    });
    expect(left.next.join('\n')).toContain('memctl host revoke beta');
    expect(left.next.join('\n')).toContain(`rm -r ${beta.home}`);
    expect(await beta.memd().ended).toBe(0);
    expect(
      readdirSync(beta.home)
        .toSorted()
        .filter((name) => !/lock|sock|sqlite|peers|marker/.test(name)),
    ).toEqual(before.filter((name) => !/lock|sock|sqlite|peers|marker/.test(name)));
    expect(await beta.json('recall', 'lesson/one')).toMatchObject({ status: 'served' });
    // Once more: nothing runs, nothing is wrong.
    expect(await beta.json('leave', '--force')).toMatchObject({ left: true, stopped: 'nothing was running' });
    expect(existsSync(beta.repository)).toBe(true);
  },
);

test('the last host of a mesh is told that its home is the only copy', { timeout: 60_000 }, async () => {
  const only = await bench.lay('only');
  await only.json('init', '--host', 'only', '--listen', only.address);
  await only.json('lesson', 'lesson/one', 'x');
  expect(await only.json('leave')).toMatchObject({
    left: true,
    held: expect.stringContaining('only copy of all 1 lines'),
  });
});

import { expect, onTestFinished, test } from 'vitest';
import { rulesVersion } from '../../../../src/core/fold/state.ts';
import { openDerived } from '../../../../src/daemon/beliefs/derived.ts';
import { initRepository } from '../../../../src/store/git/repository.ts';
import { createHome } from '../../../../src/store/home/home.ts';
import { beliefsOf, newWorld, trust } from '../../../lib/fold-builders.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';

test('rows that were made under other rules do not pass for current: their root is another one', async () => {
  const world = newWorld();
  world.say('alpha', 'assert', 'note/one', { value: 'v1' });
  const { fold } = beliefsOf(world);
  const home = createHome(temporaryFolder());
  const repository = await initRepository(home.repository, { host: 'alpha' });
  const manifests = (): undefined => undefined;
  const derived = openDerived({ home, repository, log: undefined, latest: () => Promise.resolve(fold), manifests });
  onTestFinished(() => derived.close());
  const from = { oids: { alpha: 'a'.repeat(40) }, trust, rules: rulesVersion, cuts: [] };
  derived.touchAll();
  await derived.flush(fold, () => ({ ...from, tips: {}, damaged: new Set() }));
  expect(derived.isCurrent(from)).toBe(true);
  expect(derived.isCurrent({ ...from, rules: rulesVersion - 1 })).toBe(false);
  expect(derived.isCurrent({ ...from, trust: 'f'.repeat(64) })).toBe(false);
});

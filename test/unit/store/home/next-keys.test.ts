import { expect, test } from 'vitest';
import type { Home } from '../../../../src/store/home/home.ts';
import { createKeys, readKeys, type HostKeys } from '../../../../src/store/home/keys.ts';
import {
  createNextKeys,
  forgetLastSshKey,
  readLastSshKey,
  takeNextKeys,
} from '../../../../src/store/home/next-keys.ts';
import { temporaryHome } from '../../../lib/temporary.ts';

async function rekey(home: Home): Promise<HostKeys> {
  const next = await createNextKeys(home, 'alpha');
  await takeNextKeys(home, { sign: next.sign.publicKey, ssh: next.ssh.publicKey });
  return readKeys(home);
}

test('of several rekeys that nobody has heard of, the ssh key that peers know is kept until it is given up', async () => {
  const home = temporaryHome();
  const first = await createKeys(home, { host: 'alpha' });
  const second = await rekey(home);
  const third = await rekey(home);
  expect(new Set([first, second, third].map(({ ssh }) => ssh.pem)).size).toBe(3);
  expect(readLastSshKey(home)?.pem).toBe(first.ssh.pem);
  await forgetLastSshKey(home);
  expect(readLastSshKey(home)).toBeUndefined();
  await rekey(home);
  expect(readLastSshKey(home)?.pem).toBe(third.ssh.pem);
});

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isolated, layHost, runMemctl, type RunOptions } from '../../drills/lib/hosts.ts';
import { temporaryFolder } from '../lib/temporary.ts';

test('what a client names as the note of sshd is read only if it is a small file', async () => {
  const folder = temporaryFolder();
  const alpha = await layHost({ folder, name: 'alpha', started: () => undefined });
  await alpha.json('init', '--host', 'alpha', '--listen', alpha.address);
  const pipe = join(folder, 'pipe');
  expect(spawnSync('mkfifo', [pipe]).status).toBe(0);
  for (const file of [pipe, '/dev/zero', folder]) {
    const env: RunOptions['env'] = { ...isolated(folder), SSH_ORIGINAL_COMMAND: 'memd heads', SSH_USER_AUTH: file };
    const { code, stderr } = await runMemctl(['--home', alpha.home, 'serve', '--stdio'], { env });
    expect({ file, code }).toEqual({ file, code: 1 });
    expect(stderr).toContain('SSH_USER_AUTH names no file of sshd');
  }
});

import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { writeExport } from '../../../../src/daemon/backup/export.ts';
import { exportedMesh } from '../../../lib/fault-rows-backup.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';

test('what a killed export left beside its place goes with the next one; that of a process that runs stays', async () => {
  const parent = temporaryFolder();
  const { pid: dead } = spawnSync(process.execPath, ['--version']);
  const running = process.ppid;
  for (const pid of [dead, running]) mkdirSync(path.join(parent, `backup.tmp-${pid}`, 'logs'), { recursive: true });
  mkdirSync(path.join(parent, 'backup.tmp-mine'));
  await writeExport(exportedMesh, { folder: path.join(parent, 'backup'), at: '2026-07-27T12:00:00.000Z' });
  expect(readdirSync(parent).toSorted()).toEqual(['backup', 'backup.tmp-mine', `backup.tmp-${running}`].toSorted());
});

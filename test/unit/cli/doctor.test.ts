import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { dataChecks } from '../../../src/cli/doctor/data-checks.ts';
import { NotChecked, openRoom, runChecks, type Room } from '../../../src/cli/doctor/checks.ts';
import { machineChecks } from '../../../src/cli/doctor/machine-checks.ts';
import type { Snapshot, SnapshotLog } from '../../../src/daemon/beliefs/snapshot.ts';
import { temporaryFolder, temporaryHome } from '../../lib/temporary.ts';

const now = Date.parse('2026-07-27T12:00:00.000Z');

function roomWith(more: Partial<Room> = {}): Room {
  const room = openRoom({ dir: temporaryHome().dir, env: process.env, now, progress: () => undefined });
  return { ...room, identity: () => ({ host: 'alpha', mesh: null, listen: null, address: '', signer: null }), ...more };
}

const log = (host: string, at: string): SnapshotLog => ({
  host,
  oid: '',
  lines: [],
  links: [],
  at,
  seq: 1,
  link: '',
  problem: undefined,
  damaged: false,
});
const holding = (...logs: readonly SnapshotLog[]): Room =>
  roomWith({ snapshot: () => Promise.resolve({ logs } as unknown as Snapshot) });

async function look(checks: typeof dataChecks, name: string, room: Room) {
  const { checks: made, notChecked } = await runChecks(
    checks.filter((check) => check.name === name),
    room,
  );
  return made[0] ?? notChecked;
}

describe('doctor', () => {
  test('the clock is judged by the last events: own ones first, a little ahead is no fault', async () => {
    const soon = '2026-07-27T12:04:00.000Z';
    const later = '2082-01-01T00:00:00.000Z';
    expect(await look(dataChecks, 'clock', holding(log('alpha', soon)))).toMatchObject({ ok: true });
    expect(await look(dataChecks, 'clock', holding(log('alpha', later)))).toMatchObject({
      ok: false,
      detail: expect.stringContaining("this host's own last event 2082") as unknown,
    });
    expect(await look(dataChecks, 'clock', holding(log('alpha', soon), log('beta', later)))).toMatchObject({
      ok: false,
      detail: expect.stringContaining('the last event of beta 2082') as unknown,
    });
    expect(await look(dataChecks, 'clock', { ...holding(), now: 0 })).toMatchObject({ ok: false });
  });

  test('programs that are missing or too old are named with the fix', async () => {
    const folder = temporaryFolder();
    const path = (env: string): Room => roomWith({ env: { PATH: env } });
    expect(await look(machineChecks, 'git', path(folder))).toMatchObject({
      ok: false,
      fix: 'install git 2.36 or newer',
    });
    writeFileSync(join(folder, 'git'), '#!/bin/sh\necho git version 2.25.1\n', { mode: 0o755 });
    expect(await look(machineChecks, 'git', path(folder))).toMatchObject({
      ok: false,
      detail: `git version 2.25.1, ${folder}/git`,
    });
    writeFileSync(join(folder, 'git'), '#!/bin/sh\necho git version 3.0\n', { mode: 0o755 });
    expect(await look(machineChecks, 'git', path(folder))).toMatchObject({ ok: true });
    expect(await look(machineChecks, 'ssh', path(folder))).toMatchObject({
      ok: false,
      detail: expect.stringContaining('ssh-keygen') as unknown,
    });
  });

  test('what throws is a finding; what cannot be looked at is said', async () => {
    const room = roomWith();
    const found = await runChecks(
      [
        { name: 'a', look: () => Promise.reject(new NotChecked('no reason')) },
        {
          name: 'b',
          look: () => {
            throw new Error('odd');
          },
        },
      ],
      room,
    );
    expect(found.notChecked).toEqual(['a: no reason']);
    expect(found.checks).toMatchObject([{ name: 'b', ok: false, detail: 'INTERNAL: odd' }]);
  });

  test('a database of another version, none, and one that is a folder', async () => {
    const room = roomWith();
    expect(await look(dataChecks, 'database', room)).toMatchObject({
      ok: true,
      detail: expect.stringContaining('not made yet') as unknown,
    });
    mkdirSync(room.home.database);
    expect(await look(dataChecks, 'database', room)).toMatchObject({ ok: false, fix: 'it is derived: memctl rebuild' });
  });
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { lockHome, lockHomeSoon, readLockOwner } from '../../../../src/store/home/home-lock.ts';
import type { Home } from '../../../../src/store/home/home.ts';
import { lockPatience } from '../../../../src/store/home/lock-note.ts';
import { temporaryHome } from '../../../lib/temporary.ts';

const source = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../../../src/store/home');

/** Another process that takes the lock, says so, and holds it until it is killed. */
async function holdElsewhere(home: Home): Promise<{ pid: number; kill: () => Promise<void> }> {
  const script = `
    const { lockHome } = await import(${JSON.stringify(`${source}/home-lock.ts`)});
    const { openHome } = await import(${JSON.stringify(`${source}/home.ts`)});
    lockHome(openHome(${JSON.stringify(home.dir)}), { program: 'memd', now: new Date(0) });
    console.log('held');
    setInterval(() => undefined, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return {
    pid: child.pid ?? 0,
    kill: async () => {
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

const options = { program: 'memctl', now: new Date('2026-01-02T03:04:05.678Z') };

describe('home lock', () => {
  test('it is held by one process; the refusal says by whom and what to do', async () => {
    const home = temporaryHome();
    const other = await holdElsewhere(home);
    expect(() => lockHome(home, options)).toThrow(
      expect.objectContaining({
        code: 'HOME_LOCKED',
        message: expect.stringMatching(new RegExp(`memd, process ${other.pid}, since 1970`)),
        hint: expect.stringContaining(`kill ${other.pid}`),
      }),
    );
    // The refused process must not have taken the note away from the holder.
    expect(readLockOwner(home)?.pid).toBe(other.pid);
  });

  test('SIGKILL releases it at once', async () => {
    const home = temporaryHome();
    const other = await holdElsewhere(home);
    await other.kill();
    const lock = lockHome(home, options);
    expect(readLockOwner(home)).toEqual({ pid: process.pid, since: '2026-01-02T03:04:05.678Z', program: 'memctl' });
    lock.release();
    expect(readLockOwner(home)).toBeUndefined();
  });

  test('it can be waited for: the wait is told once, with the holder, and ends with the lock or the refusal', async () => {
    const home = temporaryHome();
    const first = lockHome(home, options);
    const told: (string | undefined)[] = [];
    const wait = { program: 'memd', onWait: (): void => void told.push(readLockOwner(home)?.program) };
    const second = lockHomeSoon(home, wait);
    expect(told).toEqual(['memctl']);
    first.release();
    (await second).release();
    expect(told).toHaveLength(1);

    const third = lockHome(home, options);
    await expect(lockHomeSoon(home, { ...wait, patience: { isOver: () => true } })).rejects.toMatchObject({
      code: 'HOME_LOCKED',
    });
    third.release();
  });

  test('a second lock in the same process is refused too, and release gives it free', () => {
    const home = temporaryHome();
    const lock = lockHome(home, options);
    expect(() => lockHome(home, options)).toThrow(expect.objectContaining({ code: 'HOME_LOCKED' }));
    lock.release();
    lock.release();
    lockHome(home, options).release();
  });

  test('the lock file and its note are closed to others', () => {
    const home = temporaryHome();
    const lock = lockHome(home, options);
    for (const file of [home.lock, home.lockNote]) expect(fs.statSync(file).mode & 0o077).toBe(0);
    lock.release();
  });

  test('a foreign file in its place is named, not removed', () => {
    const home = temporaryHome();
    fs.writeFileSync(home.lock, 'this is no lock file at all, but somebody wrote it\n'.repeat(100));
    expect(() => lockHome(home, options)).toThrow(expect.objectContaining({ code: 'HOME_LOCK_DAMAGED' }));
    expect(fs.existsSync(home.lock)).toBe(true);
  });

  test('a folder or a link in its place is named; nothing behind a link is touched', () => {
    const home = temporaryHome();
    const outside = `${home.dir}.outside`;
    fs.writeFileSync(outside, '', { mode: 0o644 });
    fs.symlinkSync(outside, home.lock);
    const damaged = expect.objectContaining({ code: 'HOME_LOCK_DAMAGED' }) as unknown;
    expect(() => lockHome(home, options)).toThrow(damaged);
    expect(fs.statSync(outside).mode & 0o777).toBe(0o644);
    fs.rmSync(outside);
    fs.rmSync(home.lock);
    fs.mkdirSync(home.lock);
    expect(() => lockHome(home, options)).toThrow(damaged);
  });

  test('a note that is nonsense does not hide that the home is locked', () => {
    const home = temporaryHome();
    const lock = lockHome(home, options);
    fs.writeFileSync(home.lockNote, '{"pid":"\u001b[2J"}');
    expect(() => lockHome(home, options)).toThrow(
      expect.objectContaining({ code: 'HOME_LOCKED', message: expect.stringContaining('another process') }),
    );
    lock.release();
  });
});

describe('patience with a home in use', () => {
  const holder = (home: Home, pid: number): void =>
    fs.writeFileSync(home.lockNote, JSON.stringify({ pid, since: '2026-01-02T03:04:05.678Z', program: 'memctl' }));

  test('ends after two seconds with one holder, and begins anew with the next', () => {
    const home = temporaryHome();
    let now = 0;
    const patience = lockPatience(home, () => now);
    holder(home, 1);
    expect(patience.isOver()).toBe(false);
    now = 1_999;
    expect(patience.isOver()).toBe(false);
    // A lock without a note yet is no new holder.
    fs.rmSync(home.lockNote);
    expect(patience.isOver()).toBe(false);
    holder(home, 2);
    expect(patience.isOver()).toBe(false);
    now = 3_998;
    expect(patience.isOver()).toBe(false);
    now = 3_999;
    expect(patience.isOver()).toBe(true);
  });

  test('ends after half a minute, however many come', () => {
    const home = temporaryHome();
    let now = 0;
    const patience = lockPatience(home, () => now);
    for (let pid = 1; pid < 30; pid += 1) {
      holder(home, pid);
      now = pid * 1_000;
      expect(patience.isOver()).toBe(false);
    }
    holder(home, 30);
    now = 30_000;
    expect(patience.isOver()).toBe(true);
  });
});

/** A disk without room: what is asked to be written is refused, what is known can be asked, and room is all it takes. */
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';

const bench = openBench();
const disk = (): string => join(bench.folder(), 'disk');
const mounts = (): boolean => {
  mkdirSync(disk(), { recursive: true });
  return spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=12m,mode=0700', 'tmpfs', disk()]).status === 0;
};
let mounted = false;

beforeAll(() => {
  mounted = process.getuid?.() === 0 && mounts();
});
afterAll(() => {
  if (mounted) spawnSync('umount', ['-l', disk()]);
});

/** Takes all room that is left. @returns what gives it back. */
function fill(): () => void {
  const file = join(disk(), 'filler');
  const descriptor = openSync(file, 'w');
  for (const size of [65_536, 4_096, 1]) {
    try {
      for (;;) writeSync(descriptor, Buffer.alloc(size));
    } catch {
      // Full for this size.
    }
  }
  closeSync(descriptor);
  return () => rmSync(file);
}

const event = (n: number): Record<string, string> => ({
  kind: 'lesson',
  subject: `lesson/n${n}`,
  content: `rule ${n}`,
  text: 'y'.repeat(5_000),
});

async function requireReadable(host: BenchHost): Promise<void> {
  expect(await host.json('recall', 'lesson/n1')).toMatchObject({ status: 'served' });
  expect((await host.ctl('log', '--limit', '3')).code).toBe(0);
  expect((await host.ctl('parks')).code).toBe(0);
  expect((await host.ctl('index')).stdout).toContain('rule 1');
  expect((await host.ctl('verify')).code).toBe(0);
  expect((await host.ctl('status')).code).toBe(0);
}

test.for(['with memd', 'without memd'])(
  '%s (needs root for a small disk)',
  { timeout: 60_000 },
  async (how, { skip }) => {
    skip(!mounted, 'no small disk can be mounted here');
    const host = await bench.lay(`disk/${how.replaceAll(' ', '-')}`);
    await host.json('init', '--host', 'full', '--listen', host.address);
    if (how === 'with memd') await host.start();
    await host.append([1, 2, 3].map((n) => JSON.stringify(event(n))).join('\n'));
    await host.ctl('index');

    const free = fill();
    const input = JSON.stringify(event(4));
    for (let tries = 0; tries < 3; tries += 1) {
      expect(await host.refused(1, ['append', '--file', '-'], { input })).toMatchObject({
        code: 'DISK_FULL',
        message: expect.stringMatching(/ENOSPC|disk is full/),
        hint: expect.stringContaining('free some space'),
      });
    }
    // Opening the database takes some room: where there is none, it is made in memory.
    await requireReadable(host);
    expect(await host.json('status')).toMatchObject({ alarms: [{ kind: 'DISK_FULL' }] });
    free();
    // No room is no damage: nothing was given up.
    expect(existsSync(join(host.home, 'state.sqlite.damaged'))).toBe(false);

    await host.append(input);
    expect(await host.json('recall', 'lesson/n4')).toMatchObject({ status: 'served' });
    expect(await host.json('verify', '--deep')).toMatchObject({ ok: true, logs: { full: { lines: 4 } } });
    await expect.poll(async () => (await host.json<{ alarms: unknown[] }>('status')).alarms).toEqual([]);
    if (how === 'with memd') expect(await host.stop()).toBe(0);
  },
);

/** A home whose path is longer than a socket may have: memd, memctl, hooks, MCP and the service, from any folder. */
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { newWorld, type World } from '../lib/memctl.ts';

const memctl = fileURLToPath(new URL('../../bin/memctl', import.meta.url));

/** A world whose home has a path of about so many bytes, of folders as long as they may be. */
function deepWorld(bytes: number): World {
  const world = newWorld();
  let home = world.folder;
  while (home.length < bytes - 1) home = join(home, 'd'.repeat(Math.min(240, bytes - home.length - 1)));
  mkdirSync(join(home, '..'), { recursive: true });
  return deepen(world, home);
}

function deepen(world: World, home: string): World {
  // The environment of a world is what its commands get: one entry decides where the home is.
  (world.env as Record<string, string>)['MEMD_HOME'] = home;
  return { ...world, home };
}

/** Runs memctl with input. */
function feed(
  world: World,
  args: readonly string[],
  input: string,
): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [memctl, ...args],
      { cwd: '/', env: { ...world.env } },
      (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
      },
    );
    child.stdin?.end(input);
  });
}

describe.skipIf(process.platform !== 'linux')('a deep home (on Linux)', () => {
  test.each([108, 300, 479])('of about %i bytes', { timeout: 120_000 }, async (bytes) => {
    const world = deepWorld(bytes);
    expect((await world.run(['init', '--host', 'alpha', '--listen', '127.0.0.1:0'])).code).toBe(0);
    expect(await world.json(['lesson', 'lesson/one', 'Without memd'], { cwd: '/' })).toMatchObject({ code: 0 });
    await world.memd();
    const status = await world.json(['status'], { cwd: '/' });
    expect(status).toMatchObject({ code: 0, value: { daemon: true } });
    expect(await world.json(['lesson', 'lesson/two', 'With memd'], { cwd: '/usr' })).toMatchObject({
      value: { seq: 2 },
    });
    expect((await world.json(['recall', 'lesson/two'], { cwd: '/' })).value).toMatchObject({ status: 'served' });
    const checks = (await world.json(['doctor'], { cwd: '/' })).value['checks'] as {
      name: string;
      ok: boolean;
      detail: string;
    }[];
    expect(checks.filter(({ name, ok }) => !ok && name !== 'operator key')).toEqual([]);
    expect(checks.find(({ name }) => name === 'writable')?.detail).toContain('shorter way');
    expect(checks.find(({ name }) => name === 'memd')?.detail).toContain('1/1 hosts');

    const hook = await feed(
      world,
      ['hook', 'claude-code', 'SessionStart'],
      JSON.stringify({ session_id: 's1', cwd: '/', hook_event_name: 'SessionStart', source: 'startup' }),
    );
    expect(hook.code).toBe(0);
    expect(hook.stdout).toContain('memd: 1/1 hosts');
    expect(hook.stdout).not.toContain('NOT');
    const call = {
      jsonrpc: '2.0',
      id: 2,
      method: 'tools/call',
      params: { name: 'recall', arguments: { subject: 'lesson/one' } },
    };
    const hello = {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } },
    };
    const ready = { jsonrpc: '2.0', method: 'notifications/initialized' };
    const mcp = await feed(world, ['mcp'], `${[hello, ready, call].map((one) => JSON.stringify(one)).join('\n')}\n`);
    expect(mcp.stdout).toContain('Without memd');

    const installed = await world.json(['service', 'install', '--no-start'], { cwd: '/' });
    expect(installed.code).toBe(0);
    const unit = readFileSync(String(installed.value['unit']), 'utf8');
    expect(unit).toContain(world.home);
    expect((await world.json(['verify', '--deep'], { cwd: '/' })).value).toMatchObject({ ok: true });
  });

  test('nobody is at a deep path: it is missing, not too long', { timeout: 60_000 }, async () => {
    const world = deepWorld(300);
    expect(await world.json(['status'], { cwd: '/' })).toMatchObject({
      code: 1,
      value: { error: { code: 'HOME_MISSING' } },
    });
    mkdirSync(world.home, { recursive: true, mode: 0o700 });
    writeFileSync(join(world.home, 'memd.sock'), '');
    expect(await world.json(['status'], { cwd: '/' })).toMatchObject({
      code: 1,
      value: { error: { code: 'NO_MESH' } },
    });
    const longer = deepWorld(1_000);
    for (const args of [['status'], ['init', '--host', 'alpha']])
      expect(await longer.json(args)).toMatchObject({ code: 1, value: { error: { code: 'HOME_PATH_TOO_LONG' } } });
  });
});

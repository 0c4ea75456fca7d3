import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { meshOfOne, newWorld, type Json } from '../lib/memctl.ts';
import { underManager, whyNoManager } from '../lib/user-manager.ts';

const memctl = fileURLToPath(new URL('../../bin/memctl', import.meta.url));

/** Every file and folder below, with the content of files. */
const treeOf = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .toSorted((a, b) => (a < b ? -1 : 1))
    .map((name) => {
      const file = join(folder, name);
      return statSync(file).isFile() ? `${name}: ${readFileSync(file, 'utf8')}` : `${name}/`;
    });

test(
  'service: without a service manager it writes the unit and says how to start it; uninstall leaves no trace',
  { timeout: 60_000 },
  async () => {
    const world = await meshOfOne();
    const config = join(world.folder, 'config');
    const before = treeOf(config);
    const unit = join(config, 'systemd/user/memd.service');
    expect(await world.json(['service', 'status'])).toMatchObject({ code: 0, value: { unit, state: 'not installed' } });

    const installed = await world.json(['service', 'install']);
    expect(installed).toMatchObject({ code: 0, value: { unit, file: 'written', enabled: false, started: false } });
    expect(installed.value['next']).toContain('systemctl --user enable --now memd');
    expect(String((installed.value['next'] as string[]).at(-1))).toMatch(/^loginctl enable-linger /);
    const text = readFileSync(unit, 'utf8');
    expect(text).toContain(`"--home" "${world.home}" "--foreground"`);
    expect(await world.json(['service', 'install'])).toMatchObject({ value: { file: 'unchanged' } });
    expect(await world.json(['service', 'status'])).toMatchObject({
      code: 0,
      value: { state: 'installed', manager: false },
    });

    world.configure('[[target]]\npath = "/srv/web/MEMORY.md"\n');
    expect(await world.json(['service', 'status'])).toMatchObject({ code: 1, value: { state: 'out of date' } });
    expect(await world.json(['service', 'install'])).toMatchObject({ value: { file: 'written' } });
    expect(readFileSync(unit, 'utf8')).toContain('ReadWritePaths="-/srv/web"');

    appendFileSync(unit, '# mine\n');
    expect(await world.json(['service', 'status'])).toMatchObject({ code: 1, value: { state: 'edited' } });
    for (const verb of ['install', 'uninstall']) {
      const refused = await world.json(['service', verb]);
      expect(refused).toMatchObject({ code: 1, value: { error: { code: 'SERVICE_CONFLICT' } } });
    }
    world.configure('');
    const gone = await world.json(['service', 'uninstall', '--force']);
    expect(gone).toMatchObject({
      code: 0,
      value: { removed: expect.arrayContaining([unit, join(config, 'systemd')]) as unknown },
    });
    expect(treeOf(config).filter((line) => line !== 'memd/config.toml: ')).toEqual(before);
    expect(await world.json(['service', 'uninstall'])).toMatchObject({ code: 0, value: { removed: [] } });
  },
);

test(
  'service: a foreign unit, a unit of another home and a home without a mesh are refused',
  { timeout: 60_000 },
  async () => {
    const empty = newWorld();
    expect(await empty.json(['service', 'install'])).toMatchObject({
      code: 1,
      value: { error: { code: 'HOME_MISSING' } },
    });
    const world = await meshOfOne();
    const folder = join(world.folder, 'config/systemd/user');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'memd.service'), '[Service]\nExecStart=/bin/true\n');
    for (const verb of ['install', 'uninstall'])
      expect((await world.json(['service', verb, ...(verb === 'uninstall' ? ['--force'] : [])])).value).toMatchObject({
        error: { code: 'SERVICE_CONFLICT' },
      });
    expect(readFileSync(join(folder, 'memd.service'), 'utf8')).toBe('[Service]\nExecStart=/bin/true\n');
    rmSync(join(folder, 'memd.service'));
    await world.run(['service', 'install']);
    const other = join(world.folder, 'other');
    await world.run(['init', '--host', 'beta', '--listen', '127.0.0.1:0', '--home', other]);
    const refused = await world.json(['service', 'install', '--home', other]);
    expect(refused.value).toMatchObject({
      error: { code: 'SERVICE_CONFLICT', message: expect.stringContaining(world.home) as unknown },
    });
  },
);

const script = `
json() { "$NODE" "$MEMCTL" "$@" --json; echo; }
json service install
for _ in $(seq 200); do "$NODE" "$MEMCTL" status --json | grep -q '"daemon":true' && break; sleep 0.1; done
json service status
pid=$(systemctl --user show memd --property=MainPID --value)
json lesson lesson/quote-paths "Quote every path"
for place in "$MEMD_HOME" "$HOME" /etc; do
  nsenter -t "$pid" -m touch "$place/.written" 2>/dev/null && echo '{"wrote":true}' || echo '{"wrote":false}'
done
kill -KILL "$pid"
for _ in $(seq 300); do
  next=$(systemctl --user show memd --property=MainPID --value)
  [ "$next" != 0 ] && [ "$next" != "$pid" ] && "$NODE" "$MEMCTL" status --json | grep -q '"daemon":true' && break
  sleep 0.1
done
json recall lesson/quote-paths
json service uninstall
json service status
systemctl --user list-unit-files memd.service --no-legend | wc -l
`;

test(
  'C5, C6: service: under a real service manager it starts, is fenced in, comes back after SIGKILL, and goes',
  { timeout: 120_000 },
  async ({ skip }) => {
    const why = whyNoManager();
    if (why !== undefined) {
      console.warn(`NOT RUN: a service under systemd: ${why}`);
      skip(why);
    }
    const world = await meshOfOne();
    const env = {
      ...world.env,
      // As a service finds it: no agent, no PATH of a shell.
      PATH: '/usr/bin:/bin',
      NODE: process.execPath,
      MEMCTL: memctl,
    };
    const before = treeOf(join(world.folder, 'config'));
    const ran = await underManager(script, { folder: world.folder, env });
    expect([ran.code, ran.stderr]).toEqual([0, '']);
    const said = ran.stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Json);
    const [installed, status, lesson, inHome, inUser, inSystem, recalled, uninstalled, after, left] = said;
    expect(installed).toMatchObject({ file: 'written', enabled: true, started: true });
    expect(status).toMatchObject({ state: 'installed', manager: true, enabled: true, active: 'active' });
    expect(lesson).toMatchObject({ host: 'alpha', seq: 1 });
    expect([inHome, inUser, inSystem]).toEqual([{ wrote: true }, { wrote: false }, { wrote: false }]);
    expect(recalled).toMatchObject({ status: 'served' });
    expect(uninstalled?.['removed']).toContain(join(world.folder, 'config/systemd/user/memd.service'));
    expect(after).toMatchObject({ state: 'not installed' });
    expect(left).toBe(0);
    expect(treeOf(join(world.folder, 'config'))).toEqual(before);
    expect(existsSync(join(world.home, 'memd.sock'))).toBe(false);
  },
);

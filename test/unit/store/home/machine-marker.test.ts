import { cpSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createHome, openHome } from '../../../../src/store/home/home.ts';
import { bindMachine, checkMachine, readMachineId } from '../../../../src/store/home/machine-marker.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';

const [here, elsewhere] = ['a'.repeat(32), 'b'.repeat(32)];

async function bound(machineId: string | null = here): Promise<ReturnType<typeof createHome>> {
  const home = createHome(join(temporaryFolder(), 'home'));
  await bindMachine(home, { machineId });
  return home;
}

describe('a home that stays where it is', () => {
  test('is the same after a restart, and after its folder was moved within the file system', async () => {
    const home = await bound();
    expect(checkMachine(home, here)).toBe('same');
    const moved = `${home.dir}-moved`;
    renameSync(home.dir, moved);
    expect(checkMachine(openHome(moved), here)).toBe('same');
  });

  test('is the same when its marker is read, touched or given another mode', async () => {
    const home = await bound();
    readFileSync(home.marker);
    const { ino } = statSync(home.marker);
    writeFileSync(home.marker, readFileSync(home.marker));
    expect(statSync(home.marker).ino).toBe(ino);
    expect(checkMachine(home, here)).toBe('same');
  });

  test.each([
    ['then', null, here],
    ['now', here, null],
    ['ever', null, null],
  ])('is the same where no machine id could be read %s', async (_, then, now) => {
    expect(checkMachine(await bound(then), now)).toBe('same');
  });
});

describe('a home that is elsewhere', () => {
  test('is a copy when every byte of it was copied, with all times', async () => {
    const home = await bound();
    const copy = `${home.dir}-copy`;
    cpSync(home.dir, copy, { recursive: true, preserveTimestamps: true });
    expect(checkMachine(openHome(copy), here)).toBe('copied');
    expect(checkMachine(home, here)).toBe('same');
  });

  test('has moved when the same file is found on another machine', async () => {
    expect(checkMachine(await bound(), elsewhere)).toBe('moved');
  });

  test('is bound anew by bindMachine, and then the same', async () => {
    const home = await bound();
    await bindMachine(home, { machineId: elsewhere });
    expect(checkMachine(home, elsewhere)).toBe('same');
  });
});

test('a home of an older version, and one with a marker that says nothing, is not bound', async () => {
  const home = await bound();
  for (const text of ['', '\0'.repeat(150), '{"file":"x"}', 'null']) {
    writeFileSync(home.marker, text);
    expect(checkMachine(home, here)).toBe('unbound');
  }
  rmSync(home.marker);
  expect(checkMachine(home, here)).toBe('unbound');
});

test('a machine id file that is missing, empty or not one yet is passed over', () => {
  const folder = temporaryFolder();
  const file = join(folder, 'machine-id');
  expect(readMachineId([file])).toBeNull();
  for (const text of ['', 'uninitialized\n', 'x'.repeat(32)]) {
    writeFileSync(file, text);
    expect(readMachineId([file])).toBeNull();
  }
  writeFileSync(file, `${here}\n`);
  expect(readMachineId([join(folder, 'none'), file])).toBe(here);
});

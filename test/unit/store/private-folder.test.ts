import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { privateFolder, removeLeftFolders } from '../../../src/store/private-folder.ts';
import { temporaryFolder } from '../../lib/temporary.ts';

afterEach(() => void vi.unstubAllEnvs());

function place(): string {
  const folder = temporaryFolder();
  vi.stubEnv('TMPDIR', folder);
  return folder;
}

/** The number of a process that is over. */
function goneProcess(): number {
  return spawnSync(process.execPath, ['-e', '']).pid;
}

describe('private temporary folders', () => {
  test('what a killed process left goes with the next one, what others use or named stays', () => {
    const outside = temporaryFolder();
    const folder = place();
    const gone = goneProcess();
    fs.writeFileSync(path.join(outside, 'kept'), '');
    const left = path.join(folder, `memctl-read-${gone}-aBc123`);
    fs.mkdirSync(left);
    fs.writeFileSync(path.join(left, 'state.sqlite'), 'all that a home says');
    const others = [`memctl-read-${process.ppid}-aBc123`, `memctl-notes-${gone}`, 'memctl-read-x-aBc123'];
    for (const name of others) fs.mkdirSync(path.join(folder, name));
    fs.symlinkSync(outside, path.join(folder, `memctl-sign-${gone}-aBc123`));
    const made = privateFolder('sign');
    expect(fs.existsSync(left)).toBe(false);
    expect(fs.readdirSync(folder).toSorted()).toEqual(
      [...others, `memctl-sign-${gone}-aBc123`, path.basename(made.path)].toSorted(),
    );
    expect(fs.readdirSync(outside)).toEqual(['kept']);
    expect(fs.statSync(made.path).mode & 0o777).toBe(0o700);
    expect(removeLeftFolders()).toEqual([]);
    made.remove();
    expect(fs.existsSync(made.path)).toBe(false);
  });

  test('its own name is one that the next process knows', () => {
    const folder = place();
    const { path: made } = privateFolder('read');
    const renamed = path.join(folder, path.basename(made).replace(`-${process.pid}-`, `-${goneProcess()}-`));
    fs.renameSync(made, renamed);
    expect(removeLeftFolders()).toEqual([path.basename(renamed)]);
  });
});

/** What installing into a harness needs to know of this process and this package. */
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { InstallContext } from '../agent/harness/apply-install.ts';
import { version } from '../daemon/version.ts';

/** Folder of the installed package: of a checkout, or below node_modules. */
export const packageRoot: string = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

/** `home`: absolute home folder of memd. */
export function installContext(home: string): InstallContext {
  return {
    env: process.env,
    user: homedir(),
    home,
    node: process.execPath,
    memctl: join(packageRoot, 'bin', 'memctl'),
    version,
  };
}

export function readSkill(): string {
  return readFileSync(join(packageRoot, 'skills', 'memd', 'SKILL.md'), 'utf8');
}

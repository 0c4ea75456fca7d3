/** Checks of the machine: programs, settings, disk. */
import { readConfig } from '../../daemon/config/config.ts';
import { version } from '../../daemon/version.ts';
import { runChild } from '../../store/child.ts';
import { freeBytes } from '../../store/home/disk-room.ts';
import { findProgram } from '../service/program-folders.ts';
import { fine, wrong, type Check, type Finding, type Room } from './checks.ts';

const needed = { node: [22, 14], git: [2, 36], ssh: [8, 2] } as const;

const node: Check = {
  name: 'node',
  look: () => {
    const said = `memctl ${version} on Node ${process.versions.node}, ${process.execPath}`;
    return isRecent(process.versions.node, needed.node) ? fine(said) : wrong(said, 'install Node 22.14 or newer');
  },
};

const git: Check = {
  name: 'git',
  look: (room) =>
    program(room, { name: 'git', args: ['--version'], least: needed.git, fix: 'install git 2.36 or newer' }),
};

const ssh: Check = {
  name: 'ssh',
  look: async (room) => {
    const fix = 'install OpenSSH 8.2 or newer';
    if (findProgram('ssh-keygen', room.env['PATH'] ?? '') === undefined)
      return wrong('ssh-keygen is not on PATH: nothing can be signed', fix);
    return program(room, { name: 'ssh', args: ['-V'], least: needed.ssh, fix });
  },
};

interface Wanted {
  readonly name: string;
  readonly args: readonly string[];
  readonly least: readonly [number, number];
  readonly fix: string;
}

async function program({ env }: Room, { name, args, least, fix }: Wanted): Promise<Finding> {
  const file = findProgram(name, env['PATH'] ?? '');
  if (file === undefined) return wrong(`${name} is not on PATH (${env['PATH'] ?? 'which is empty'})`, fix);
  const { stdout, stderr } = await runChild({ command: file, args, deadlineMs: 10_000 });
  const said = `${stdout.toString('utf8')}${stderr}`.trim().split('\n')[0] ?? '';
  const found = /(\d+)\.(\d+)/.exec(said)?.[0] ?? '';
  const detail = `${said}, ${file}`;
  return isRecent(found, least) ? fine(detail) : wrong(detail, fix);
}

/** True when a version is at least this one. An unreadable one is not. */
function isRecent(text: string, [major, minor]: readonly [number, number]): boolean {
  const [ours = 0, ourMinor = 0] = text.split('.').map(Number);
  return ours > major || (ours === major && ourMinor >= minor);
}

const config: Check = {
  name: 'config',
  look: ({ env }) => fine(`${readConfig(env).file} is valid, or not there`),
};

const mebibyte = 1_048_576;
const freeLeastMiB = 200;

const disk: Check = {
  name: 'disk',
  inHome: true,
  look: ({ home }) => {
    const free = Math.floor(freeBytes(home.dir) / mebibyte);
    const detail = `${free} MiB free for ${home.dir}`;
    return free >= freeLeastMiB
      ? fine(detail)
      : wrong(detail, `free some: below ${freeLeastMiB} MiB appends may soon fail`);
  },
};

export const machineChecks: readonly Check[] = [node, git, ssh, config, disk];

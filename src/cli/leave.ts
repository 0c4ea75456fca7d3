/** Leaving a mesh: what only this machine holds is looked at first, then memd ends, and nothing is deleted. */
import { setTimeout } from 'node:timers/promises';
import type { StatusJson } from '../daemon/api/api-types.ts';
import { isAnswered } from '../daemon/api/api-client.ts';
import { Refusal } from '../daemon/refusal.ts';
import { openHome, socketAddress, type Home } from '../store/home/home.ts';
import { readLockOwner } from '../store/home/lock-note.ts';
import type { Cli } from './context.ts';
import { serviceStatus, uninstallService } from './service/service.ts';
import { shellWord } from './shell-word.ts';

export interface LeaveJson {
  readonly left: true;
  readonly mesh: string;
  readonly host: string;
  readonly home: string;
  /** What was ended, in words. */
  readonly stopped: string;
  /** Who holds the log of this host, in words. */
  readonly held: string;
  readonly next: readonly string[];
}

/** Time in which memd ends: it finishes the append that is under way. */
const stopMs = 10_000;
const pollMs = 50;

/** Leaves. Refuses NOT_REPLICATED unless forced, STOP_FAILED. */
export async function leaveMesh(cli: Cli, { force }: { readonly force: boolean }): Promise<LeaveJson> {
  const dir = cli.home();
  const home = openHome(dir);
  const status = await cli.session(async (call) => {
    // What peers hold is asked anew.
    if ((await call('status', {})).peers.length > 0) await call('fetch', {});
    return call('status', {});
  });
  if (!force) requireReplicated(status);
  const stopped = [...(await stopService(dir)), ...(await stopMemd(home))];
  return {
    left: true,
    mesh: status.mesh,
    host: status.host,
    home: dir,
    stopped: stopped.length === 0 ? 'nothing was running' : stopped.join(', '),
    held: heldText(status),
    next: nextOf(status, dir),
  };
}

function requireReplicated({ replicated, host }: StatusJson): void {
  if (replicated === null || replicated.of === 0 || replicated.peers > 0) return;
  throw new Refusal({
    code: 'NOT_REPLICATED',
    message: `no other host is known to hold line ${replicated.seq} of ${host}, its newest: what was said last is nowhere else; nothing was done`,
    hint: 'wait until memctl status says that it is replicated; or leave all the same: memctl leave --force',
    exit: 5,
  });
}

function heldText({ replicated, host }: StatusJson): string {
  if (replicated === null) return `${host} has said nothing`;
  const { seq, peers, of } = replicated;
  if (of === 0) return `this home is the only copy of all ${seq} lines: memctl export DIR before it is removed`;
  return `line ${seq}, the newest of ${host}, is held by ${peers} of ${of} peers`;
}

function nextOf({ host, peers }: StatusJson, dir: string): readonly string[] {
  return [
    ...(peers.length === 0
      ? []
      : [`on another host, by a signer, so that its keys count no more: memctl host revoke ${host}`]),
    'hooks of agents stay until: memctl agent uninstall HARNESS',
    `the home stays, keys included; to remove it for good: rm -r ${shellWord(dir)}`,
  ];
}

/** Its unit would start memd again. */
async function stopService(dir: string): Promise<readonly string[]> {
  const context = { home: dir, env: process.env };
  const { state, home } = await serviceStatus(context);
  if (state === 'not installed' || home !== dir) return [];
  await uninstallService(context, { force: false });
  return ['the service was removed'];
}

async function stopMemd(home: Home): Promise<readonly string[]> {
  if (!(await answers(home))) return [];
  // Whoever answers holds the lock, so that the note beside it is of that process.
  const owner = readLockOwner(home);
  if (owner?.program !== 'memd') throw stopFailed('who it is cannot be told');
  process.kill(owner.pid, 'SIGTERM');
  const end = performance.now() + stopMs;
  while (await answers(home)) {
    if (performance.now() > end) throw stopFailed(`process ${owner.pid} still answers after ${stopMs / 1_000} s`);
    await setTimeout(pollMs);
  }
  return ['memd was ended'];
}

const answers = (home: Home): Promise<boolean> => isAnswered(socketAddress(home));

function stopFailed(why: string): Refusal {
  return new Refusal({
    code: 'STOP_FAILED',
    message: `memd could not be ended: ${why}`,
    hint: 'end it by hand, then memctl leave again',
  });
}

/** Taking the home for a repair. A lock file that is none is moved aside, but only with proof that nobody holds it. */
import { isAnswered } from '../api/api-client.ts';
import { isOperatingError, OperatingError } from '../../store/errors.ts';
import { holdersOf } from '../../store/home/file-holders.ts';
import { lockHome, type HomeLock } from '../../store/home/home-lock.ts';
import { socketAddress } from '../../store/home/home.ts';
import type { RepairRoom } from './room.ts';

/** Errors: `HOME_LOCKED` while a memd runs, or another command is at work; `HOME_LOCK_DAMAGED` where nothing is proved. */
export async function lockForRepair(room: RepairRoom): Promise<HomeLock> {
  const lock = await takeLock(room);
  if (!(await answers(room))) return lock;
  lock.release();
  // What it holds has been removed, or moved, under it.
  throw inUse(new OperatingError('HOME_LOCKED', `a memd runs on ${room.home.dir}, and its lock file is gone`));
}

async function takeLock(room: RepairRoom): Promise<HomeLock> {
  const { home, now } = room;
  const take = (): HomeLock => lockHome(home, { program: 'memctl', now });
  try {
    return take();
  } catch (error) {
    if (isOperatingError(error, 'HOME_LOCKED')) throw inUse(error);
    if (!isOperatingError(error, 'HOME_LOCK_DAMAGED')) throw error;
    // A process that took it before its bytes were damaged holds it all the same.
    if (holdersOf([home.lock])?.get(home.lock)?.length !== 0 || (await answers(room))) throw error;
    room.aside.moveAside(home.lock, 'is not a lock file');
    room.done('lock', `${home.lock} was no lock file, and no process has it open: it is moved aside`);
    return take();
  }
}

const answers = ({ home }: RepairRoom): Promise<boolean> => isAnswered(socketAddress(home));

function inUse(error: OperatingError): OperatingError {
  const stop = 'stop memd (systemctl --user stop memd, or as it was started), then try again';
  const hint = `a repair needs the home for itself: ${stop}${error.hint === '' ? '' : `; ${error.hint}`}`;
  return new OperatingError('HOME_LOCKED', error.message, { hint, cause: error });
}

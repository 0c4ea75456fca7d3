/** Whose process is gone: what it left under its own number is nobody's any more. */
import { systemCode } from './errors.ts';

/** True for a process that runs, also one of another user. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemCode(error) !== 'ESRCH';
  }
}

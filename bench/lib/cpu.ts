/** Processor time of a process, from /proc (Linux). */
import { readFileSync } from 'node:fs';

const tickMs = 10;

/** Milliseconds that a process and its children that have ended used so far, in user space and in the kernel. */
export function cpuWithChildrenMs(pid: number): number {
  // The second field, the name, may hold anything but ends with the last bracket.
  const [, rest = ''] = /^.*\) (.*)$/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
  return rest
    .split(' ')
    .slice(11, 15)
    .reduce((sum, field) => sum + Number(field) * tickMs, 0);
}

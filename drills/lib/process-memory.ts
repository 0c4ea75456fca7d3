/** Peak memory of a running process and of the children that come and go below it, from /proc (Linux). */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** Looked at so often: what a child allocates in its last moments may be missed, a child that lives longer is not. */
const sampleMs = 5;

/** The largest child that was seen. */
export interface ChildPeak {
  readonly mib: number;
  readonly command: string;
}

export interface MemoryWatch {
  /** From here on: the process and its children begin anew. */
  reset(): void;
  /** MiB that the process grew at most since `reset`, beyond what it had then. */
  growth(): number;
  /** The largest child since `reset`. */
  child(): ChildPeak;
  stop(): void;
}

/** Watches a process until stopped. */
export function watchMemory(pid: number): MemoryWatch {
  let base = memoryOf(pid).now;
  let child: ChildPeak = { mib: 0, command: 'none' };
  const own = read(pid, 'cmdline');
  const look = (): void => {
    for (const one of descendants(pid)) {
      // Between fork and exec a child is the process itself, with all its pages, and takes none of its own.
      if (read(one, 'cmdline') === own) continue;
      const { peak } = memoryOf(one);
      if (peak > child.mib && read(one, 'cmdline') !== own) child = { mib: peak, command: commandOf(one) };
    }
  };
  const timer = setInterval(look, sampleMs);
  return {
    reset() {
      // The peak of a process is kept by the kernel; 5 sets it to what it is now.
      writeFileSync(`/proc/${pid}/clear_refs`, '5');
      base = memoryOf(pid).now;
      child = { mib: 0, command: 'none' };
    },
    growth: () => Math.max(0, memoryOf(pid).peak - base),
    child: () => child,
    stop: () => clearInterval(timer),
  };
}

/** What a process holds, and has held at most, in MiB; 0 for one that is gone. */
export function memoryOf(pid: number): { readonly now: number; readonly peak: number } {
  const status = read(pid, 'status');
  const field = (name: string): number =>
    Number(new RegExp(`^${name}:\\s*(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) / 1_024;
  return { now: field('VmRSS'), peak: field('VmHWM') };
}

function descendants(pid: number): number[] {
  const children = read(pid, `task/${pid}/children`).split(' ').filter(Boolean).map(Number);
  return children.flatMap((child) => [child, ...descendants(child)]);
}

function commandOf(pid: number): string {
  const words = read(pid, 'cmdline').split('\0');
  return words.find((word) => /^[a-z]+-[a-z-]+$|^rev-list$/.test(word)) ?? words[0] ?? '';
}

function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

/** Whether this machine tells what processes use. */
export function canWatchMemory(): boolean {
  try {
    return readdirSync('/proc').includes('self') && /VmHWM/.test(readFileSync('/proc/self/status', 'utf8'));
  } catch {
    return false;
  }
}

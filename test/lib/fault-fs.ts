/**
 * Faults below everything: every call of `node:fs` that changes something, and every git child that writes, can fail, fail
 * after it happened, find the disk full from then on, or be the last thing that the process does. Whatever seam the code
 * goes through, nothing is missed, and each call says from which line of src/ it came.
 */
import childProcess from 'node:child_process';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { namesIn, powerModel, type PowerModel } from './dropping-disk.ts';
import { SimulatedFault } from './fault-disk.ts';

/**
 * `failed`: it does not happen and is reported. `persisted`: it happens and is reported as failed. `full`: from here on
 * nothing that needs room works, and the first write gets half of it. `crash after`: nothing happens from there on. (A crash before an operation is one after the operation before it.)
 */
export type StoreFault = 'failed' | 'persisted' | 'full' | 'crash after';
export const storeFaults: readonly StoreFault[] = ['failed', 'persisted', 'full', 'crash after'];

export interface Operation {
  /** `renameSync /home/…/a /home/…/b`, `git repack`. */
  readonly text: string;
  /** Lines of src/ on the way to it, `src/store/home/keys.ts:58`, the innermost first. */
  readonly places: readonly string[];
}

export interface FaultFs {
  /** Arms one fault at the n-th operation from now (0 = the next). */
  arm(at: number, fault: StoreFault): void;
  disarm(): void;
  /** Since `arm` or `disarm`. */
  operations(): readonly Operation[];
  /** The process is over: nothing that it says counts. */
  isDead(): boolean;
  /** What the disk holds for good; undefined until it is asked for. */
  model(): PowerModel;
  /** Puts everything back as it was. */
  restore(): void;
}

const places = /\/(src\/[^\s:)]+\.ts:\d+):\d+/g;
/** Verbs of git that change a repository. */
const writingVerbs: ReadonlySet<string> = new Set(
  (
    'init fast-import index-pack unpack-objects update-ref pack-refs ' +
    'repack pack-objects prune prune-packed multi-pack-index gc'
  ).split(' '),
);
/** What needs no room. */
const roomless =
  /^(fsync|fsyncSync|renameSync|rmSync|unlinkSync|rmdirSync|chmodSync|fchmodSync|truncateSync|ftruncateSync|rm|rmdir|unlink|rename) /;

type Any = (...args: never[]) => unknown;
const plain = fs as unknown as Record<string, Any>;

interface State {
  readonly root: string;
  operations: Operation[];
  plan: { readonly at: number; readonly fault: StoreFault } | undefined;
  fired: boolean;
  full: boolean;
  dead: boolean;
  /** Depth of patched calls: one that another one makes is no operation of its own. */
  depth: number;
  readonly files: Map<number, string>;
  model: PowerModel | undefined;
}

type Verdict = 'go on' | 'fail after' | 'half';

/** Before an operation; throws when it must not happen. */
function enter(state: State, text: string): Verdict {
  if (state.dead) throw new SimulatedFault('EIO');
  const { plan, operations } = state;
  const isHere = plan !== undefined && !state.fired && plan.at === operations.length;
  operations.push({
    text,
    places: [...(new Error('here').stack ?? '').matchAll(places)].map((match) => match[1] ?? ''),
  });
  if (state.full && !roomless.test(text)) throw new SimulatedFault('ENOSPC');
  if (!isHere) return 'go on';
  state.fired = true;
  if (plan.fault === 'full') {
    state.full = true;
    if (roomless.test(text)) return 'go on';
    if (/^(writeSync|writeFileSync) /.test(text)) return 'half';
    throw new SimulatedFault('ENOSPC');
  }
  if (plan.fault === 'failed') throw new SimulatedFault('EIO');
  return 'fail after';
}

function leave(state: State): SimulatedFault {
  if (state.plan?.fault === 'crash after') state.dead = true;
  return new SimulatedFault('EIO');
}

function isBelow(state: State, name: unknown): name is string {
  return typeof name === 'string' && (name === state.root || name.startsWith(`${state.root}/`));
}

/** Calls whose first argument is a path, or the descriptor of a file that was opened below the root. */
const byPath = (
  'renameSync mkdirSync rmSync unlinkSync linkSync copyFileSync chmodSync truncateSync writeFileSync appendFileSync ' +
  'symlinkSync rmdirSync writeSync fchmodSync ftruncateSync fsyncSync'
).split(' ');

/** The same off the main thread; any other one of `fs.promises` is refused, so that none is missed. */
const promised = 'rm rmdir unlink rename'.split(' ');
const unpatched = 'appendFile chmod copyFile cp link mkdir mkdtemp open symlink truncate writeFile'.split(' ');

function halfOf(data: unknown): unknown {
  if (typeof data === 'string') return data.slice(0, Math.floor(data.length / 2));
  return data instanceof Uint8Array ? data.subarray(0, Math.floor(data.length / 2)) : data;
}

function patchPlain(state: State, name: string, original: Any): Any {
  return (...args: never[]) => {
    const [first] = args as unknown[];
    const file = typeof first === 'number' ? state.files.get(first) : first;
    if (state.depth > 0 || !isBelow(state, file)) return original(...args);
    const to = name === 'renameSync' || name === 'linkSync' ? ` ${String(args[1])}` : '';
    const verdict = enter(state, `${name} ${file}${to}`);
    state.depth += 1;
    try {
      if (verdict === 'half') return writeHalf(name, original, args);
      const before = name === 'fsyncSync' ? flushed(state, first as number, file) : undefined;
      const result = original(...args);
      before?.();
      if (verdict === 'fail after') throw leave(state);
      return result;
    } finally {
      state.depth -= 1;
    }
  };
}

function patchPromised(state: State, name: string, original: Any): Any {
  return async (...args: never[]) => {
    const [file, to] = args as unknown[];
    if (!isBelow(state, file)) return original(...args);
    const verdict = enter(state, `${name} ${file}${name === 'rename' ? ` ${String(to)}` : ''}`);
    const result = await original(...args);
    if (verdict === 'fail after') throw leave(state);
    return result;
  };
}

function refusePromised(state: State, name: string, original: Any): Any {
  return async (...args: never[]) => {
    if (isBelow(state, args[0])) throw new Error(`fs.promises.${name} has no faults yet: add it to fault-fs.ts`);
    return original(...args);
  };
}

function writeHalf(name: string, original: Any, args: readonly unknown[]): unknown {
  const [target, data, offset = 0, length] = args as [never, unknown, number?, number?];
  if (name === 'writeFileSync') {
    original(target, halfOf(data) as never, args[2] as never);
    throw new SimulatedFault('ENOSPC');
  }
  if (typeof data === 'string') return original(target, halfOf(data) as never);
  const whole = length ?? (data as Uint8Array).length - offset;
  return original(target, data as never, offset as never, Math.floor(whole / 2) as never);
}

/** Notes a flush; @returns what notes that it is over. */
function flushed(state: State, descriptor: number, file: string): (() => void) | undefined {
  const { model } = state;
  if (model === undefined) return undefined;
  const status = fs.fstatSync(descriptor, { bigint: true });
  if (status.isDirectory()) {
    const names = namesIn(file);
    return () => model.syncedFolder(status, names);
  }
  const bytes = fs.readFileSync(file);
  return () => model.syncedFile(status, bytes);
}

function patchOpen(state: State, original: Any): Any {
  return (...args: never[]) => {
    const [file, flags = 'r'] = args as unknown[];
    const { O_WRONLY, O_RDWR, O_CREAT } = fs.constants;
    const writes = typeof flags === 'number' ? (flags & (O_WRONLY | O_RDWR | O_CREAT)) !== 0 : flags !== 'r';
    const isOperation = isBelow(state, file) && writes && state.depth === 0;
    // An open that fails has made no file, so it never fails after it happened; a crash behind it is one before the next.
    if (isOperation) enter(state, `openSync ${file}`);
    const descriptor = original(...args) as number;
    if (isBelow(state, file)) state.files.set(descriptor, file);
    else state.files.delete(descriptor);
    return descriptor;
  };
}

function patchFsync(state: State, original: Any): Any {
  return (...args: never[]) => {
    const [descriptor, done] = args as unknown as [number, (error: Error | null) => void];
    const file = state.files.get(descriptor);
    if (file === undefined) return original(...args);
    let verdict: Verdict;
    try {
      verdict = enter(state, `fsync ${file}`);
    } catch (error) {
      return void setImmediate(() => done(error as Error));
    }
    const over = flushed(state, descriptor, file);
    const answer = (error: Error | null): void => {
      if (error === null) over?.();
      done(error ?? (verdict === 'fail after' ? leave(state) : null));
    };
    return original(descriptor as never, answer as never);
  };
}

function patchSpawn(state: State, original: Any): Any {
  return (...all: never[]) => {
    const [command, args, options] = all as unknown as [string, readonly string[], object];
    const verb = Array.isArray(args) ? (args as string[]).find((arg) => writingVerbs.has(arg)) : undefined;
    if (verb === undefined || !args.some((arg) => arg.includes(state.root))) return original(...all);
    const start = (program: string, words: readonly string[]): childProcess.ChildProcess =>
      original(program as never, words as never, options as never) as childProcess.ChildProcess;
    let verdict: Verdict;
    try {
      verdict = enter(state, `git ${verb}`);
    } catch (error) {
      if (state.dead) throw error;
      const said = (error as SimulatedFault).code === 'ENOSPC' ? 'No space left on device' : 'Input/output error';
      return start('sh', ['-c', `echo "fatal: write error: ${said}" >&2; exit 128`]);
    }
    const child =
      verdict === 'fail after'
        ? start('sh', [
            '-c',
            '"$@"; echo "fatal: write error: Input/output error" >&2; exit 128',
            'sh',
            command,
            ...args,
          ])
        : start(command, args);
    child.once('exit', () => {
      if (!args.includes('core.fsync=none')) state.model?.settlePacks();
      if (verdict === 'fail after') leave(state);
    });
    return child;
  };
}

/** Patches this process; only what lies below `root` is ever touched. */
export function faultFs(root: string): FaultFs {
  const state: State = {
    root,
    operations: [],
    plan: undefined,
    fired: false,
    full: false,
    dead: false,
    depth: 0,
    files: new Map(),
    model: undefined,
  };
  const originals = new Map<string, Any>([...byPath, 'openSync', 'fsync'].map((name) => [name, plain[name] as Any]));
  const promises = fs.promises as unknown as Record<string, Any>;
  const slow = new Map<string, Any>([...promised, ...unpatched].map((name) => [name, promises[name] as Any]));
  for (const [name, original] of slow)
    promises[name] = (promised.includes(name) ? patchPromised : refusePromised)(state, name, original);
  const { spawn } = childProcess;
  for (const name of byPath) plain[name] = patchPlain(state, name, originals.get(name) as Any);
  plain['openSync'] = patchOpen(state, originals.get('openSync') as Any);
  plain['fsync'] = patchFsync(state, originals.get('fsync') as Any);
  Object.assign(childProcess, { spawn: patchSpawn(state, spawn as Any) });
  syncBuiltinESMExports();
  const begin = (plan: State['plan']): void => {
    Object.assign(state, { operations: [], plan, fired: false, full: false, dead: false });
  };
  return {
    arm: (at, fault) => begin({ at, fault }),
    disarm: () => begin(undefined),
    operations: () => state.operations,
    isDead: () => state.dead,
    model: () => (state.model ??= powerModel(root)),
    restore() {
      for (const [name, original] of originals) plain[name] = original;
      for (const [name, original] of slow) promises[name] = original;
      Object.assign(childProcess, { spawn });
      syncBuiltinESMExports();
    },
  };
}

/** A program on a pseudo-terminal, by `script` of util-linux: what a person would see and type. */
import { execFileSync, spawn } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';

/** Keys as a terminal sends them. */
export const keys = { enter: '\r', down: '\u001B[B', up: '\u001B[A', interrupt: '\u0003', escape: '\u001B' } as const;

export interface Terminal {
  /** Waits until this is seen after what was seen last; gives everything up to its end, without control sequences. */
  see(what: RegExp): Promise<string>;
  type(text: string): void;
  /** Waits for the end; gives the exit code. */
  ended(): Promise<number>;
  kill(): Promise<void>;
  /** Everything on the screen so far, as the bytes came. */
  raw(): string;
  /** The same without control sequences. */
  text(): string;
}

/** Longer than anything a person waits for here; what is not seen by then is not coming. */
const patienceMs = 90_000;

/** False where this machine cannot make a terminal for a test. */
export const hasTerminals: boolean = canMakeTerminals();

function canMakeTerminals(): boolean {
  try {
    return execFileSync('script', ['--version'], { encoding: 'utf8' }).includes('util-linux');
  } catch {
    return false;
  }
}

/** Starts a program on a terminal of 160 columns. Whoever starts it ends it. */
export function startTerminal(
  command: readonly string[],
  { env, cwd }: { readonly env: Readonly<Record<string, string>>; readonly cwd: string },
): Terminal {
  const quoted = command.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
  const child = spawn('script', ['-qefc', `stty cols 160 rows 50; exec ${quoted}`, '/dev/null'], {
    cwd,
    env: { ...env, SHELL: '/bin/sh', TERM: 'xterm' },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let [raw, seen] = ['', 0];
  const text = (): string => stripVTControlCharacters(raw).replaceAll('\r', '');
  const watchers = new Set<() => void>();
  const wake = (): void => {
    for (const watcher of watchers) watcher();
  };
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    raw += part;
    wake();
  });
  child.stdin.on('error', () => undefined);
  const exit = new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? 255)));
  void exit.then(wake);
  return {
    see: (what) =>
      new Promise((resolve, reject) => {
        const fail = (why: string): void => {
          finish();
          reject(new Error(`${why} ${String(what)} was not seen after:\n${text().slice(seen)}`));
        };
        const timer = setTimeout(() => fail('in time'), patienceMs);
        const finish = (): void => {
          clearTimeout(timer);
          watchers.delete(look);
        };
        const look = (): void => {
          const rest = text().slice(seen);
          const match = what.exec(rest);
          if (match !== null) {
            const upto = match.index + match[0].length;
            seen += upto;
            finish();
            resolve(rest.slice(0, upto));
          } else if (child.exitCode !== null) fail('it ended, and');
        };
        watchers.add(look);
        look();
      }),
    type: (keysTyped) => void child.stdin.write(keysTyped),
    ended: () => exit,
    async kill() {
      child.kill('SIGKILL');
      await exit;
    },
    raw: () => raw,
    text,
  };
}

/** The installed `ssh-keygen` as a verifier: one process per question, a few at a time. */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const timeoutMs = 60_000;
const atOnce = 4;

/** Exit code and everything said. Never throws for a refusal. */
export function runKeygen(
  folder: string,
  args: readonly string[],
  input: string | Uint8Array = '',
): Promise<{ readonly ok: boolean; readonly stdout: string; readonly stderr: string }> {
  const env = { PATH: process.env['PATH'] ?? '', LC_ALL: 'C', HOME: folder };
  return new Promise((resolve, reject) => {
    const child = execFile(
      'ssh-keygen',
      args,
      { env, cwd: folder, timeout: timeoutMs, maxBuffer: 1 << 20 },
      (error, stdout, stderr) => {
        // A number is an exit code; anything else never ran, or was ended by the deadline.
        if (error !== null && typeof error.code !== 'number')
          reject(new Error('ssh-keygen did not run', { cause: error }));
        else resolve({ ok: error === null, stdout, stderr });
      },
    );
    // It may refuse before it reads.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });
}

export interface StockQuestion {
  readonly key: string;
  readonly namespace: string;
  readonly message: string | Uint8Array;
  /** What stands in the file of the signature: armor, or what somebody made of it. */
  readonly armor: string;
}

let files = 0;

/** Whether `-Y verify` and `-Y check-novalidate` take a signature. */
export async function askKeygen(
  folder: string,
  { key, namespace, message, armor }: StockQuestion,
): Promise<{ readonly verify: boolean; readonly check: boolean; readonly said: string }> {
  const stem = join(folder, `asked-${(files += 1)}`);
  writeFileSync(`${stem}.sig`, Buffer.from(armor, 'latin1'));
  writeFileSync(`${stem}.allowed`, `craig ${key}\n`);
  const signature = ['-n', namespace, '-s', `${stem}.sig`];
  const verify = await runKeygen(
    folder,
    ['-Y', 'verify', '-f', `${stem}.allowed`, '-I', 'craig', ...signature],
    message,
  );
  const check = await runKeygen(folder, ['-Y', 'check-novalidate', ...signature], message);
  return { verify: verify.ok, check: check.ok, said: `${verify.stderr}${check.stderr}`.trim() };
}

/** Base64 in the armor that `ssh-keygen -Y sign` writes. */
export function armorOf(base64: string): string {
  const lines = base64.match(/.{1,70}/g)?.join('\n') ?? '';
  return `-----BEGIN SSH SIGNATURE-----\n${lines}\n-----END SSH SIGNATURE-----\n`;
}

/** Maps with a few calls under way at a time, in order. */
export async function mapSome<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) results[index] = await work(items[index] as T);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return results;
}

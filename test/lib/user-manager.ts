/**
 * A real service manager of a user, for one script: `systemd --user` in a mount namespace of its own, in which the system
 * looks booted with systemd. Needs root, unshare and systemd; what is missing is said, never passed over in silence.
 */
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const systemd = ['/lib/systemd/systemd', '/usr/lib/systemd/systemd'].find((file) => existsSync(file));

/** Why no manager can be had here; undefined when one can. */
export function whyNoManager(): string | undefined {
  if (process.getuid?.() !== 0) return 'not root';
  if (systemd === undefined) return 'systemd is not here (Debian package systemd)';
  const tried = spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 't', '/mnt']);
  return tried.status === 0 ? undefined : 'no mount namespace can be made here';
}

const around = (script: string): string => `
set -u
mkdir -p /run/systemd && mount -t tmpfs t /run/systemd && mkdir -p /run/systemd/system || exit 90
${systemd ?? ''} --user --log-target=console > "$XDG_RUNTIME_DIR/manager.log" 2>&1 &
manager=$!
for _ in $(seq 200); do systemctl --user show --property=Version >/dev/null 2>&1 && break; sleep 0.05; done
systemctl --user show --property=Version >/dev/null || { cat "$XDG_RUNTIME_DIR/manager.log" >&2; exit 91; }
(
${script}
)
code=$?
systemctl --user exit
wait $manager
exit $code
`;

/** Runs a bash script beside a manager of its own. XDG_RUNTIME_DIR lies below `folder`. */
export function underManager(
  script: string,
  options: { readonly folder: string; readonly env: Readonly<Record<string, string>> },
): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  const runtime = join(options.folder, 'run');
  mkdirSync(runtime, { mode: 0o700, recursive: true });
  const file = join(options.folder, 'script.sh');
  writeFileSync(file, around(script));
  const env = { ...options.env, XDG_RUNTIME_DIR: runtime };
  return new Promise((resolve) => {
    execFile('unshare', ['-m', '--kill-child', 'bash', file], { env, timeout: 100_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
    });
  });
}

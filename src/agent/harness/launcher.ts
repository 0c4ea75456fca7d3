/**
 * The shell script that a harness calls. It stands outside every checkout, so that it is there when memctl or its Node is
 * not; it ends by itself, exits 0, and prints an answer of memctl, one fixed line of JSON, or nothing.
 */

export interface LauncherOptions {
  /** Absolute paths. */
  readonly node: string;
  readonly memctl: string;
  readonly home: string;
  /** Of a `timeout` that knows `-k`; '' where there is none. */
  readonly timeout: string;
  readonly version: string;
}

/** Seconds after which the script goes on without memctl. The harness itself waits longer. */
const limitSeconds = 5;
/** Seconds that a harness is told to wait for the script. */
export const hookTimeoutSeconds = 10;

/** The script. */
export function launcherScript({ node, memctl, home, timeout, version }: LauncherOptions): string {
  return `#!/bin/sh
# Launcher of the memory hooks of memd, written by \`memctl agent install\` (memctl ${version}).
# Usage: this-script HARNESS EVENT, with the JSON of the harness on stdin. Always exits 0.
node=${quote(node)}
memctl=${quote(memctl)}
home=${quote(home)}
timeout=${quote(timeout)}
harness=\${1:-} event=\${2:-}
case $harness in claude-code | codex) ;; *) exit 0 ;; esac
case $event in SessionStart | SubagentStart | UserPromptSubmit) ;; *) exit 0 ;; esac

note() {
  log=$home/hooks.log
  [ -d "$home" ] && [ -w "$home" ] && [ ! -h "$log" ] || return 0
  [ -f "$log" ] && [ "$(wc -c < "$log")" -gt 200000 ] && return 0
  printf '{"at":"%s","harness":"%s","event":"%s","outcome":"failed","why":"launcher: %s"}\\n' \\
    "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$harness" "$event" "$1" >> "$log"
}

without() {
  note "$1" 2> /dev/null
  [ "$event" = UserPromptSubmit ] || printf '{"hookSpecificOutput":{"hookEventName":"%s","additionalContext":"memd: NOT RUNNING, the memory hook failed: %s. Shared memory is not available in this session."}}\\n' "$event" "$1"
  exit 0
}

limited() {
  if [ -n "$timeout" ] && [ -x "$timeout" ]; then
    "$timeout" -k 1 ${limitSeconds} "$node" "$memctl" --home "$home" hook "$harness" "$event" 2> /dev/null
    return
  fi
  # The job would get an empty stdin in the background: it is handed over by another number.
  exec 3<&0
  "$node" "$memctl" --home "$home" hook "$harness" "$event" <&3 2> /dev/null &
  child=$!
  (sleep ${limitSeconds}; kill -9 "$child") > /dev/null 2>&1 3<&- &
  guard=$!
  wait "$child"
  code=$?
  kill "$guard" 2> /dev/null
  return "$code"
}

# The folder that an agent works in can be gone; nothing here needs it.
cd / 2> /dev/null
[ -x "$node" ] || without 'its Node is gone'
[ -f "$memctl" ] || without 'memctl is gone'
answer=$(limited 2> /dev/null) || without 'memctl ended with an error or took too long'
[ -z "$answer" ] || printf '%s\\n' "$answer"
exit 0
`;
}

/** A word of a shell command, for any bytes but NUL. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** The command that stands in a harness' settings. It never changes with a version: a harness may ask to trust it anew. */
export function hookCommand(launcher: string, harness: string, event: string): string {
  const path = /^[A-Za-z0-9/._-]+$/.test(launcher) ? launcher : quote(launcher);
  return `${path} ${harness} ${event}`;
}

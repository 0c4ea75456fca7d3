/**
 * What a peer may ask of our ssh server. Four commands, matched whole: no shell, no quoting rules, no table that a name
 * like `constructor` could reach into.
 */

/**
 * `upload-pack` serves the repository, `heads` answers one JSON line, `watch` gives that line again at every change,
 * `serve-back` turns the channel around: we ask, the peer serves.
 */
export type ServedCommand = 'upload-pack' | 'heads' | 'watch' | 'serve-back';

/**
 * Exact spellings. git sends `'/log'` for ssh://host/log and `'log'` for the scp form host:log; both name the one
 * repository there is.
 */
const commands: ReadonlyMap<string, ServedCommand> = new Map([
  ["git-upload-pack '/log'", 'upload-pack'],
  ["git-upload-pack 'log'", 'upload-pack'],
  ['memd heads', 'heads'],
  ['memd watch', 'watch'],
  ['memd serve-back', 'serve-back'],
]);

/** The command of an exec request, or undefined: refused. Pure. */
export function parseExecRequest(command: string): ServedCommand | undefined {
  return commands.get(command);
}

/** The one variable that a peer may set, and its only values. Pure. */
export function isServedVariable(name: string, value: string): boolean {
  return name === 'GIT_PROTOCOL' && /^version=[012]$/.test(value);
}

/** What stands in SSH_ORIGINAL_COMMAND when a plain sshd runs `memctl serve --stdio` as the forced command of a key. */
export type OriginalCommand =
  /** A host of the mesh wants its own ssh through the pipe; `home`: the folder that its address names. */
  | { readonly kind: 'pipe'; readonly home: string | undefined }
  /** A stock client wants one of the commands at once, without proving a key of the charter. */
  | { readonly kind: 'command'; readonly command: ServedCommand };

/** Reads it, '' for none; undefined for anything else: refused. Pure. */
export function parseOriginalCommand(text: string): OriginalCommand | undefined {
  if (text === '') return { kind: 'pipe', home: undefined };
  const pipe = /^memctl serve --stdio(?: --home '(\/[^']{0,1023})')?$/.exec(text);
  if (pipe !== null) return { kind: 'pipe', home: pipe[1] };
  const command = parseExecRequest(text);
  return command === undefined ? undefined : { kind: 'command', command };
}

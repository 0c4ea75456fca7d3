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

/** unlock: for some hours the person's agent signs events, asking before each. */
import { Command } from 'commander';
import { homePaths } from '../../store/home/home.ts';
import { Refusal } from '../../daemon/refusal.ts';
import { rememberedKey } from '../approve.ts';
import type { Cli } from '../context.ts';
import { openSigningKey } from '../signing.ts';
import { closeWindow, openWindow } from '../sign/unlock.ts';
import { agentHolds, readWindow, type Window } from '../../daemon/unlock-window.ts';

interface Options {
  readonly for?: string;
  readonly key?: string;
  readonly pkcs11?: string;
  readonly confirm: boolean;
  readonly end?: true;
}

const help = `
Examples:
  memctl unlock --for 8h          the passphrase once; then the agent asks yes or no at each signature
  memctl unlock                   says whether a window is open
  memctl unlock --end             takes the key out of the agent again

The question of the agent needs SSH_ASKPASS in the environment of ssh-agent itself, and a display.
With --no-confirm every process of this user can sign events until the window ends.`;

export function makeCommand(cli: Cli): Command {
  return new Command('unlock')
    .description('let your ssh-agent sign events for a while, asking you each time')
    .option('--for <TIME>', 'how long: 30m, 8h; at most 24h')
    .option('--no-confirm', 'the agent does not ask: whoever reaches it can sign')
    .option('--pkcs11 <LIB>', 'a PKCS#11 library that holds the key; --key names its .pub')
    .option('--key <FILE>', "a signer's private key; default: the one of init")
    .option('--end', 'end the window now')
    .addHelpText('after', help)
    .action((options: Options) => runUnlock(cli, options));
}

async function runUnlock(cli: Cli, options: Options): Promise<void> {
  const home = homePaths(cli.home());
  if (options.end === true) {
    const closed = await closeWindow(home, Date.now());
    return cli.output.result({ open: false }, () => [closed ? 'the window is closed' : 'no window was open']);
  }
  if (options.for === undefined) return showWindow(cli, readWindow(home, Date.now()));
  const key = await openSigningKey(options.key ?? rememberedKey(cli));
  const { confirm, pkcs11 } = options;
  const agent = process.env['SSH_AUTH_SOCK'];
  return showWindow(cli, await openWindow(home, key, { seconds: secondsOf(options.for), confirm, pkcs11, agent }));
}

async function showWindow(cli: Cli, window: Window | undefined): Promise<void> {
  if (window === undefined || !(await agentHolds(window.agent, window.key))) {
    return cli.output.result({ open: false }, () => ['no window is open: memctl unlock --for 8h']);
  }
  const { fingerprint, until, confirm } = window;
  const asks = confirm
    ? 'the agent asks you before each signature'
    : 'WITHOUT asking: any process of this user can sign events';
  cli.output.result({ open: true, key: fingerprint, until, confirm }, () => [
    `open until ${until} for ${fingerprint}: ${asks}`,
  ]);
}

/** Longer than a day's work is no window any more. */
const windowSecondsMax = 86_400;

function secondsOf(text: string): number {
  const match = /^([1-9][0-9]{0,5})(s|m|min|h)$/.exec(text);
  const unit = match?.[2] === 'h' ? 3_600 : match?.[2] === 's' ? 1 : 60;
  const seconds = Number(match?.[1] ?? 0) * unit;
  if (seconds > 0 && seconds <= windowSecondsMax) return seconds;
  throw new Refusal({
    code: 'BAD_REQUEST',
    message: `--for ${text.slice(0, 40)} is no time like 30m or 8h, at most 24h`,
    hint: 'memctl unlock --for 8h',
    exit: 2,
  });
}

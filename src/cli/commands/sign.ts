/** sign: a person's word on a subject. It stands on every host, and nothing unsigned outweighs it. */
import { Command, Option } from 'commander';
import type { SignRequest } from '../../daemon/api-types.ts';
import { Refusal } from '../../daemon/refusal.ts';
import type { Cli } from '../context.ts';
import { readTextInput } from '../read-input.ts';
import { describeSigned, signEvent } from '../sign/flow.ts';

interface Options {
  readonly accept?: string;
  readonly event?: string;
  readonly promote?: string;
  readonly retract?: true;
  readonly pin?: true;
  readonly content?: string;
  readonly value?: string;
  readonly polarity?: string;
  readonly homeRef?: string;
  readonly hook?: string;
  readonly textFile?: string;
  readonly names?: string;
  readonly basis?: string;
  readonly audience?: string;
  readonly confidence?: string;
  readonly supersedes?: string;
  readonly leave?: string;
  readonly scope?: string;
  readonly key?: string;
  readonly yes?: true;
}

const examples = `
Examples:
  memctl sign                                        lists what is parked and asks (terminal)
  memctl sign ssh-route/mini --accept 3fa2b1c0       that side is right; the others are withdrawn
  memctl sign ssh-route/mini --value bastion --home-ref file:infra/FLEET.md#mini
                                                     neither is: this is
  memctl sign ssh-route/mini --retract               withdraws every parked side, serves nothing instead
  memctl sign --promote 77aa01bc                     takes up a proposal, or a quarantined claim
  memctl sign --event 90cd12ef                       approves an event as it stands, whoever said it

Whoever signs is asked for the passphrase of the key on the terminal; --yes skips only the question before it.`;

export function makeCommand(cli: Cli): Command {
  return new Command('sign')
    .description("settle a subject with a signer's word: nothing unsigned outweighs it")
    .argument('[subject]', 'class/entity, for example ssh-route/mini')
    .option('--accept <ID>', 'this side is right: says it signed, and replaces the other sides')
    .option('--value <V>', 'neither side is right: the value that is')
    .option('--content <TEXT>', 'the same in words; with --retract: why')
    .addOption(new Option('--polarity <P>', 'exists (default) or absent').choices(['exists', 'absent']))
    .option('--home-ref <REF>', 'where the fact lives; default: where all sides say it does')
    .option('--hook <LINE>', 'one line for the index')
    .option('--text-file <F>', 'longer text from a file, - for stdin')
    .option('--names <WORDS>', 'other words that refer to it, comma separated')
    .option('--basis <IDS>', 'ids that this rests on, comma separated')
    .option('--audience <A>', 'who reads it; default: that of all sides, else operator')
    .addOption(
      new Option('--confidence <C>', 'stated or verified; default: inferred').choices([
        'inferred',
        'stated',
        'verified',
      ]),
    )
    .option('--retract', 'withdraw every parked side; serves nothing in their place')
    .option('--pin', 'keep the subject in the index')
    .option('--promote <ID>', 'take up a proposal or a quarantined event')
    .option('--event <ID>', 'approve an event as it stands')
    .option('--supersedes <IDS>', 'replace these too; a served claim is replaced only when it is named')
    .option('--leave <IDS>', 'let these served claims stand beside it')
    .option('--scope <S>', 'the project whose park is meant; default: the one that is parked, else everywhere (*)')
    .option('--key <PRIVFILE>', "a signer's private key; default: the one of init")
    .option('--yes', 'do not ask before the passphrase')
    .addHelpText('after', examples)
    .action((subject: string | undefined, options: Options) => runSign(cli, subject, options));
}

async function runSign(cli: Cli, subject: string | undefined, options: Options): Promise<void> {
  const request = await requestOf(subject, options);
  const signed = await signEvent(cli, request, { key: options.key, yes: options.yes });
  cli.output.result(signed, () => describeSigned(signed));
}

/** Options that each say what to sign; exactly one of them is given. A new claim is told by --value or --content. */
const acts = ['accept', 'promote', 'event', 'retract', 'pin'] as const;

async function requestOf(subject: string | undefined, options: Options): Promise<SignRequest> {
  const chosen = acts.filter((act) => options[act] !== undefined);
  const [act = 'claim'] = chosen;
  if (chosen.length > 1) throw usage(`--${chosen[0]} and --${chosen[1]} exclude each other`);
  const fields = await fieldsOf(options);
  const isNew = fields['value'] !== undefined || fields['content'] !== undefined;
  if (act === 'claim' && !isNew) throw usage('nothing is said: --accept ID, --value V, --content TEXT or --retract');
  if (act === 'accept' && isNew)
    throw usage('--accept says what that side says; --value and --content say something else');
  const names = Object.keys(fields).filter((name) => !(act === 'retract' && name === 'content'));
  if (act !== 'claim' && act !== 'accept' && names.length > 0) throw usage(`--${act} takes no --${names[0]}`);
  const id = act === 'accept' || act === 'promote' || act === 'event' ? options[act] : undefined;
  if (id === undefined && subject === undefined) throw usage(`no subject is named: memctl sign SUBJECT …`);
  return {
    act,
    ...given({ subject, id, scope: options.scope, supersedes: list(options.supersedes), leave: list(options.leave) }),
    ...(names.length === 0 && act !== 'retract' ? {} : { fields }),
  };
}

async function fieldsOf(options: Options): Promise<Record<string, unknown>> {
  const text = options.textFile === undefined ? undefined : await readTextInput(options.textFile);
  const { content, value, polarity, homeRef: home, hook, audience, confidence } = options;
  const lists = { names: list(options.names), basis: list(options.basis) };
  return given({ content, value, polarity, home, hook, text, audience, confidence, ...lists });
}

function given<T extends Record<string, unknown>>(all: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const present = Object.entries(all).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as { [K in keyof T]: Exclude<T[K], undefined> };
}

function list(words: string | undefined): string[] | undefined {
  return words
    ?.split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
}

function usage(message: string): Refusal {
  return new Refusal({ code: 'BAD_REQUEST', message, hint: 'memctl sign --help', exit: 2 });
}

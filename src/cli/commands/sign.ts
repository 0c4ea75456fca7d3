/** sign: a person's word on a subject. It stands on every host, and nothing unsigned outweighs it. */
import { Command, Option } from 'commander';
import type { SignRequest } from '../../daemon/api/sign-json.ts';
import { Refusal } from '../../daemon/refusal.ts';
import type { Cli } from '../context.ts';
import { writingScope } from '../here.ts';
import { readTextInput } from '../read-input.ts';
import { wordList } from '../signing-options.ts';
import { describeSigned, signEvent } from '../sign/flow.ts';
import { finishFile, prepareFile, signPrepared } from '../sign/prepared.ts';

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
  readonly prepare?: string;
  readonly finish?: string;
  readonly signature?: string;
  readonly file?: string;
}

const examples = `
Examples:
  memctl sign                                        goes through what is parked (terminal)
  memctl sign ssh-route/mini                         the same for one subject
  memctl sign ssh-route/mini --accept 3fa2b1c0       that side is right; the others are withdrawn
  memctl sign ssh-route/mini --value bastion --home-ref file:infra/FLEET.md#mini
                                                     neither is: this is
  memctl sign ssh-route/mini --retract               withdraws every parked side, serves nothing instead
  memctl sign --promote 77aa01bc                     takes up a proposal, or a quarantined claim
  memctl sign --event 90cd12ef                       approves an event as it stands, whoever said it
  memctl sign ssh-route/mini --accept 3fa2b1c0 --prepare mini.json
                                                     to be signed elsewhere: ssh-keygen -Y sign -n memd-event
  memctl sign --finish mini.json                     hands it in, with mini.json.sig beside it

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
    .option(
      '--scope <S>',
      'the project whose park is meant, . is the one here; default: the one that is parked, else everywhere (*)',
    )
    .option('--key <PRIVFILE>', "a signer's private key; default: the one of init")
    .option('--yes', 'do not ask before the passphrase')
    .option('--prepare <F>', 'write what is to be signed into a new file, for a machine without a mesh')
    .option('--finish <F>', 'hand in a prepared file and its signature, F.sig')
    .option('--signature <F>', 'the signature for --finish; default: F.sig')
    .option('--file <F>', 'sign a prepared file here; needs --key and no mesh, makes F.sig')
    .addHelpText('after', examples)
    .action((subject: string | undefined, options: Options) => runSign(cli, subject, options));
}

async function runSign(cli: Cli, subject: string | undefined, options: Options): Promise<void> {
  const { key, yes, prepare } = options;
  if (options.finish !== undefined || options.file !== undefined) return runPrepared(cli, subject, options);
  if (subject === undefined && options.promote === undefined && options.event === undefined) {
    const other = Object.keys(options).find((name) => name !== 'key' && name !== 'yes');
    if (other !== undefined) throw usage(`--${other} says nothing without a subject: memctl sign SUBJECT …`);
    return askParks(cli, subject, options);
  }
  if (subject !== undefined && process.stdin.isTTY && saysNothing(options)) return askParks(cli, subject, options);
  const request = await requestOf(subject, options);
  if (prepare === undefined) {
    const signed = await signEvent(cli, request, { key, yes });
    return cli.output.result(signed, () => describeSigned(signed));
  }
  const made = await prepareFile(cli, request, { file: prepare, key });
  cli.output.result(made, () => [
    `prepared ${made.subject} in ${made.file}; ${made.file}.txt says what it is`,
    `where the key is: ${made.command}`,
    `then here: memctl sign --finish ${made.file}`,
  ]);
}

/** Loads what asks only when somebody is there to be asked. */
async function askParks(cli: Cli, subject: string | undefined, { key, yes, scope }: Options): Promise<void> {
  const { requirePerson, signParks } = await import('../sign/interactive.ts');
  requirePerson();
  if (cli.output.json) throw usage('the list of parks is for people: with --json say what to sign');
  return signParks(cli, { key, yes }, { subject, scope });
}

/** True when only the subject is named: what to say on it is for the person to choose. */
function saysNothing(options: Options): boolean {
  return Object.keys(options).every((name) => ['key', 'yes', 'scope'].includes(name));
}

/** A file that --prepare wrote: signed here, or handed in. */
async function runPrepared(cli: Cli, subject: string | undefined, options: Options): Promise<void> {
  const { finish, file, signature, key, yes } = options;
  const others = acts.filter((act) => options[act] !== undefined);
  if (subject !== undefined || others.length > 0)
    throw usage('a prepared file says itself what it is: name nothing else');
  if (finish !== undefined) {
    const signed = await finishFile(cli, { file: finish, signature });
    return cli.output.result(signed, () => describeSigned(signed));
  }
  if (file === undefined || key === undefined) throw usage('--file needs --key: the private key that signs it');
  const made = await signPrepared(cli, { file, key, yes });
  cli.output.result(made, () => [
    `signed ${made.file}: ${made.signature}`,
    `next, on a host of the mesh: memctl sign --finish ${made.file}`,
  ]);
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
  const scope = options.scope === '.' ? await writingScope('.') : options.scope;
  return {
    act,
    ...given({ subject, id, scope, supersedes: list(options.supersedes), leave: list(options.leave) }),
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

function list(words: string | undefined): readonly string[] | undefined {
  return words === undefined ? undefined : wordList(words);
}

function usage(message: string): Refusal {
  return new Refusal({ code: 'BAD_REQUEST', message, hint: 'memctl sign --help', exit: 2 });
}

/** assert, lesson, decide, question, propose, retract: one event each. Host, time and nonce are set by the process that appends. */
import { Command, Option } from 'commander';
import type { BodyInput, Kind } from '../../core/event.ts';
import type { AppendedJson } from '../../daemon/api/api-types.ts';
import { counted } from '../../daemon/counted.ts';
import { shortId } from '../output.ts';
import { readTextInput } from '../read-input.ts';
import type { Cli } from '../context.ts';
import { appendEvents, takeAppendOptions, type AppendOptions } from '../appending.ts';
import { writingScope } from '../here.ts';

interface ClaimOptions {
  readonly polarity?: 'exists' | 'absent';
  readonly value?: string;
  readonly source?: string;
  readonly basis?: string;
  readonly supersedes?: string;
  readonly scope?: string;
  readonly audience?: string;
  readonly confidence?: string;
  readonly lineage?: string;
  readonly hook?: string;
  readonly text?: string;
  readonly textFile?: string;
  readonly names?: string;
  readonly as?: string;
}

interface Verb {
  readonly name: string;
  readonly kind: Kind;
  readonly what: string;
  readonly content: string;
  readonly options: readonly (keyof typeof optionTable)[];
  readonly examples: readonly string[];
}

const optionTable = {
  value: () =>
    new Option('--value <V>', 'the comparable value; two different values of one subject contradict each other'),
  polarity: () => new Option('--polarity <P>', 'exists (default) or absent').choices(['exists', 'absent']),
  home: () =>
    new Option('--home-ref <REF>', 'where it lives, an assert always: file:PATH#anchor, https://…, git:REPO:PATH@REF'),
  basis: () => new Option('--basis <IDS>', 'ids that this rests on, comma separated'),
  supersedes: () => new Option('--supersedes <IDS>', 'ids that this replaces, comma separated (unique prefixes ≥ 8)'),
  scope: () =>
    new Option('--scope <S>', 'a project; . is the one here; default: what its .memd file says, else everywhere (*)'),
  audience: () => new Option('--audience <A>', 'who reads it; default: operator'),
  confidence: () =>
    new Option('--confidence <C>', 'stated or verified; default: inferred').choices(['inferred', 'stated', 'verified']),
  lineage: () =>
    new Option('--lineage <L>', 'untrusted: derived from text of strangers').choices(['trusted', 'untrusted']),
  hook: () => new Option('--hook <LINE>', 'one line for the index'),
  text: () => new Option('--text-file <F>', 'longer text from a file, - for stdin'),
  names: () => new Option('--names <WORDS>', 'other words that refer to it, comma separated'),
  as: () =>
    new Option('--as <KIND>', 'what it would be; default: a lesson for class lesson, else an assert').choices([
      'assert',
      'lesson',
    ]),
} as const;

const assertVerb: Verb = {
  name: 'assert',
  kind: 'assert',
  what: 'claim a fact about the world',
  content: '[content]',
  options: [
    'value',
    'polarity',
    'home',
    'basis',
    'supersedes',
    'scope',
    'audience',
    'confidence',
    'lineage',
    'hook',
    'text',
    'names',
  ],
  examples: [
    'memctl assert endpoint/grafana --value nas:3000 --home-ref file:infra/SERVICES.md#grafana',
    'memctl assert ssh-route/mini "tried from desk" --value ops@mini --home-ref file:infra/FLEET.md --confidence verified',
    'memctl assert endpoint/grafana --value nas:3000 --home-ref file:infra/SERVICES.md#grafana --sync=2 --timeout 1m',
  ],
};
const lessonVerb: Verb = {
  name: 'lesson',
  kind: 'lesson',
  what: 'record a rule of behaviour',
  content: '<content>',
  options: ['home', 'basis', 'supersedes', 'scope', 'audience', 'confidence', 'lineage', 'hook', 'text', 'names'],
  examples: ['memctl lesson lesson/quote-paths "Quote every path in shell commands"'],
};
const decideVerb: Verb = {
  name: 'decide',
  kind: 'decision',
  what: 'record a choice and why; rationale, never served as truth',
  content: '<content>',
  options: ['home', 'basis', 'supersedes', 'scope', 'audience', 'lineage', 'text'],
  examples: ['memctl decide decision/db "Postgres; SQLite was rejected: two writers"'],
};
const questionVerb: Verb = {
  name: 'question',
  kind: 'question',
  what: 'mark a subject as undecided until it is answered',
  content: '<content>',
  options: ['supersedes', 'scope', 'audience', 'lineage'],
  examples: ['memctl question endpoint/grafana "Does it move to nas2 with the rack?"'],
};
const proposeVerb: Verb = {
  name: 'propose',
  kind: 'propose',
  what: 'suggest a claim; it is never served unless a signer takes it up',
  content: '[content]',
  options: ['as', ...assertVerb.options],
  examples: ['memctl propose endpoint/grafana --value nas2:3000 --home-ref file:infra/SERVICES.md#grafana'],
};
const retractVerb: Verb = {
  name: 'retract',
  kind: 'retract',
  what: 'withdraw claims; serves nothing in their place',
  content: '[content]',
  options: ['supersedes', 'scope', 'audience', 'lineage'],
  examples: [
    "memctl retract ssh-route/mini                       withdraws this host's own live claims on it",
    'memctl retract ssh-route/mini --supersedes 3fa2b1c0 "measured wrongly"',
  ],
};

export const makeAssert = (cli: Cli): Command => makeVerb(cli, assertVerb);
export const makeLesson = (cli: Cli): Command => makeVerb(cli, lessonVerb);
export const makeDecide = (cli: Cli): Command => makeVerb(cli, decideVerb);
export const makeQuestion = (cli: Cli): Command => makeVerb(cli, questionVerb);
export const makePropose = (cli: Cli): Command => makeVerb(cli, proposeVerb);
export const makeRetract = (cli: Cli): Command => makeVerb(cli, retractVerb);

function makeVerb(cli: Cli, verb: Verb): Command {
  const command = new Command(verb.name)
    .description(verb.what)
    .argument('<subject>', 'class/entity, for example ssh-route/mini')
    .argument(verb.content, verb.kind === 'retract' ? 'why' : 'what it says');
  for (const name of verb.options) command.addOption(optionTable[name]());
  return takeAppendOptions(command)
    .addHelpText('after', `\nExamples:\n${verb.examples.map((line) => `  ${line}`).join('\n')}`)
    .action(async (subject: string, content: string | undefined, options: ClaimOptions & AppendOptions) => {
      const scope = await writingScope(options.scope);
      const event = await eventOf(verb.kind, subject, content, scope === undefined ? options : { ...options, scope });
      for (const result of await appendEvents(cli, [event], options))
        cli.output.result(result, () => describeAppended(event, result));
    });
}

/** Lines that tell a person what an append did. Pure. */
export function describeAppended(event: BodyInput, result: AppendedJson): string[] {
  const lines = [
    `${event.kind} ${event.subject} ${shortId(result.id)} (${result.host}:${result.seq})${replicatedTo(result)}`,
  ];
  if (result.supersedes.length > 0) lines.push(`  supersedes ${result.supersedes.map(shortId).join(', ')}`);
  if (result.contradicts.length > 0) {
    lines.push(`  contradicts ${result.contradicts.map(shortId).join(', ')}: memctl recall ${event.subject}`);
  }
  return lines;
}

/** In a mesh of one there is nobody to wait for, and nothing to say. */
export function replicatedTo(result: AppendedJson | undefined): string {
  const { replicated = 0, peers = 0 } = result ?? {};
  return peers === 0 ? '' : `, replicated to ${replicated} of ${counted(peers, 'peer')}`;
}

async function eventOf(
  kind: Kind,
  subject: string,
  content: string | undefined,
  options: ClaimOptions & { readonly homeRef?: string },
): Promise<BodyInput> {
  const text = options.textFile === undefined ? undefined : await readTextInput(options.textFile);
  const given = {
    content,
    value: options.value,
    polarity: options.polarity,
    home: options.homeRef,
    basis: idList(options.basis),
    supersedes: idList(options.supersedes),
    names: idList(options.names),
    scope: options.scope,
    audience: options.audience,
    confidence: options.confidence,
    lineage: options.lineage,
    hook: options.hook,
    text,
    proposes: kind === 'propose' ? (options.as ?? proposedKind(subject)) : undefined,
  };
  const present = Object.entries(given).filter(([, value]) => value !== undefined);
  return { kind, subject, ...Object.fromEntries(present) };
}

/** What a suggestion about a subject is, when nobody says. Pure. */
export function proposedKind(subject: string): 'assert' | 'lesson' {
  return subject.startsWith('lesson/') ? 'lesson' : 'assert';
}

function idList(words: string | undefined): string[] | undefined {
  return words
    ?.split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
}

/** memctl sign without arguments: the parks one by one, on a terminal. */
import { isCancel, select, text } from '@clack/prompts';
import type { ClaimJson, ParkJson } from '../../daemon/api/api-types.ts';
import type { SignRequest } from '../../daemon/api/sign-json.ts';
import { counted } from '../../daemon/counted.ts';
import { describeError } from '../../daemon/describe-error.ts';
import { Refusal } from '../../daemon/refusal.ts';
import { claimLine, oneLine, saying } from '../claim-text.ts';
import type { Cli } from '../context.ts';
import { ago } from '../output.ts';
import { terminalText } from '../terminal-text.ts';
import { describeSigned, signEvent, type SignOptions } from './flow.ts';

/** Prompts go to stderr: stdout has what was signed, and nothing else. */
const screen = { output: process.stderr } as const;

/** Which parks are meant; all when no subject is named. */
export interface ParkChoice {
  readonly subject: string | undefined;
  readonly scope: string | undefined;
}

/**
 * Goes on until nothing of it is parked or the person has had enough. What is refused is said, and the list comes again.
 * Refuses NOTHING_TO_SIGN for a subject on which nothing is parked.
 */
export async function signParks(cli: Cli, options: SignOptions, meant: ParkChoice): Promise<void> {
  for (let round = 0; ; round += 1) {
    const { parks: all } = await cli.call('parks', {});
    const parks = all.filter((park) => isMeant(park, meant));
    if (parks.length === 0) return sayDone(meant, round);
    const park = await choosePark(parks);
    if (park === undefined) return;
    let request = await chooseAnswer(park);
    while (request !== undefined) request = await signOne(cli, request, options);
  }
}

function isMeant(park: ParkJson, { subject, scope }: ParkChoice): boolean {
  return (subject === undefined || park.subject === subject) && (scope === undefined || park.scope === scope);
}

function sayDone({ subject }: ParkChoice, round: number): void {
  if (subject === undefined) return say('no parks: nothing that is known here contradicts anything else');
  if (round > 0) return;
  throw new Refusal({
    code: 'NOTHING_TO_SIGN',
    message: `nothing is parked on ${subject}`,
    hint: `to sign something on it: memctl sign ${subject} --value V, or --content TEXT`,
    exit: 6,
  });
}

/** @returns the request as the person widened it, to be tried again; undefined when it is done, or was given up. */
async function signOne(cli: Cli, request: SignRequest, options: SignOptions): Promise<SignRequest | undefined> {
  try {
    const signed = await signEvent(cli, request, options);
    cli.output.result(signed, () => describeSigned(signed));
    return undefined;
  } catch (error) {
    const { code, message, hint = '', ids } = describeError(error);
    if (code === 'SERVED_CLAIM' && ids !== undefined) return nameReached(request, message, ids);
    say(`${message}${hint === '' ? '' : `\n  next: ${hint}`}`);
    return undefined;
  }
}

/** What would be reached beyond the park is named by the person, or left, or nothing is done. */
async function nameReached(
  request: SignRequest,
  message: string,
  ids: readonly string[],
): Promise<SignRequest | undefined> {
  say(message);
  const { supersedes = [], leave = [] } = request;
  const known = new Set([...supersedes, ...leave]);
  if (ids.every((id) => known.has(id))) return undefined;
  const chosen = await select({
    message: `What about ${ids.join(', ')}?`,
    options: [
      { value: 'replace', label: 'replace it too' },
      { value: 'leave', label: 'let it stand beside' },
      { value: '', label: 'sign nothing' },
    ],
    initialValue: '',
    ...screen,
  });
  if (chosen === 'replace') return { ...request, supersedes: [...supersedes, ...ids] };
  return chosen === 'leave' ? { ...request, leave: [...leave, ...ids] } : undefined;
}

async function choosePark(parks: readonly ParkJson[]): Promise<ParkJson | undefined> {
  const options = parks.map((park, at) => ({ value: at, label: parkLabel(park) }));
  const chosen = await select({
    message: `${counted(parks.length, 'subject')} unresolved. Which one?`,
    options: [...options, { value: -1, label: 'none: leave' }],
    ...screen,
  });
  return isCancel(chosen) ? undefined : parks[chosen];
}

function parkLabel({ subject, scope, claims, since }: ParkJson): string {
  const where = scope === '*' ? '' : ` in ${scope}`;
  return shown(`${subject}${where}, ${counted(claims.length, 'side')}, newest ${ago(since, Date.now())}`);
}

const third = 'third';
const withdraw = 'withdraw';

async function chooseAnswer(park: ParkJson): Promise<SignRequest | undefined> {
  say(describeSides(park).join('\n'));
  const sides = park.claims.map((claim, at) => ({
    value: claim.id,
    label: `${at + 1} is right: ${shown(saying(claim), sideCharactersMax)}`,
  }));
  const chosen = await select({
    message: `${park.subject}: what is right?`,
    options: [
      ...sides,
      { value: third, label: 'none of them: write what is' },
      { value: withdraw, label: 'none of them: withdraw all' },
      { value: '', label: 'leave it parked' },
    ],
    ...screen,
  });
  if (isCancel(chosen) || chosen === '') return undefined;
  const { subject, scope } = park;
  if (chosen === withdraw) return { act: 'retract', subject, scope };
  if (chosen !== third) return { act: 'accept', subject, scope, id: chosen };
  const fields = await writeThird(park);
  return fields === undefined ? undefined : { act: 'claim', subject, scope, fields };
}

/** Every side with who says it, where and when. Pure but for the clock. */
function describeSides({ subject, claims }: ParkJson): string[] {
  const now = Date.now();
  return [
    `UNRESOLVED ${subject}`,
    ...claims.map((claim, at) =>
      [
        `  ${at + 1}  ${shown(saying(claim), sideCharactersMax)}`,
        `     ${claimLine(claim, now)}`,
        ...(claim.home === undefined ? [] : [`     home: ${oneLine(claim.home)}`]),
      ].join('\n'),
    ),
  ];
}

/** What a person says instead. Undefined when they thought better of it. */
async function writeThird({ claims }: ParkJson): Promise<Record<string, string> | undefined> {
  const isRule = claims.some(({ kind }) => kind === 'lesson');
  const value = isRule ? '' : await ask('Its value (may be empty)', '');
  if (value === undefined) return undefined;
  const content = await ask(value === '' ? 'In words' : 'In words (may be empty)', '', value === '');
  if (content === undefined) return undefined;
  const home = isRule ? '' : await ask('Where the fact lives', commonHome(claims), true);
  if (home === undefined) return undefined;
  const fields = Object.entries({ value, content, home }).filter(([, said]) => said !== '');
  return Object.fromEntries(fields);
}

async function ask(message: string, initialValue: string, needed = false): Promise<string | undefined> {
  const answer = await text({
    message,
    initialValue,
    validate: (said) => (needed && (said ?? '').trim() === '' ? 'it cannot be empty' : undefined),
    ...screen,
  });
  return isCancel(answer) ? undefined : (answer ?? '').trim();
}

function commonHome(claims: readonly ClaimJson[]): string {
  const homes = new Set(claims.map(({ home }) => home ?? ''));
  const [first = ''] = homes;
  return homes.size === 1 ? shown(first) : '';
}

/** Characters of a side in a list; the whole of it is shown before it is signed. */
const sideCharactersMax = 160;

/** Somebody else's words in a list on the terminal. */
function shown(words: string, charactersMax = 600): string {
  const line = terminalText(oneLine(words));
  return line.length <= charactersMax ? line : `${line.slice(0, charactersMax)}…`;
}

function say(words: string): void {
  process.stderr.write(`${terminalText(words)}\n`);
}

/** Refuses NO_TERMINAL. */
export function requirePerson(): void {
  if (process.stdin.isTTY) return;
  throw new Refusal({
    code: 'NO_TERMINAL',
    message: 'the list of parks is for a person at a terminal, and there is none; nothing was signed',
    hint: 'memctl parks, then memctl sign SUBJECT --accept ID in a terminal',
    exit: 6,
  });
}

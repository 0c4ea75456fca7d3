/** What a person is told: machine, agent, time, both sides, and the command that settles it. Claims are hostile text. */
import type { EventView } from '../../core/fold/state.ts';
import { notifyShownMax } from '../../core/limits.ts';
import { isRaised } from '../../core/notify/told.ts';
import type { Message, Standing, Telling } from '../../core/notify/state.ts';
import { inlineText } from '../../core/views/escape.ts';
import { counted } from '../counted.ts';

/** The JSON document of notifiers. A command gets it on stdin, a webhook as the body. */
export interface MessageJson {
  readonly mesh: string;
  /** The host that tells. */
  readonly host: string;
  /** Its clock, when it tells. */
  readonly at: string;
  readonly title: string;
  /** Several lines. What others said stands escaped in it. */
  readonly text: string;
  readonly items: readonly {
    readonly what: 'raised' | 'cleared';
    readonly kind: string;
    readonly subject: string;
    readonly host: string | null;
  }[];
  /** Things that are left out. */
  readonly more: number;
}

/** What is known of an alarm beyond its identity. */
export interface Details {
  /** The sides of a park; none for anything else. */
  readonly sides: readonly EventView[];
  /** A sentence for an alarm that is no park; '' when there is none. */
  readonly detail: string;
}

export interface MessageOptions {
  readonly mesh: string;
  readonly host: string;
  readonly at: string;
  readonly details: (standing: Standing) => Details;
}

const parkKinds: ReadonlySet<string> = new Set(['PARKED', 'SIGNERS_DISAGREE']);
const sidesShown = 4;
const sideBytesMax = 200;
const titleBytesMax = 160;

/** The message. Pure but for `details`. */
export function messageOf({ tellings, dropped }: Message, options: MessageOptions): MessageJson {
  const { mesh, host, at } = options;
  const shown = tellings.slice(0, notifyShownMax);
  const more = tellings.length - shown.length + dropped;
  const [only] = tellings;
  const one = tellings.length + dropped === 1 && only !== undefined;
  const lines = one
    ? [...detailLines(only, options), nextStep(only)]
    : [...shown.map(headline), ...(more > 0 ? [`and ${more} more`] : []), 'memctl status; memctl parks'];
  return {
    mesh,
    host,
    at,
    title: inlineText(`memd: ${one ? headline(only) : summary(tellings, dropped)}`, titleBytesMax),
    text: lines.filter((line) => line !== '').join('\n'),
    items: shown.map(({ n, standing }) => ({
      what: isRaised(n) ? 'raised' : 'cleared',
      kind: standing.kind,
      subject: standing.about,
      host: standing.host,
    })),
    more,
  };
}

/** A message that only shows that a notifier works. Pure. */
export function testMessage({ mesh, host, at }: Omit<MessageOptions, 'details'>, name: string): MessageJson {
  const text = `Notifier ${name} of host ${host} works. Nothing is wrong.`;
  return { mesh, host, at, title: 'memd: test', text, items: [], more: 0 };
}

function headline({ n, standing }: Telling): string {
  const { kind, about, host } = standing;
  if (parkKinds.has(kind)) {
    const signers = kind === 'SIGNERS_DISAGREE' ? ' (signers disagree)' : '';
    return isRaised(n) ? `${about} is UNRESOLVED${signers}` : `${about} is settled`;
  }
  const where = [about === '' ? '' : `on ${about}`, host === null || host === about ? '' : `by host ${host}`];
  return [kind, ...where, isRaised(n) ? '' : 'is over'].filter((part) => part !== '').join(' ');
}

function summary(tellings: readonly Telling[], dropped: number): string {
  const raised = tellings.filter(({ n }) => isRaised(n)).length;
  const parts = [
    raised > 0 ? `${counted(raised, 'thing')} to look at` : '',
    tellings.length > raised ? `${counted(tellings.length - raised, 'thing')} settled` : '',
    dropped > 0 ? `${dropped} more` : '',
  ];
  return parts.filter((part) => part !== '').join(', ');
}

function detailLines({ n, standing }: Telling, { details }: MessageOptions): readonly string[] {
  if (!isRaised(n)) return [];
  const { sides, detail } = details(standing);
  const shown = sides.slice(0, sidesShown).map(sideLine);
  const more = sides.length > sidesShown ? [`and ${sides.length - sidesShown} more`] : [];
  return [...shown, ...more, inlineText(detail, 2 * sideBytesMax)];
}

function sideLine({ body, signers }: EventView): string {
  if (body === null) return '';
  const by = signers.length > 0 ? `${body.host}, signed by ${signers.join(', ')}` : body.host;
  const polarity = body.polarity === 'absent' ? 'not: ' : '';
  const says = [body.value === undefined ? '' : `= ${body.value}`, body.content ?? ''].filter((part) => part !== '');
  const who = inlineText(`${by}, session ${body.session}, ${body.at}`, sideBytesMax);
  return `${who}: ${polarity}${inlineText(says.join(' — '), sideBytesMax)}`;
}

function nextStep({ n, standing }: Telling): string {
  if (!isRaised(n)) return '';
  return parkKinds.has(standing.kind) ? `Settle it: memctl sign ${standing.about}` : 'Look at it: memctl status';
}

/** Events of every kind about subjects that are reused: corrections, contradictions, questions, untrusted text, odd letters. */
import type { Random } from '../../test/lib/random.ts';

type Event = Readonly<Record<string, unknown>>;

export interface MixedEvents {
  /** So many events of a host. */
  next(host: string, count: number): readonly Event[];
  /** Notes the ids of events that were appended. */
  made(host: string, events: readonly Event[], ids: readonly string[]): void;
  /** How many of each kind. */
  summary(): string;
}

interface Made {
  readonly id: string;
  readonly subject: string;
}

const classes = ['ssh-route', 'endpoint', 'note'] as const;
/** '': not named, so the default. */
const audiences = ['', '', 'crew'] as const;
const scopes = ['', '', 'infra'] as const;
/** What sorts, folds case or normalises otherwise in some locale. */
const words = [
  'istanbul İI',
  'äpfel',
  'Ångström',
  'e\u0301te\u0301',
  'zebra',
  'ß',
  'žluť',
  '日本',
  '🦓',
  '`row` | cell',
] as const;
const subjectsPerClass = 400;

export function mixedEvents(random: Random): MixedEvents {
  /** By host: claims of its own that it may correct; and everything that anybody said. */
  const own = new Map<string, Made[]>();
  const observed = new Map<string, Made[]>();
  const kinds = new Map<string, number>();

  const subjectOf = (): string => {
    const skewed = Math.floor(subjectsPerClass * random.next() ** 2);
    return `${random.pick(classes)}/s${skewed}`;
  };
  const base = (kind: string, subject: string): Event => {
    const [audience, scope] = [random.pick(audiences), random.pick(scopes)];
    return {
      kind,
      subject,
      ...(audience === '' ? {} : { audience }),
      ...(scope === '' ? {} : { scope }),
      ...(random.below(40) === 0 && kind !== 'observe' ? { lineage: 'untrusted' } : {}),
    };
  };
  const claimOf = (host: string): Event => {
    const cited = observed.get(host) ?? [];
    const basis = cited.length > 0 && random.below(10) === 0 ? { basis: [random.pick(cited).id] } : {};
    const value = `${random.pick(words)} ${random.below(3)}`;
    return { ...base('assert', subjectOf()), value, content: `it is ${value}`, home: 'file:x#y', ...basis };
  };
  const correction = (host: string): Event => {
    const mine = own.get(host) ?? [];
    if (mine.length === 0) return claimOf(host);
    const { id, subject } = random.pick(mine);
    const supersedes = [id];
    if (random.below(3) === 0) return { kind: 'retract', subject, supersedes };
    return { kind: 'assert', subject, value: `corrected ${random.below(3)}`, home: 'file:x', supersedes };
  };
  const one = (host: string): Event => {
    const draw = random.below(100);
    const content = `${random.pick(words)} and ${random.pick(words)}, ${random.below(1_000)}`;
    if (draw < 45) return claimOf(host);
    if (draw < 60) return correction(host);
    if (draw < 78) return { ...base('lesson', `lesson/l${random.below(300)}`), content, hook: content };
    if (draw < 86) return { ...base('decision', subjectOf()), content };
    if (draw < 89) return { ...base('question', subjectOf()), content };
    if (draw < 95)
      return {
        kind: 'observe',
        subject: subjectOf(),
        home: 'file:x#y',
        digest: `sha256:${String(random.below(3)).repeat(64)}`,
      };
    return { ...base('propose', subjectOf()), proposes: 'assert', value: 'proposed', home: 'file:x' };
  };
  return {
    next: (host, count) => Array.from({ length: count }, () => one(host)),
    made(host, events, ids) {
      for (const [index, event] of events.entries()) {
        const { kind, subject } = event as { readonly kind: string; readonly subject: string };
        kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
        const book = kind === 'observe' ? observed : kind === 'assert' ? own : undefined;
        if (book === undefined) continue;
        const list = book.get(host) ?? [];
        book.set(host, list);
        list.push({ id: ids[index] ?? '', subject });
      }
    },
    summary: () => [...kinds].map(([kind, count]) => `${count} ${kind}`).join(', '),
  };
}

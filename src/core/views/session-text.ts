/**
 * What a session is told at its start: INDEX.md in short, the most important first. The first part stands alone, since a
 * harness may show only the beginning of a long text. Worded as facts, not as orders: harnesses distrust injected orders.
 * Source: docs/fold.md R6, R7.
 */
import { indexUnresolvedPart } from '../limits.ts';
import { audienceClosure } from '../trust/charter.ts';
import { fileOf, partOf, roomBeside, roomOf, takeFitting, type Budget } from './budget.ts';
import { newestLine, openLine, servedLine, withheldLine } from './index-file.ts';
import { plainMark } from './row.ts';
import { selectFor, type Selection, type ViewCache } from './selection.ts';
import type { OpenEntry, Reader, ServedEntry } from './subject-summary.ts';
import type { ViewSource } from './view-source.ts';

/** A row that a session was given; `id` is null for a subject without an answer. */
export interface GivenRow {
  readonly subject: string;
  readonly scope: string;
  readonly id: string | null;
  readonly stale?: true;
}

export interface SessionTextOptions {
  /** First line: how memd does. Its words and numbers are ours. */
  readonly statusLine: string;
  /** Whole lines after it, ours too. */
  readonly notes: readonly string[];
  readonly reader: Reader;
  /** UTF-8 bytes of the part that stands alone, and of everything. */
  readonly firstBytes: number;
  readonly bytes: number;
}

export interface SessionText {
  readonly text: string;
  readonly given: readonly GivenRow[];
}

/** Who looks, out of names. `operator` sees its own also before the charter is held. Pure. */
export function readerOf({ charter }: ViewSource, audience: string, scope: string | null): Reader {
  const own = audience === 'operator' ? [audience] : [];
  return { audiences: new Set([...audienceClosure(charter, audience), ...own]), scope };
}

/** Chooses and ranks for one reader; see `selectFor`. */
export function selectForSession(
  source: ViewSource,
  reader: Reader,
  caches: { readonly own: ViewCache; readonly shared: ViewCache },
): Selection {
  return selectFor(source, reader, caches.own, caches.shared);
}

/** The text. Lines are never cut; what does not fit is counted in the last line, with how to ask. Pure. */
export function sessionText(source: ViewSource, selection: Selection, options: SessionTextOptions): SessionText {
  const { statusLine, notes, firstBytes, bytes } = options;
  const total = selection.served.length + selection.open.length;
  const head = [statusLine, ...notes, introduction(source, options.reader), ''];
  const room = (size: number, lines: readonly string[]): Budget =>
    roomBeside({ bytes: size, lines: size }, roomOf(lines));
  const first = takePart(source, selection, {
    from: { served: 0, open: 0 },
    room: room(firstBytes, [...head, lastLine(total), firstLine(total, total)]),
    headings: firstHeadings,
  });
  const withheld = withheldLine(selection);
  if (first.served + first.open === total || bytes <= firstBytes) {
    const left = total - first.served - first.open;
    const text = fileOf([...head, ...first.lines, withheld, lastLine(left)]);
    return { text, given: givenRows(selection, first) };
  }
  const opening = [...head, ...first.lines, firstLine(first.served + first.open, total)];
  const tail = ['', withheld, newestLine(selection.newest, { bytes, lines: bytes })].filter((line) => line !== '');
  const rest = takePart(source, selection, {
    from: first,
    room: room(bytes, [...opening, '', ...tail, lastLine(total)]),
    headings: moreHeadings,
  });
  const shown = { served: first.served + rest.served, open: first.open + rest.open };
  const ending = [...tail, lastLine(total - shown.served - shown.open)];
  return { text: fileOf([...opening, '', ...rest.lines, ...ending]), given: givenRows(selection, shown) };
}

function introduction(source: ViewSource, { scope }: Reader): string {
  const hosts = source.charter.hosts.size;
  const where = scope === null || scope === '*' ? '' : ` for project ${plainMark(scope)}`;
  return (
    `Shared memory of ${hosts} ${hosts === 1 ? 'host' : 'hosts'}${where}. Rows are data that sessions wrote down; the brackets` +
    ' before a text say who stands behind it. A fact is a pointer: what holds now is in its home (→) or in `memctl recall SUBJECT`.'
  );
}

const firstHeadings = {
  open: 'Unresolved (claims contradict each other; none of them is the answer):',
  rule: 'Rules:',
  fact: 'Facts:',
} as const;
const moreHeadings = { open: 'More unresolved:', rule: 'More rules:', fact: 'More facts:' } as const;

type Headings = Readonly<Record<'open' | 'rule' | 'fact', string>>;

interface Counts {
  readonly served: number;
  readonly open: number;
}

interface Part extends Counts {
  readonly lines: readonly string[];
}

/** The best rows that are left: unresolved subjects up to their share, then by rank, then more unresolved ones. */
function takePart(
  source: ViewSource,
  { served, open }: Selection,
  { from, room, headings }: { readonly from: Counts; readonly room: Budget; readonly headings: Headings },
): Part {
  const space = roomBeside(room, roomOf(Object.values(headings)));
  const openRow = (i: number): readonly string[] => [openLine(open[from.open + i] as OpenEntry)];
  const openCount = open.length - from.open;
  const openFirst = takeFitting(openCount, partOf(space, indexUnresolvedPart), openRow).flat();
  const beside = roomBeside(space, roomOf(openFirst));
  const rows = takeFitting(served.length - from.served, beside, (i) => [
    servedLine(source, served[from.served + i] as ServedEntry),
  ]).flat();
  const left = roomBeside(beside, roomOf(rows));
  const openRest = takeFitting(openCount - openFirst.length, left, (i) => openRow(openFirst.length + i)).flat();
  const section = (name: 'rule' | 'fact'): readonly string[] =>
    rows.filter((_, i) => served[from.served + i]?.section === name);
  const openRows = [...openFirst, ...openRest];
  return {
    served: rows.length,
    open: openRows.length,
    lines: [
      ...under(headings.open, openRows),
      ...under(headings.rule, section('rule')),
      ...under(headings.fact, section('fact')),
    ],
  };
}

function under(title: string, rows: readonly string[]): readonly string[] {
  return rows.length === 0 ? [] : [title, ...rows];
}

function firstLine(shown: number, total: number): string {
  return `The ${shown} most important of ${total} rows stand above; the next ones follow. Asking: \`memctl recall SUBJECT\`, \`memctl search WORDS\`.`;
}

function lastLine(left: number): string {
  return left === 0
    ? 'Nothing is left out. New lessons and facts: `memctl lesson`, `memctl assert` (skill memd).'
    : `${left} more: \`memctl search WORDS\` or \`memctl recall SUBJECT\`.`;
}

function givenRows({ served, open }: Selection, shown: Counts): readonly GivenRow[] {
  return [
    ...served.slice(0, shown.served).map(({ subject, scope, id, record }) => {
      const row = { subject, scope, id };
      return record.flags.includes('stale') ? { ...row, stale: true as const } : row;
    }),
    ...open.slice(0, shown.open).map(({ record }) => ({ subject: record.subject, scope: record.scope, id: null })),
  ];
}

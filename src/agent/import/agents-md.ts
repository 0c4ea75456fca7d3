/** AGENTS.md and CLAUDE.md: every rule that stands there as a list item becomes a lesson. */
import { isHome } from '../../core/body-fields.ts';
import type { BodyInput } from '../../core/event.ts';
import { readBlocks, type Bullet, type OtherBlock } from './markdown-blocks.ts';
import { plainEvent } from './plain-event.ts';
import { entitySlug } from './slug.ts';
import type { ImportPlan, ImportRemark } from './types.ts';

/** Files of a folder that hold rules, in the order in which they are read. */
export const ruleFileNames = ['AGENTS.md', 'CLAUDE.md'] as const;

/** Characters of a subject made of a rule: enough to know it again in a list. */
const slugCharactersMax = 60;
const reasonLine = /^(?:reason|why|because|rationale)\b[:,]?/i;

interface Gathered {
  readonly events: BodyInput[];
  readonly skipped: ImportRemark[];
  readonly noted: ImportRemark[];
  /** Rule that took a subject. */
  readonly subjects: Map<string, string>;
}

/**
 * Reads the rules of files of one folder. Headings and the item above are context, kept in `text` together with the
 * reason; tables, code, comments and running text are no rules and are named. The home is the section of the file. Pure.
 */
export function readRules(files: readonly { readonly name: string; readonly text: string }[]): ImportPlan {
  const gathered: Gathered = { events: [], skipped: [], noted: [], subjects: new Map() };
  for (const { name, text } of files) {
    const { bullets, others } = readBlocks(text);
    const found: (ImportRemark & { readonly line: number })[] = others.map((other) => ({
      line: other.from,
      what: placeOf(name, other),
      why: `${other.what}, not a rule in a list`,
    }));
    const leading = new Set(bullets.flatMap(({ parent }) => (parent !== undefined && leadsIn(parent) ? [parent] : [])));
    for (const bullet of bullets) {
      if (leading.has(bullet)) continue;
      const why = takeRule(name, bullet, gathered);
      if (why !== '') found.push({ line: bullet.line, what: `${name} line ${bullet.line}`, why });
    }
    found.sort((a, b) => a.line - b.line);
    gathered.skipped.push(...found.map(({ what, why }) => ({ what, why })));
  }
  const { events, skipped, noted } = gathered;
  return { kind: 'agents-md', events, skipped, noted };
}

function placeOf(name: string, { from, to }: OtherBlock): string {
  return from === to ? `${name} line ${from}` : `${name} lines ${from}-${to}`;
}

/** True for an item that only says what the items below it are about. */
function leadsIn({ lines }: Bullet): boolean {
  return lines.length === 1 && lines[0]?.endsWith(':') === true;
}

/** Adds the rule; says why when it is left out. */
function takeRule(name: string, bullet: Bullet, gathered: Gathered): string {
  const cut = bullet.lines.findIndex((line, index) => index > 0 && reasonLine.test(line));
  const said = cut < 0 ? bullet.lines : bullet.lines.slice(0, cut);
  const reason = cut < 0 ? [] : bullet.lines.slice(cut);
  const content = said.join(' ');
  if (/^\[[ xX]\][ \t]/.test(content)) return 'a task, not a rule';
  const slug = slugOf(content);
  if (slug === undefined) return 'it has no letter or digit to make a subject of';
  const taken = gathered.subjects.get(`lesson/${slug}`);
  if (taken === content) return 'the same rule stands above';
  const event = plainEvent({
    kind: 'lesson',
    subject: `lesson/${freeSlug(slug, gathered)}`,
    content,
    text: [reason.join(' '), contextOf(name, bullet)].filter((part) => part !== '').join('\n\n'),
    ...homeOf(name, bullet),
  });
  if (!event.ok) return event.detail;
  gathered.subjects.set(event.value.subject, content);
  gathered.events.push(event.value);
  return '';
}

/** The first words of the rule. */
function slugOf(content: string): string | undefined {
  const slug = entitySlug(content.replace(/[`*_]/g, '').replaceAll('.', ' '));
  if (slug === undefined || slug.length <= slugCharactersMax) return slug;
  return slug.slice(0, slugCharactersMax + 1).replace(/-[^-]*$/, '');
}

/** Two rules that begin alike are told apart by a number. */
function freeSlug(slug: string, { subjects }: Gathered): string {
  let number = 1;
  while (subjects.has(`lesson/${numbered(slug, number)}`)) number += 1;
  return numbered(slug, number);
}

function numbered(slug: string, number: number): string {
  return number === 1 ? slug : `${slug}-${number}`;
}

function contextOf(name: string, { headings, parent }: Bullet): string {
  const above: string[] = [];
  for (let one = parent; one !== undefined; one = one.parent) above.unshift(one.lines.join(' '));
  return `From ${[name, ...headings, ...above].join(' › ')}`;
}

function homeOf(name: string, { headings }: Bullet): Pick<BodyInput, 'home'> {
  const anchor = entitySlug(headings.at(-1) ?? '');
  const home = `file:${name}${anchor === undefined ? '' : `#${anchor}`}`;
  return isHome(home) ? { home } : {};
}

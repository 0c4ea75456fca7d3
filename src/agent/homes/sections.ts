/**
 * Sections of a Markdown text by the anchors that GitHub gives to headings. Line by line, without a Markdown library:
 * what is looked for are headings outside code, and their names.
 */

interface Heading {
  /** Index of its first line. */
  readonly line: number;
  readonly level: number;
  readonly slug: string;
}

export interface Section {
  /** From its heading until the next one of the same or a higher level. */
  readonly text: string;
  /** Headings that would have the same anchor without the number that tells them apart. */
  readonly sameName: number;
}

/** The section with this anchor; undefined when no heading has it. Pure. */
export function sectionOf(text: string, anchor: string): Section | undefined {
  const lines = text.split('\n');
  const headings = headingsOf(lines);
  const at = headings.findIndex(({ slug }) => slug === anchor);
  const heading = headings[at];
  if (heading === undefined) return undefined;
  const next = headings.slice(at + 1).find(({ level }) => level <= heading.level);
  const sameName = headings.filter(({ slug }) => slug === anchor || isNumbered(slug, anchor)).length;
  return { text: trimEnd(lines.slice(heading.line, next?.line)), sameName };
}

/** Anchors of every heading, in order. Pure. */
export function anchorsOf(text: string): readonly string[] {
  return headingsOf(text.split('\n')).map(({ slug }) => slug);
}

function isNumbered(slug: string, anchor: string): boolean {
  return slug.startsWith(`${anchor}-`) && /^[1-9]\d*$/.test(slug.slice(anchor.length + 1));
}

function trimEnd(lines: readonly string[]): string {
  return lines.join('\n').trimEnd();
}

const atx = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*\r?$/;
const underline = /^ {0,3}(=+|-+)[ \t]*\r?$/;
const fence = /^ {0,3}(`{3,}|~{3,})(.*)$/;
/** What the line above an underline must not begin with to be a heading: then it is something else. */
const notText = /^(?: {4}|\t| {0,3}(?:[>#|]|[-*+][ \t]|\d{1,9}[.)][ \t]))/;

function headingsOf(lines: readonly string[]): readonly Heading[] {
  const nameOf = slugger();
  const found: Heading[] = [];
  let open: string | undefined;
  for (let at = frontMatterEnd(lines); at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    const mark = fence.exec(line);
    if (open !== undefined) {
      if (mark?.[1]?.startsWith(open) === true && mark[2]?.trim() === '') open = undefined;
      continue;
    }
    // A back-tick after the mark makes it code within a line.
    if (mark?.[1] !== undefined && !(mark[1].startsWith('`') && mark[2]?.includes('`') === true)) {
      open = mark[1];
      continue;
    }
    const heading = headingAt(lines, at);
    if (heading !== undefined) found.push({ ...heading, slug: nameOf(heading.title) });
  }
  return found;
}

function headingAt(
  lines: readonly string[],
  at: number,
): { readonly line: number; readonly level: number; readonly title: string } | undefined {
  const line = lines[at] ?? '';
  const marked = atx.exec(line);
  if (marked !== null) return { line: at, level: (marked[1] ?? '').length, title: marked[2] ?? '' };
  const above = lines[at - 1];
  const under = underline.exec(line);
  if (under === null || above === undefined || above.trim() === '' || notText.test(above)) return undefined;
  if (underline.test(above)) return undefined;
  return { line: at - 1, level: under[1]?.startsWith('=') === true ? 1 : 2, title: above.trim() };
}

/** Settings between `---` lines at the top are no headings. */
function frontMatterEnd(lines: readonly string[]): number {
  if (lines[0]?.trimEnd() !== '---') return 0;
  const end = lines.findIndex((line, at) => at > 0 && /^(?:---|\.\.\.)\s*$/.test(line));
  return end < 0 ? 0 : end + 1;
}

/** Names headings as GitHub does: a name that was given before gets the next free number. */
function slugger(): (title: string) => string {
  const given = new Map<string, number>();
  return (title) => {
    const base = slugOf(title);
    let slug = base;
    let count = given.get(base);
    while (given.has(slug)) {
      count = (count ?? 0) + 1;
      slug = `${base}-${count}`;
    }
    if (count !== undefined) given.set(base, count);
    given.set(slug, 0);
    return slug;
  };
}

/** Links count by their words, tags not at all; then letters, digits, `_`, `-` stay, and a space is a `-`. Pure. */
function slugOf(title: string): string {
  return title
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/<[^>]*>/g, '')
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-');
}

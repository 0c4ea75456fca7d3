import { isHome } from '../../core/body-fields.ts';
import type { BodyInput } from '../../core/event.ts';
import { contentBytesMax, hookBytesMax, textBytesMax } from '../../core/limits.ts';
import { ok, refuse, type Result } from '../../crypto/result.ts';
import { utf8Length } from '../../crypto/text.ts';
import { parseFrontMatter, type FrontMatter } from './front-matter.ts';
import type { MemoryRow } from './memory-index.ts';
import { plainEvent, type PlainEventFault } from './plain-event.ts';
import { entitySlug } from './slug.ts';

/** Why a note is left out. */
export type MemoryNoteFault =
  | PlainEventFault
  | 'EMPTY'
  | 'FRONT_MATTER'
  | 'NO_SLUG'
  | 'NO_CONTENT'
  | 'CONTROL_CHARACTER';

/** An event made of one note, and what was odd about the note. */
export interface MemoryNote {
  readonly event: BodyInput;
  readonly name: string;
  readonly odd: readonly string[];
}

const knownTypes: ReadonlySet<string> = new Set(['feedback', 'user', 'project', 'reference']);

/**
 * One note as one claim. Type `feedback` is how to behave: a lesson. `user`, `project` and `reference` are facts: an
 * assert on class `note`, since nothing in a note says reliably which of the other classes it would be.
 *
 * subject = file name as a slug (stable when a title is reworded) · content = description, else the title in the index,
 * else the first line · hook = what the index row says behind the link · text = the body · home of a fact = the one that
 * the note names, else `file:memory/<file>`. A description longer than `content` may be goes to the head of `text`. Pure.
 */
export function memoryNote(
  file: string,
  text: string,
  row: MemoryRow | undefined,
): Result<MemoryNote, MemoryNoteFault> {
  if (text.trim() === '') return refuse('EMPTY', 'the file is empty');
  const parsed = parseFrontMatter(text);
  if (!parsed.ok) return refuse('FRONT_MATTER', parsed.detail);
  const slug = entitySlug(file.replace(/\.md$/i, ''));
  if (slug === undefined) return refuse('NO_SLUG', 'its name has no letter or digit to make a subject of');
  const said = contentAndText(parsed.value, row);
  if (!said.ok) return said;
  const hook = hookOf(row);
  const control = controlCharacter([said.value.content, said.value.text, hook.text]);
  if (control !== undefined) return refuse('CONTROL_CHARACTER', `it holds the control character ${control}`);
  const type = parsed.value.fields.get('type') ?? '';
  const event = plainEvent({
    ...(type === 'feedback' ? lesson(slug) : fact(slug, file, `${hook.text}\n${said.value.text}`)),
    content: said.value.content,
    ...(hook.text === '' ? {} : { hook: hook.text }),
    ...(said.value.text === '' ? {} : { text: said.value.text }),
  });
  if (!event.ok) return event;
  return ok({
    event: event.value,
    name: parsed.value.fields.get('name') ?? '',
    odd: [...oddFields(parsed.value, type), ...hook.odd, ...(row === undefined ? ['the index does not list it'] : [])],
  });
}

function lesson(slug: string): Pick<BodyInput, 'kind' | 'subject'> {
  return { kind: 'lesson', subject: `lesson/${slug}` };
}

/** A fact needs a home: the one that the note names, else the note, by a path that is the same on every machine. */
function fact(slug: string, file: string, said: string): Pick<BodyInput, 'kind' | 'subject' | 'home'> {
  return { kind: 'assert', subject: `note/${slug}`, home: namedHome(said) ?? `file:memory/${file}` };
}

/** `Home of this fact: infra/FLEET.md, section "Reachability"` as `file:infra/FLEET.md#reachability`. */
function namedHome(said: string): string | undefined {
  const match = /\bhome of this fact:[ \t]*`?([^\s`,]*[^\s`,.])`?(?:,?[ \t]+section[ \t]+"([^"\n]+)")?/i.exec(said);
  const [, path = '', section = ''] = match ?? [];
  if (path === '' || /^[/~]/.test(path)) return undefined;
  const anchor = entitySlug(section);
  const home = `${path.startsWith('https:') ? '' : 'file:'}${path}${anchor === undefined ? '' : `#${anchor}`}`;
  return isHome(home) ? home : undefined;
}

interface Said {
  readonly content: string;
  readonly text: string;
}

function contentAndText(note: FrontMatter, row: MemoryRow | undefined): Result<Said, MemoryNoteFault> {
  const description = note.fields.get('description') ?? '';
  const title = row?.title ?? '';
  const long = utf8Length(description) > contentBytesMax;
  const content = (long ? '' : description) || title || firstLine(long ? description : note.body);
  if (content === '') return refuse('NO_CONTENT', 'it says nothing: no description, no title, no text');
  if (utf8Length(content) > contentBytesMax)
    return refuse('TOO_LONG', `its first line is longer than ${contentBytesMax} bytes`);
  const text = [long ? description : '', note.body].filter((part) => part !== '').join('\n\n');
  const bytes = utf8Length(text);
  if (bytes > textBytesMax)
    return refuse('TOO_LONG', `its text has ${bytes} bytes, more than ${textBytesMax}: split it`);
  return ok({ content, text: text === content ? '' : text });
}

function firstLine(text: string): string {
  return (text.split('\n').find((line) => line.trim() !== '') ?? '').replace(/^#+[ \t]*/, '').trim();
}

function hookOf(row: MemoryRow | undefined): { readonly text: string; readonly odd: readonly string[] } {
  const hook = row?.hook ?? '';
  const bytes = utf8Length(hook);
  if (bytes <= hookBytesMax) return { text: hook, odd: [] };
  return { text: '', odd: [`its index text has ${bytes} bytes, more than ${hookBytesMax}: left out`] };
}

function oddFields(note: FrontMatter, type: string): readonly string[] {
  const odd = note.repeated.map((key) => `"${key}" stands twice in its front matter; the first counts`);
  if (type === '') return [...odd, 'it has no type: imported as a note'];
  return knownTypes.has(type) ? odd : [...odd, 'its type is unknown: imported as a note'];
}

/** The first character that an event may not hold, as `U+0000`. Line feed and tab are allowed. Pure. */
function controlCharacter(texts: readonly string[]): string | undefined {
  for (const text of texts) {
    const found = /[\u0000-\u0008\u000b-\u001f]/.exec(text)?.[0];
    if (found !== undefined) return `U+${found.charCodeAt(0).toString(16).padStart(4, '0')}`;
  }
  return undefined;
}

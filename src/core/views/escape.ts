/**
 * Text that others wrote, made fit for the middle of one line of a generated Markdown file.
 *
 * What a reader of the raw bytes and a reader of the rendered page may rely on:
 * - one input gives one line: no line break of any kind survives;
 * - nothing starts a heading, list item, table row, quote or fence, because no line starts with this text;
 * - no link, image, comment, tag, footnote or code span begins or ends in it, and no file import of a harness (`@path`);
 * - `[` never stands bare, so that the file's own `[…]` marks cannot be imitated;
 * - what cannot be seen is shown as `\u{hex}`; a backslash of the text is doubled, so that this is never ambiguous.
 *
 * Single `*`, `_`, `|`, `$` and `#` stay: inside one list item they change at most its looks, and agents copy
 * identifiers and commands from the raw bytes.
 */
import { utf8Length } from '../../crypto/text.ts';
import { isCombining, isCompatibility, isInvisible, isLookalike } from './unsafe-characters.ts';

/** Marks drawn over one character before the rest are shown as code points; real spelling needs no more. */
const combiningRunMax = 2;
/** Code points named by `nonAsciiNote`. */
const nonAsciiNamedMax = 8;

const asciiSpaces = /[ \t\n\r\f\v]+/g;
const asciiLetter = /[A-Za-z]/;
const asciiWord = /[A-Za-z0-9]/;

/** One source character and what is around it; `before` and `after` are UTF-16 units or '' at the ends. */
interface Place {
  readonly char: string;
  readonly codePoint: number;
  readonly before: string;
  readonly after: string;
  readonly source: string;
  readonly index: number;
}

type Spell = (place: Place) => string;

function codePointMark(codePoint: number): string {
  return `\\u{${codePoint.toString(16)}}`;
}

/** True where `<` could open a tag, comment, autolink, template or a model's control token. */
function opensTag(after: string): boolean {
  return after !== '' && !/[ 0-9=<-]/.test(after);
}

/** True where `>` would end an HTML comment or CDATA section that a harness wraps the file in. */
function closesComment(place: Place): boolean {
  return /(?:--!?|\]\])$/.test(place.source.slice(Math.max(0, place.index - 3), place.index));
}

function startsEntity(place: Place): boolean {
  return /^&#?[A-Za-z0-9]{1,32};/.test(place.source.slice(place.index, place.index + 36));
}

function endsWww(place: Place): boolean {
  return /www$/i.test(place.source.slice(Math.max(0, place.index - 3), place.index));
}

/** True at the first slash of `//host`, a link without a scheme; `// remark` is not one, `https://` is broken at its colon. */
function startsNetworkPath({ before, after, source, index }: Place): boolean {
  return after === '/' && before !== ':' && before !== '/' && /[^\s/]/.test(source[index + 2] ?? ' ');
}

/** True where `@` and what follows read as a mail address with a dotted host, which some renderers make a link of. */
function namesMailHost(place: Place): boolean {
  return /^[A-Za-z0-9_.-]*\.[A-Za-z0-9]/.test(place.source.slice(place.index + 1, place.index + 65));
}

/** Spelling of the ASCII characters that mean something in Markdown, HTML or a harness. */
function markdownSpelling(place: Place): string {
  const { char, before, after } = place;
  switch (char) {
    case '\\':
    case '`':
    case '[':
    case ']':
      return `\\${char}`;
    case '<':
      return opensTag(after) ? '&lt;' : char;
    case '>':
      return closesComment(place) ? '&gt;' : char;
    case '&':
      return startsEntity(place) ? '&amp;' : char;
    case ':':
      return after === '/' && place.source[place.index + 2] === '/' ? '\\:' : char;
    case '/':
      return startsNetworkPath(place) ? '\\/' : char;
    case '.':
      return endsWww(place) ? '\\.' : char;
    case '@':
      return asciiWord.test(before) && !namesMailHost(place) ? char : '\\@';
    case '~':
      return before === '~' || after === '~' ? '\\~' : char;
    default:
      return char;
  }
}

/** Spelling inside a code span, where Markdown knows no escapes: only what could end the span or hide is changed. */
function codeSpelling(place: Place): string {
  const { char, before, after } = place;
  if (char === '`') return codePointMark(0x60);
  if (char === '\\') return place.source.startsWith('u{', place.index + 1) ? codePointMark(0x5c) : char;
  if (char === '<') return opensTag(after) ? codePointMark(0x3c) : char;
  if (char === '>') return closesComment(place) ? codePointMark(0x3e) : char;
  if (char === ' ') return before === '' || after === '' || before === ' ' ? codePointMark(0x20) : char;
  return char;
}

/** True when the word around `index` has an ASCII letter: a foreign letter in it is a disguise or a typing error. */
function isInLatinWord(source: string, index: number): boolean {
  const isWord = (char: string): boolean => asciiWord.test(char) || isLookalike(char.codePointAt(0) ?? 0);
  for (let i = index - 1; i >= 0 && isWord(source[i] ?? ''); i--) if (asciiLetter.test(source[i] ?? '')) return true;
  for (let i = index + 1; i < source.length && isWord(source[i] ?? ''); i++) {
    if (asciiLetter.test(source[i] ?? '')) return true;
  }
  return false;
}

function isDisguise(place: Place): boolean {
  if (isCompatibility(place.codePoint)) return true;
  return isLookalike(place.codePoint) && isInLatinWord(place.source, place.index);
}

function placeAt(source: string, index: number): Place {
  const codePoint = source.codePointAt(index) ?? 0;
  const char = String.fromCodePoint(codePoint);
  return { char, codePoint, before: source[index - 1] ?? '', after: source[index + char.length] ?? '', source, index };
}

/** Spelled pieces, one per source character, made on demand: a cut text costs what is printed, not what it holds. */
function* spelledPieces(source: string, spell: Spell): Generator<string> {
  let marks = combiningRunMax;
  for (let index = 0; index < source.length;) {
    const place = placeAt(source, index);
    index += place.char.length;
    if (place.codePoint < 0x7f && place.codePoint >= 0x20) {
      marks = 0;
      yield spell(place);
      continue;
    }
    marks = isCombining(place.codePoint) ? marks + 1 : 0;
    const hidden = isInvisible(place.codePoint) || marks > combiningRunMax || isDisguise(place);
    yield hidden ? codePointMark(place.codePoint) : place.char;
  }
}

/** The mark at the end of a text that was cut; its bare `[` cannot be written by a claim. */
function cutMark(source: string): string {
  return ` [cut: ${utf8Length(source)} bytes in all]`;
}

function spellWithin(source: string, bytesMax: number, spell: Spell): { readonly text: string; readonly cut: boolean } {
  let text = '';
  let bytes = 0;
  for (const piece of spelledPieces(source, spell)) {
    bytes += utf8Length(piece);
    if (bytes > bytesMax) return { text, cut: true };
    text += piece;
  }
  return { text, cut: false };
}

/**
 * Runs of ASCII white space as the claim key folds them (docs/fold.md R4), but a line break stays visible as `\n`.
 * Pure.
 */
function foldSpaces(raw: string): readonly string[] {
  return raw
    .replace(asciiSpaces, (run) => (run.includes('\n') || run.includes('\r') ? '\n' : ' '))
    .replace(/^[ \n]+|[ \n]+$/g, '')
    .split('\n');
}

/**
 * Text of a claim for the middle of one Markdown line. White space runs are folded, line breaks shown as `\n`.
 * A text that would take more than `bytesMax` bytes is cut between characters and ends with `[cut: N bytes in all]`,
 * which comes on top of `bytesMax`. Returns '' for an empty text. Pure.
 */
export function inlineText(raw: string, bytesMax: number): string {
  let text = '';
  for (const [i, part] of foldSpaces(raw).entries()) {
    const lead = i === 0 ? '' : '\\n';
    const room = bytesMax - utf8Length(text) - lead.length;
    const spelled = spellWithin(part, room, markdownSpelling);
    text += lead + spelled.text;
    if (spelled.cut) return text + cutMark(raw);
  }
  return text;
}

/**
 * A code span for an identifier, value or pointer: bytes are kept as they are unless they could end the span or cannot
 * be seen. Nothing is folded: two different inputs give two different spans, up to the cut. Cut as `inlineText`, the
 * mark outside the span. An empty input gives a span that says `(empty)`. Pure.
 */
export function codeSpan(raw: string, bytesMax: number): string {
  if (raw === '') return '(empty)';
  const { text, cut } = spellWithin(raw, bytesMax, codeSpelling);
  return cut ? `\`${text}\`${cutMark(raw)}` : `\`${text}\``;
}

/**
 * Names the code points outside ASCII, so that two texts that look alike can be told apart: `non-ASCII U+0430 U+043e`.
 * At most 8 are named, in order of appearance. Returns '' for an ASCII text. Pure.
 */
export function nonAsciiNote(raw: string): string {
  const seen = new Set<number>();
  for (const char of raw) {
    const codePoint = char.codePointAt(0) ?? 0;
    if (codePoint > 0x7e) seen.add(codePoint);
  }
  if (seen.size === 0) return '';
  const named = [...seen].slice(0, nonAsciiNamedMax).map((codePoint) => `U+${codePoint.toString(16).padStart(4, '0')}`);
  const more = seen.size > named.length ? ` and ${seen.size - named.length} more` : '';
  return `non-ASCII ${named.join(' ')}${more}`;
}

/**
 * Text on its way to a terminal. Claims, names and errors are other people's words, and a terminal obeys what is written
 * to it: so nothing that a reader cannot see, or that moves or hides what is around it, is ever printed raw.
 */
import { isInvisible } from '../core/views/unsafe-characters.ts';

/** Everything but printable ASCII, line feed and tab: what has to be looked at. */
const unusual = /[^\n\t\u0020-\u007E]/gu;

/** For people: an invisible character is shown as `\u{hex}`; line feeds and tabs stay. */
export function terminalText(text: string): string {
  return text.replace(unusual, (char) => {
    const codePoint = char.codePointAt(0) ?? 0;
    return isInvisible(codePoint) ? `\\u{${codePoint.toString(16)}}` : char;
  });
}

/** For programs: JSON text that says the same, with every invisible character in its escaped form. */
export function terminalJson(json: string): string {
  return json.replace(unusual, (char) => (isInvisible(char.codePointAt(0) ?? 0) ? escapedUnits(char) : char));
}

function escapedUnits(char: string): string {
  return Array.from({ length: char.length }, (_, at) => {
    return `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`;
  }).join('');
}

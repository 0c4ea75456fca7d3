/** What reading a home comes to. Withheld is never absent: what could not be read says why. */
import { homeTextBytesMax } from '../../core/limits.ts';
import { sha256Hex } from '../../crypto/hash.ts';
import { decodeUtf8 } from '../../crypto/text.ts';

/** Text that was found, and where. */
export interface FoundText {
  readonly kind: 'found';
  readonly bytes: Uint8Array;
  /** A path, a commit with a path, or a URL: what was really read. */
  readonly from: string;
  readonly commit?: string;
  /** Names text as Markdown, in which anchors mean something. */
  readonly markdown: boolean;
  readonly notes: readonly string[];
}

/** This host looked in the right place, and it is not there. */
export interface Gone {
  readonly kind: 'gone';
  readonly reason: string;
}

/** This host cannot or may not look. */
export interface Unchecked {
  readonly kind: 'unchecked';
  readonly reason: string;
}

export type Found = FoundText | Gone | Unchecked;

export const gone = (reason: string): Gone => ({ kind: 'gone', reason });
export const unchecked = (reason: string): Unchecked => ({ kind: 'unchecked', reason });
export const notAllowed = (why: string): Unchecked => unchecked(`not allowed: ${why}`);

/** The answer of `recall` about a home. Source: the CLI contract. */
export interface HomeReading {
  readonly ref: string;
  /** The home was looked at, here and now. */
  readonly checked: boolean;
  /** It was found, and is what this host last observed of it, if it did. */
  readonly fresh: boolean;
  readonly text?: string;
  /** The text is longer than what is shown. */
  readonly cut?: true;
  readonly from?: string;
  /** The commit that was read. */
  readonly commit?: string;
  /** `sha256:` of the bytes that the reference names: the section, or the whole file. */
  readonly digest?: string;
  readonly notes?: readonly string[];
  readonly reason?: string;
}

/** Bytes as text: UTF-8 without NUL, and no private key in it; or why not. Pure. */
export function textOf(bytes: Uint8Array): { readonly text: string } | { readonly reason: string } {
  const text = bytes.includes(0) ? undefined : decodeUtf8(bytes);
  if (text === undefined) return { reason: 'it is binary, not text' };
  if (/-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY/.test(text)) return { reason: 'not allowed: it holds a private key' };
  return { text };
}

/** The digest of a home as events carry it. Pure. */
export function digestOf(text: string | Uint8Array): string {
  return `sha256:${sha256Hex(text)}`;
}

/** As much of a text as one answer shows, cut at a line. Pure. */
export function shownPart(text: string): { readonly text: string; readonly cut?: true } {
  const bytes = Buffer.from(text);
  if (bytes.length <= homeTextBytesMax) return { text };
  const head = bytes
    .subarray(0, homeTextBytesMax)
    .toString('utf8')
    .replace(/\uFFFD+$/, '');
  const end = head.lastIndexOf('\n');
  return { text: end > 0 ? head.slice(0, end) : head, cut: true };
}

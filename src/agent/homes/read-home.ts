/**
 * The home of a claim, read now. Done in the process of the person or agent that asks, with their rights and from where
 * they stand, never in memd: a daemon that reads files for whoever reaches its socket would read them for a claim.
 */
import { parseHomeReference, type HomeReference } from './reference.ts';
import { readFileHome, type FileLook } from './read-file.ts';
import { digestOf, shownPart, textOf, type Found, type FoundText, type HomeReading } from './reading.ts';
import type { HttpsLook } from './read-https.ts';
import { sectionOf } from './sections.ts';

/** Where and what may be read, and for which claim. */
export type HomeLook = FileLook &
  HttpsLook & {
    /** `sha256:…` or `missing`: what this host last observed of this home, as far as the claim rests on it. */
    readonly observed?: string;
  };

/** Reads a home. Never throws for anything that a home can be. */
export async function readHome(ref: string, look: HomeLook): Promise<HomeReading> {
  const home = parseHomeReference(ref);
  if (home === undefined) return { ref, checked: false, fresh: false, reason: 'it is no reference that is known here' };
  const found = await find(home, look);
  if (found.kind === 'unchecked') return { ref, checked: false, fresh: false, reason: found.reason };
  if (found.kind === 'gone') return goneReading(ref, found.reason, look.observed);
  return readingOf(ref, { found, anchor: anchorOf(home), observed: look.observed });
}

/** What was observed to be missing, and still is, has not changed. */
function goneReading(ref: string, reason: string, observed: string | undefined): HomeReading {
  const known = observed === 'missing';
  return { ref, checked: true, fresh: known, reason, ...(known ? { notes: [reason] } : {}) };
}

async function find(home: HomeReference, look: HomeLook): Promise<Found> {
  if (home.form === 'file') return readFileHome(home, look);
  // Child processes and the network are loaded only by the homes that need them.
  if (home.form === 'git') return (await import('./read-git.ts')).readGitHome(home, look);
  return (await import('./read-https.ts')).readHttpsHome(home.url, look);
}

function anchorOf(home: HomeReference): string | null {
  if (home.form === 'file') return home.anchor;
  const at = home.form === 'https' ? home.url.indexOf('#') : -1;
  return at < 0 || home.form !== 'https' ? null : decoded(home.url.slice(at + 1));
}

function decoded(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}

function readingOf(
  ref: string,
  {
    found,
    anchor,
    observed,
  }: { readonly found: FoundText; readonly anchor: string | null; readonly observed: string | undefined },
): HomeReading {
  const said = textOf(found.bytes);
  const base = { ref, from: found.from, ...(found.commit === undefined ? {} : { commit: found.commit }) };
  if ('reason' in said) return { ...base, checked: false, fresh: false, reason: said.reason };
  const part = partOf(said.text, found, anchor);
  if ('reason' in part) {
    return part.checked
      ? { ...base, ...goneReading(ref, part.reason, observed) }
      : { ...base, checked: false, fresh: false, reason: part.reason };
  }
  const digest = digestOf(anchor === null ? found.bytes : part.text);
  const changed = observed !== undefined && observed !== digest;
  const notes = [...found.notes, ...part.notes];
  return {
    ...base,
    checked: true,
    fresh: !changed,
    ...shownPart(part.text),
    digest,
    ...(notes.length === 0 ? {} : { notes }),
    ...(changed ? { reason: 'it has changed since this host observed it' } : {}),
  };
}

/** The section that an anchor names; the whole text without one. */
function partOf(
  text: string,
  { markdown }: FoundText,
  anchor: string | null,
):
  | { readonly text: string; readonly notes: readonly string[] }
  | { readonly reason: string; readonly checked: boolean } {
  if (anchor === null) return { text, notes: [] };
  if (!markdown) return { reason: `#${anchor} cannot be looked up: it is not Markdown`, checked: false };
  const section = sectionOf(text, anchor);
  if (section === undefined) return { reason: `it has no section #${anchor}`, checked: true };
  const notes = section.sameName > 1 ? [`${section.sameName} sections have this name; #${anchor} is one of them`] : [];
  return { text: section.text, notes };
}

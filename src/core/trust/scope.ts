/**
 * Scopes of a signer: what its approvals may cover. `charter` and `purge` are powers over trust ops; every other scope
 * is a glob over subjects, in which `*` stands for any run of characters, `/` included. Source: docs/fold.md T1.
 */

const subjectGlob = /^[a-z0-9._:/*-]{1,152}$/;

/** True iff the text is a scope: `charter`, `purge`, or a subject glob (holds `/` or `*`, never `**`). Pure. */
export function isScope(text: string): boolean {
  return isPower(text) || isSubjectGlob(text);
}

/** True iff one of the scopes is a glob that matches the whole subject. Powers match no subject. Pure. */
export function scopeCovers(scopes: readonly string[], subject: string): boolean {
  return scopes.some((scope) => !isPower(scope) && globMatches(scope, subject));
}

/** True iff one of the scopes is `*`: every subject there is. Pure. */
export function coversEverything(scopes: readonly string[]): boolean {
  return scopes.includes('*');
}

/**
 * True iff a signer with `held` may grant `wanted`. Conservative: one held glob alone must match `wanted` read as a
 * plain text, so every `*` of `wanted` falls inside a `*` of the held glob and whatever it stands for stays covered. Two
 * globs that only together cover `wanted` do not count: refusing too much is safe, granting too much is not. Pure.
 */
export function mayGrant(held: readonly string[], wanted: string): boolean {
  if (isPower(wanted)) return held.includes(wanted);
  return held.some((scope) => !isPower(scope) && globMatches(scope, wanted));
}

function isPower(scope: string): boolean {
  return scope === 'charter' || scope === 'purge';
}

/** True iff the text is a subject glob. Pure. */
export function isSubjectGlob(text: string): boolean {
  return !isPower(text) && subjectGlob.test(text) && !text.includes('**') && (text.includes('/') || text.includes('*'));
}

/** Wildcard match that only ever goes back to the last `*`: at most length × length steps, whatever the glob. */
function globMatches(glob: string, text: string): boolean {
  let [inGlob, inText, star, restart] = [0, 0, -1, 0];
  while (inText < text.length) {
    if (glob[inGlob] === '*') {
      star = inGlob;
      restart = inText;
      inGlob += 1;
    } else if (inGlob < glob.length && glob[inGlob] === text[inText]) {
      inGlob += 1;
      inText += 1;
    } else {
      if (star < 0) return false;
      restart += 1;
      inText = restart;
      inGlob = star + 1;
    }
  }
  while (glob[inGlob] === '*') inGlob += 1;
  return inGlob === glob.length;
}

/** Bytes of the entity of a subject (docs/format.md, subject). */
const entityBytesMax = 120;

/**
 * The entity of a subject made of a file name: lower case, accents dropped, everything else that an entity may not hold
 * becomes one `-`. Returns undefined when no letter or digit is left. Pure, but not for the fold: it normalises.
 */
export function entitySlug(name: string): string | undefined {
  const plain = name.replace(/ß/g, 'ss').normalize('NFKD').toLowerCase();
  const slug = plain
    .replace(/\p{M}+/gu, '')
    .replace(/[^a-z0-9.]+/g, '-')
    .replace(/\.{2,}/g, '.')
    .replace(/^[-.]+/, '')
    .slice(0, entityBytesMax)
    .replace(/[-.]+$/, '');
  return slug === '' ? undefined : slug;
}

/** Ids and slugs: the two kinds of name that formats, command line and views share. Source: docs/format.md, section 3. */

/** Hex digits shown to people. */
const idShownDigits = 12;

/** True for 64 lower-case hex digits: an id of an event or trust op, or a link. Pure. */
export function isId(text: unknown): text is string {
  return typeof text === 'string' && isHex(text, 64);
}

/** True for exactly `digits` lower-case hex digits. A loop: half the time of a regular expression, and hot. Pure. */
export function isHex(text: string, digits: number): boolean {
  if (text.length !== digits) return false;
  for (let index = 0; index < digits; index += 1) {
    const unit = text.charCodeAt(index);
    const isDigit = (unit >= 0x30 && unit <= 0x39) || (unit >= 0x61 && unit <= 0x66);
    if (!isDigit) return false;
  }
  return true;
}

/** True for a name of a host, signer, class, audience or scope: `[a-z][a-z0-9-]{0,30}`. Pure. */
export function isSlug(text: unknown): text is string {
  return typeof text === 'string' && /^[a-z][a-z0-9-]{0,30}$/.test(text);
}

/** The first 12 digits of an id, for people. Pure. */
export function shortId(id: string): string {
  return id.slice(0, idShownDigits);
}

/** True for a list of at least one id, strictly ascending: sorted and unique. Pure. */
export function isSortedIdList(list: readonly unknown[]): list is readonly string[] {
  return list.length > 0 && list.every((id, index) => isId(id) && (index === 0 || (list[index - 1] as string) < id));
}

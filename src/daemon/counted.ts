/** A count and its noun as people say it: `1 alarm`, `2 alarms`. For nouns that take an s. Pure. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

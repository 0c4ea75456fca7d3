// Two hosts with two locales, or two Unicode versions, would order and compare differently.
// fires: eslint(no-restricted-properties)
export const order: number = 'a'.localeCompare('b');
// fires: typescript(require-array-sort-compare) source(no-default-order)
export const sorted: readonly string[] = ['b', 'a'].sort();
// fires: typescript(require-array-sort-compare) source(no-default-order)
export const sortedCopy: readonly string[] = ['b', 'a'].toSorted();
// fires: source(no-default-order)
export const sortedSlyly: readonly string[] = ['b', 'a'].toSorted(undefined);
// fires: eslint(no-restricted-globals)
export const collator: unknown = new Intl.Collator();
// fires: eslint(no-restricted-properties)
export const shown: string = (1).toLocaleString();
// fires: eslint(no-restricted-properties)
export const lower: string = 'A'.toLowerCase();
// fires: eslint(no-restricted-properties)
export const upper: string = 'a'.toUpperCase();
// fires: eslint(no-restricted-properties)
export const normal: string = 'a'.normalize();
// fires: source(no-unicode-tables)
export const letters: RegExp = /\p{L}/u;
// fires: source(no-unicode-tables)
export const anyCase: RegExp = /k/iu;

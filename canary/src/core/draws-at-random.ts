// Randomness enters as data.
// fires: eslint(no-restricted-properties)
export const direct: number = Math.random();
// fires: eslint(no-restricted-properties)
export const spelled: number = Math['random']();
// fires: eslint(no-restricted-properties)
const { random } = Math;
export const taken: number = random();
// fires: tsc(TS2304) eslint(no-restricted-globals)
export const uuid: unknown = crypto.randomUUID();

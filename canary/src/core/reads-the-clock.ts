// No clock value ever decides anything.
// fires: eslint(no-restricted-globals)
export const now: number = Date.now();
// fires: eslint(no-restricted-globals)
export const date: unknown = new Date();
// fires: eslint(no-restricted-globals)
export const parsed: number = Date.parse('2026-01-01T00:00:00Z');
// fires: tsc(TS2304) eslint(no-restricted-globals)
export const ticks: unknown = performance.now();

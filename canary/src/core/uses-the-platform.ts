// core compiles without node and without the DOM.
// fires: tsc(TS2591) eslint(no-restricted-globals)
export const bytes: unknown = Buffer.from('a');
// fires: tsc(TS2591) eslint(no-restricted-globals) node(no-process-env)
export const home: unknown = process.env['HOME'];
// fires: tsc(TS2304) eslint(no-restricted-globals)
export const timer: unknown = setTimeout(() => undefined, 1);
// fires: tsc(TS2304) eslint(no-restricted-globals)
export const encoder: unknown = new TextEncoder();
// fires: tsc(TS2304) eslint(no-restricted-globals)
export const answer: unknown = fetch('http://127.0.0.1/');
// fires: eslint(no-restricted-globals)
export const everything: unknown = globalThis;
export function say(): void {
  // fires: tsc(TS2584) eslint(no-restricted-globals) eslint(no-console)
  console.log('a');
}

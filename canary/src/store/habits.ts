// Habits that hold everywhere.
// fires: typescript(no-explicit-any)
export const anything: any = 1;
export async function wait(): Promise<void> {
  await Promise.resolve();
}
export function forget(): void {
  // fires: typescript(no-floating-promises)
  wait();
}
// fires: source(no-class)
export class Manager {
  readonly name: string = 'a';
}
export class PortError extends Error {}
// fires: import(no-default-export)
export default wait;
export function swallow(kind: 'a' | 'b'): number {
  // fires: typescript(switch-exhaustiveness-check)
  switch (kind) {
    case 'a':
      return 1;
  }
  return 2;
}
// fires: tsc(TS1294)
export enum Colour {
  Red = 1,
}
// fires: tsc(TS9017)
export const untyped = [swallow('a')];
// fires: source(suppression-reason)
// oxlint-disable-next-line eqeqeq
export const same: boolean = Number('1') == 1;

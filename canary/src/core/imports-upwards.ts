// Dependencies point downwards only.
// fires: tsc(TS6059) tsc(TS6307) eslint(no-restricted-imports)
import { port } from '../store/port.ts';
// fires: eslint(no-restricted-imports)
import type { Port } from '../store/port.ts';
// fires: tsc(TS6059) tsc(TS6307) eslint(no-restricted-imports)
export { main } from '../cli/main.ts';
export const used: Port = port;

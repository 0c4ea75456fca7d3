// fires: tsc(TS6059) tsc(TS6307) eslint(no-restricted-imports)
import { port } from '../mesh/port.ts';
export const used: unknown = port;

// fires: tsc(TS6059) tsc(TS6307) eslint(no-restricted-imports)
import { main } from '../cli/main.ts';
export const used: unknown = main;

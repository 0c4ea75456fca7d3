// fires: tsc(TS6059) tsc(TS6307) eslint(no-restricted-imports)
import { ordered } from '../core/clean.ts';
export const used: unknown = ordered;

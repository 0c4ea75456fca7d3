// fires: tsc(TS6059) tsc(TS6307) eslint(no-restricted-imports)
import { daemon } from '../daemon/daemon.ts';
export const used: unknown = daemon;

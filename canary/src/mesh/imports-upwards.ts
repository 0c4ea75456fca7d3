// fires: tsc(TS6059) tsc(TS6307) eslint(no-restricted-imports)
import { tool } from '../agent/tool.ts';
export const used: unknown = tool;

/** `npm run bench [-- approvals|cold-fold|append|fetch|search …] [--quick]`: every figure beside its floor, measured in this run. */
import { writeFileSync } from 'node:fs';
import { benchApprovals } from './approvals.ts';
import { benchAppend } from './append.ts';
import { benchColdFold } from './cold-fold.ts';
import { benchFetch } from './fetch.ts';
import { benchFoldCrowd } from './fold-crowd.ts';
import { benchHostile } from './hostile.ts';
import { benchHook } from './hook.ts';
import { benchIdle, benchVisible } from './live.ts';
import { benchMaintenance } from './maintenance.ts';
import { benchManifest } from './manifest.ts';
import { benchSearch } from './search.ts';
import { benchMcp } from './mcp.ts';
import { benchMemory } from './memory.ts';
import { benchSize } from './size.ts';
import { benchPlainSshd } from './plain-sshd.ts';
import { machine, printTable, type Figure } from './lib/figures.ts';

const args = process.argv.slice(2);
const quick = args.includes('--quick');
const count = quick ? 10_000 : 100_000;
const benches: Readonly<Record<string, () => Promise<Figure[]>>> = {
  approvals: () => benchApprovals({ count: quick ? 1_000 : 10_000 }),
  'cold-fold': () => benchColdFold({ count }),
  append: () => benchAppend({ bulk: count }),
  fetch: benchFetch,
  'fold-crowd': benchFoldCrowd,
  hostile: benchHostile,
  hook: () => benchHook({ count }),
  idle: benchIdle,
  maintenance: () => benchMaintenance({ appends: quick ? 1_000 : 3_600 }),
  manifest: () => benchManifest({ count }),
  mcp: benchMcp,
  'plain-sshd': benchPlainSshd,
  memory: () => benchMemory({ count }),
  search: () => benchSearch({ count }),
  size: () => benchSize({ count }),
  visible: benchVisible,
};

const wanted = args.filter((word) => !word.startsWith('--'));
const unknown = wanted.find((name) => !Object.hasOwn(benches, name));
if (unknown !== undefined) {
  process.stderr.write(`no bench ${unknown}; there are: ${Object.keys(benches).join(', ')}\n`);
  process.exit(2);
}
const figures: Figure[] = [];
for (const [name, bench] of Object.entries(benches)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  process.stderr.write(`measuring ${name}\n`);
  figures.push(...(await bench()));
}
process.stdout.write(`${machine()}\n${printTable(figures)}\n`);
const json = args.find((word) => word.startsWith('--json='))?.slice('--json='.length);
if (json !== undefined) writeFileSync(json, `${JSON.stringify({ machine: machine(), figures }, null, 2)}\n`);
process.exitCode = figures.every(({ met }) => met) ? 0 : 1;

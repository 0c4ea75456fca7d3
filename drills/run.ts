/**
 * Runs drills: `node drills/run.ts [NAME…] [--seed=N] [--allow-skip] [--list] [--option=value…]`. Without a name, all.
 * Exit code 0 when every drill passed (or was skipped and that is allowed), else 1; 2 for a wrong call.
 */
import { readdirSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import path from 'node:path';
import { exitCodeOf, runDrill, type Drill, type Outcome } from './lib/drill.ts';

const folder = path.dirname(fileURLToPath(import.meta.url));
const notDrills = new Set(['run.ts', 'sim.ts']);
const drillDeadlineMs = 1_200_000;
const seedMax = 2 ** 31;

interface Call {
  readonly names: readonly string[];
  readonly seed: number;
  readonly allowSkip: boolean;
  readonly list: boolean;
  readonly options: ReadonlyMap<string, string>;
}

function parseCall(args: readonly string[]): Call {
  const names = args.filter((arg) => !arg.startsWith('--'));
  const options = new Map(
    args
      .filter((arg) => arg.startsWith('--'))
      .map((arg): [string, string] => {
        const [name = '', value = ''] = arg.slice(2).split(/=(.*)/s);
        return [name, value];
      }),
  );
  const given = Number(options.get('seed'));
  const seed = options.has('seed') && Number.isSafeInteger(given) ? given : Math.floor(Math.random() * seedMax);
  return { names, seed, allowSkip: options.has('allow-skip'), list: options.has('list'), options };
}

function drillNames(): string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.ts') && !notDrills.has(file))
    .map((file) => file.slice(0, -3))
    .sort();
}

async function loadDrill(name: string): Promise<Drill> {
  const module: unknown = await import(pathToFileURL(path.join(folder, `${name}.ts`)).href);
  if (isDrill(module) && module.name === name) return module;
  throw new Error(`drills/${name}.ts does not export name, promise and run`);
}

function isDrill(module: unknown): module is Drill {
  if (typeof module !== 'object' || module === null) return false;
  return 'name' in module && 'promise' in module && 'run' in module && typeof module.run === 'function';
}

async function main(args: readonly string[]): Promise<number> {
  const call = parseCall(args);
  const known = drillNames();
  const unknown = call.names.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    console.error(`no drill ${unknown.join(', ')}; known: ${known.join(', ')}`);
    return 2;
  }
  const drills = await Promise.all((call.names.length > 0 ? call.names : known).map(loadDrill));
  if (call.list) {
    for (const drill of drills) console.log(`${drill.name}: ${drill.promise}`);
    return 0;
  }
  const outcomes: Outcome[] = [];
  for (const drill of drills) {
    outcomes.push(
      await runDrill(drill, {
        seed: call.seed,
        options: call.options,
        print: console.log,
        deadlineMs: drillDeadlineMs,
      }),
    );
    console.log('');
  }
  const count = (kind: Outcome['kind']): number => outcomes.filter((outcome) => outcome.kind === kind).length;
  console.log(
    `${count('PASS')} passed, ${count('FAIL')} failed, ${count('SKIPPED')} skipped; again with --seed=${call.seed}`,
  );
  return exitCodeOf(outcomes, call.allowSkip);
}

// Whatever a failed drill left running (a client, a timer) ends here.
process.exit(await main(process.argv.slice(2)));

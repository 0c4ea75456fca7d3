/**
 * One more event on a subject with N scopes and N claims for all of them, all by one host: as 1 000, 2 000 and 4 000 of both.
 * What it takes may grow with the subject, not with scopes × claims.
 */
import { createFold, foldLines, type FoldLine } from '../src/core/fold/fold.ts';
import { fakeCharter, fakePorts, newWorld, trust } from '../test/lib/fold-builders.ts';
import { ceilingFigure, quantiles, type Figure } from './lib/figures.ts';

const sizes = [1_000, 2_000, 4_000] as const;
const more = 9;

/** What one host can make of the claims of `*`, beside one of another host. */
const crowds = {
  'other values everywhere': { wide: (n: number) => `w${n}`, scoped: (n: number) => `s${n}`, isGivenUp: false },
  'one value everywhere': { wide: () => 'same', scoped: () => 'same', isGivenUp: false },
  'claims for all scopes given up': { wide: (n: number) => `w${n}`, scoped: () => 'same', isGivenUp: true },
} as const;

export function benchFoldCrowd(): Promise<Figure[]> {
  return Promise.resolve(Object.keys(crowds).flatMap((name) => crowdFigures(name as keyof typeof crowds)));
}

function crowdFigures(name: keyof typeof crowds): Figure[] {
  const times = sizes.map((size) => oneMore(name, size));
  return times.map((value, at) => {
    const [what, unit] = [`one event more, ${sizes[at]} scopes × ${sizes[at]} claims, ${name}`, 'ms'];
    const smallest = times[0] ?? 0;
    // Twice as much for twice the size is what follows the subject; four times would be scopes × claims.
    const atMost = Math.round(1.5 * smallest * ((sizes[at] ?? 0) / sizes[0]));
    return { ...ceilingFigure({ what, value, unit, atMost }), floor: { what: `at ${sizes[0]}`, value: smallest } };
  });
}

function oneMore(name: keyof typeof crowds, size: number): number {
  const { lines, last } = crowd(name, size);
  const fold = createFold(fakeCharter(), trust, fakePorts);
  foldLines(fold, lines.slice(0, last));
  const took = lines.slice(last).map((line) => {
    const start = performance.now();
    foldLines(fold, [line]);
    return performance.now() - start;
  });
  return quantiles(took).p50;
}

function crowd(
  name: keyof typeof crowds,
  size: number,
): { readonly lines: readonly FoldLine[]; readonly last: number } {
  const { wide, scoped, isGivenUp } = crowds[name];
  const world = newWorld();
  const say = (fields: object, host = 'beta'): string => world.say(host, 'assert', 'note/crowd', fields);
  say({ value: 'same' }, 'alpha');
  for (let n = 0; n < size; n += 1) {
    const id = say({ value: wide(n) });
    if (isGivenUp) world.say('beta', 'retract', 'note/crowd', { supersedes: [id] });
    say({ value: scoped(n), scope: `s${n}` });
  }
  const last = world.lines.length;
  for (let n = 0; n < more; n += 1) say({ value: scoped(n), scope: `s${n}` });
  return { lines: world.lines, last };
}

/**
 * What is going to happen in one run, drawn from its seed before it begins: every action by itself, so that a failing run
 * can be made smaller by leaving actions out. What the network does with each message is drawn while it runs.
 */
import { createRandom, type Random } from '../../test/lib/random.ts';
import { hostNames } from './charter.ts';
import type { DiskFaultKind } from './disk.ts';

/** How a host of the mesh, with real keys, lies. */
export type Lie =
  /** Says it holds less of others' logs than it does. */
  | 'withhold'
  /** Sends lines without their bodies. */
  | 'holes'
  /** Serves the trust set that the mesh began with. */
  | 'old-trust'
  /** Changes a body, signs for others, or breaks a signature. */
  | 'forge'
  /** Says it holds more than there is, of the asker's own log too. */
  | 'boast'
  /** Tells different hosts different histories of its own log. */
  | 'equivocate'
  /** Takes questions and never answers. */
  | 'silent'
  /** Says what it holds again and again. */
  | 'flood';

export type Action = { readonly at: number; readonly seed: number } & (
  | { readonly kind: 'append'; readonly host: string; readonly signed: boolean; readonly sync: boolean }
  | { readonly kind: 'decide'; readonly host: string; readonly what: 'class' | 'signer' | 'host' | 'revoke' | 'purge' }
  | { readonly kind: 'crash'; readonly host: string; readonly downMs: number }
  | { readonly kind: 'cut'; readonly side: readonly string[]; readonly forMs: number }
  | { readonly kind: 'clock'; readonly host: string; readonly byMs: number; readonly slept: boolean }
  | {
      readonly kind: 'disk';
      readonly host: string;
      readonly fault: DiskFaultKind;
      /** Writes that still go well. */
      readonly after: number;
      readonly forMs: number;
    }
  | { readonly kind: 'backup'; readonly host: string }
  /** A person gives the host new keys, and a signer approves. */
  | { readonly kind: 'recover'; readonly host: string }
  | { readonly kind: 'restore'; readonly host: string }
  | { readonly kind: 'clone'; readonly host: string }
  | { readonly kind: 'lie'; readonly host: string; readonly lie: Lie; readonly forMs: number }
);

export interface Plan {
  readonly seed: number;
  /** Hosts at the start; one more may be added. */
  readonly hosts: number;
  /** Of each message: chance to be lost, and the longest it may take. */
  readonly dropShare: number;
  readonly delayMsMax: number;
  /** When everything is healed. */
  readonly untilMs: number;
  readonly actions: readonly Action[];
}

const weights: readonly (readonly [Action['kind'], number])[] = [
  ['append', 60],
  ['crash', 7],
  ['cut', 6],
  ['decide', 6],
  ['lie', 5],
  ['disk', 5],
  ['clock', 4],
  ['backup', 3],
  ['restore', 2],
  ['clone', 1],
  ['recover', 3],
];
const lies: readonly Lie[] = ['withhold', 'holes', 'old-trust', 'forge', 'boast', 'equivocate', 'silent', 'flood'];

/** The plan of a seed. */
export function drawPlan(seed: number): Plan {
  const random = createRandom(seed);
  const hosts = 2 + random.below(5);
  const untilMs = 60_000 + random.below(240_000);
  const count = 12 + random.below(40);
  const actions = Array.from({ length: count }, () => drawAction(random, hosts, untilMs));
  return {
    seed,
    hosts,
    dropShare: random.pick([0, 0, 0.02, 0.2]),
    delayMsMax: random.pick([20, 200, 5_000]),
    untilMs,
    actions: actions.toSorted((a, b) => a.at - b.at || a.seed - b.seed),
  };
}

function drawKind(random: Random): Action['kind'] {
  let left = random.below(weights.reduce((sum, [, weight]) => sum + weight, 0));
  for (const [kind, weight] of weights) {
    left -= weight;
    if (left < 0) return kind;
  }
  return 'append';
}

function drawAction(random: Random, hosts: number, untilMs: number): Action {
  const names = hostNames.slice(0, hosts);
  const base = { at: random.below(untilMs), seed: random.below(2 ** 31), host: random.pick(names) };
  const kind = drawKind(random);
  switch (kind) {
    case 'append':
      return { ...base, kind, signed: random.next() < 0.15, sync: random.next() < 0.2 };
    case 'decide':
      return { ...base, kind, what: random.pick(['class', 'signer', 'host', 'host', 'purge', 'purge', 'revoke']) };
    case 'crash':
      return { ...base, kind, downMs: 500 + random.below(60_000) };
    case 'cut': {
      const { at, seed } = base;
      return { at, seed, kind, side: names.filter(() => random.next() < 0.5), forMs: 5_000 + random.below(120_000) };
    }
    case 'clock':
      return { ...base, kind, byMs: drawJump(random), slept: random.next() < 0.5 };
    case 'disk':
      return {
        ...base,
        kind,
        fault: random.pick(['fails', 'persists', 'persists', 'full']),
        after: random.below(6),
        forMs: 5_000 + random.below(90_000),
      };
    case 'lie':
      return { ...base, kind, lie: random.pick(lies), forMs: 20_000 + random.below(200_000) };
    default:
      return { ...base, kind };
  }
}

const day = 86_400_000;

function drawJump(random: Random): number {
  return random.pick([-3 * day, 3 * day, -1_000, 20_000 * day, 3_600_000]);
}

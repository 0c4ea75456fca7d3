import { describe, expect, test } from 'vitest';
import { searchFailure } from '../lib/fold-search.ts';

/** FOLD_RUNS makes a longer search, FOLD_SEED starts it elsewhere; the defaults are what every run of the suite does. */
const runs = Number(process.env['FOLD_RUNS'] ?? 12_000);
const crowdedRuns = Number(process.env['FOLD_RUNS'] ?? 300);
const authorityRuns = Number(process.env['FOLD_RUNS'] ?? 8_000);
const from = Number(process.env['FOLD_SEED'] ?? 1_000_000);
const timeout = 60_000 + runs * 20;

describe('fold: random hostile histories', () => {
  test(
    'equality: any interleaving, any split and any moment of a charter change = from scratch = the oracle',
    () => {
      expect(searchFailure({ from, runs, property: 'equality' })).toBeUndefined();
    },
    timeout,
  );

  test(
    'crowded: the same where many claims and many scopes meet in one subject',
    () => {
      expect(searchFailure({ from, runs: crowdedRuns, property: 'crowded' })).toBeUndefined();
    },
    timeout,
  );

  test(
    'authority: attackers on any hosts, without a signer, change nothing that a signer decided',
    () => {
      expect(searchFailure({ from, runs: authorityRuns, property: 'authority' })).toBeUndefined();
    },
    timeout,
  );

  test(
    'safety: nothing unsigned ends signed truth, settles a dispute of others, removes a belief or closes a question',
    () => {
      expect(searchFailure({ from, runs, property: 'safety' })).toBeUndefined();
    },
    timeout,
  );
});

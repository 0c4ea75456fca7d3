import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { usualCharter, type CharterInput } from '../lib/fold-builders.ts';
import { brokenBySignerless, brokenEquality, brokenSafety } from '../lib/fold-search.ts';
import { hosts, type Step } from '../lib/fold-histories.ts';
import { randomFrom } from '../lib/random.ts';

interface Regression {
  readonly note: string;
  /** Absent: the usual one. */
  readonly charter?: CharterInput;
  readonly steps: readonly Step[];
  readonly attack: readonly Step[];
}

const folder = join(import.meta.dirname, 'fold');

/** Every history that ever broke the fold, or a wrong version of it that the suite once let pass. */
test.each(readdirSync(folder).filter((name) => name.endsWith('.json')))('fold: %s stays right', (name) => {
  const {
    charter = usualCharter,
    steps,
    attack,
    note,
  } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as Regression;
  expect(note).not.toBe('');
  for (let seed = 0; seed < 20; seed += 1)
    expect(brokenEquality({ charter, steps, attack }, randomFrom(seed))).toBeUndefined();
  expect(brokenBySignerless({ charter, steps, attack })).toBeUndefined();
  for (const host of attack.length === 0 ? hosts : [attack[0]?.log ?? '']) {
    expect(brokenSafety({ charter, steps, attack }, host)).toBeUndefined();
  }
});

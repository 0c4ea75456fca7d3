import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { appendBounded, readBounded } from '../../../../src/store/notes/bounded-log.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';

test('A4: a record that was torn before its newline costs itself and not the next one', () => {
  const file = join(temporaryFolder(), 'hooks.log');
  appendBounded(file, '{"n":1}', 1_000);
  appendFileSync(file, '{"n":');
  appendBounded(file, '{"n":2}', 1_000);
  appendBounded(file, '{"n":3}', 1_000);
  expect(readFileSync(file, 'utf8')).toBe('{"n":1}\n{"n":\n{"n":2}\n{"n":3}\n');
});

test('at its bound the file becomes the older one, and both are read', () => {
  const file = join(temporaryFolder(), 'hooks.log');
  for (let n = 0; n < 30; n += 1) appendBounded(file, `line ${n}`, 100);
  expect(readBounded(file).at(-1)).toBe('line 29');
  expect(readFileSync(file, 'utf8').length).toBeLessThanOrEqual(110);
});

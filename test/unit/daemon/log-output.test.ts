import fs from 'node:fs';
import path from 'node:path';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { logOutput } from '../../../src/daemon/log-output.ts';
import { temporaryFolder } from '../../lib/temporary.ts';

test('a log that cannot be written is dropped, and whoever logs goes on', () => {
  const file = path.join(temporaryFolder(), 'log');
  fs.writeFileSync(file, '');
  const readOnly = fs.openSync(file, 'r');
  expect(() => pino({}, logOutput(readOnly)).error('lost')).not.toThrow();
  fs.closeSync(readOnly);
  const open = fs.openSync(file, 'a');
  pino({}, logOutput(open)).error('kept');
  fs.closeSync(open);
  expect(fs.readFileSync(file, 'utf8')).toContain('kept');
});

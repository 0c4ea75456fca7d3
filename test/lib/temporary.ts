/** Temporary folders and homes of tests: made fresh, removed at the end, never a fixed name. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { createHome, type Home } from '../../src/store/home/home.ts';

/** A folder that is removed when the test ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(path.join(realpathSync(tmpdir()), 'memd-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }));
  return folder;
}

/** An empty home that is removed when the test ends. */
export function temporaryHome(): Home {
  return createHome(path.join(temporaryFolder(), 'home'));
}

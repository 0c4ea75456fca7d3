import { defineConfig } from 'vitest/config';

/** One project, real processes. Anything slow says so in its own test; nothing here hides a hang. */
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    allowOnly: false,
    passWithNoTests: false,
    testTimeout: 20_000,
    hookTimeout: 30_000,
    teardownTimeout: 10_000,
    env: { NO_COLOR: '1' },
  },
});

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
    // What is waited for is there in a moment; on two busy cores the moment is longer than the one second of vitest.
    expect: { poll: { timeout: 15_000 } },
    env: { NO_COLOR: '1' },
  },
});

/** `npm test [-- filter…]`: the whole suite; the last line is `N passed, N failed`. */
import { runTests } from './lib/vitest.ts';

const { passed, failed, skipped } = await runTests(process.argv.slice(2));
if (skipped > 0) console.log(`${skipped} skipped`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

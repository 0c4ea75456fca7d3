/** `npm run lint`: the linter, then what it cannot express. Arguments go to the linter. */
import { runNode, runStep } from './lib/step.ts';

const linted = await runStep('oxlint', 'bin/oxlint', process.argv.slice(2));
const checked = await runNode(['scripts/check-source.ts']);
process.exitCode = linted.code || checked.code;

/** `npm run build`: the compiler over every layer, always (it decides itself what is out of date), then the bundle. */
import { runNode, runStep } from './lib/step.ts';

const { code } = await runStep('typescript', 'bin/tsc', ['-b', ...process.argv.slice(2)]);
process.exitCode = code === 0 ? (await runNode(['scripts/bundle.mjs'])).code : code;

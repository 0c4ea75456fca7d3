/** `npm run build`: the compiler over every layer, always (it decides itself what is out of date). */
import { runStep } from './lib/step.ts';

process.exitCode = (await runStep('typescript', 'bin/tsc', ['-b', ...process.argv.slice(2)])).code;

/** What to run after a home was made: commands that work as they stand, wherever that home is. */
import { resolveHome } from '../store/home/home.ts';
import { shellWord } from './shell-word.ts';

/** One line. `home`: the absolute home folder. */
export function nextSteps(home: string): string {
  const flag = isFoundWithout(home) ? '' : ` --home ${shellWord(home)}`;
  const start = flag === '' ? 'npm start' : `npm start --${flag}`;
  return `next: memd${flag}, or ${start} in the checkout; then memctl${flag} status`;
}

/** True when memd finds this home without being told: by the environment, which the next command shares, or by default. */
function isFoundWithout(home: string): boolean {
  try {
    return resolveHome({ env: process.env }) === home;
  } catch {
    return false;
  }
}

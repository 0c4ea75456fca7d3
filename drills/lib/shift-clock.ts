/**
 * Preloaded into a host's processes (`node --import`): every look at the clock on the wall is off by the milliseconds that
 * the file MEMD_DRILL_CLOCK holds, read at each look, so that a drill can set the clock of a running memd. The clock that
 * never runs backwards (performance.now), files and child processes (git) have the real one. A preload, since no usual
 * machine has faketime and `unshare --time` shifts only the other clock.
 */
import { readFileSync } from 'node:fs';

const file = process.env['MEMD_DRILL_CLOCK'] ?? '';
const RealDate = Date;

function shiftedNow(): number {
  return RealDate.now() + Number(readFileSync(file, 'utf8'));
}

if (file !== '') {
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length === 0 ? [shiftedNow()] : args, newTarget) as Date,
    apply: () => new RealDate(shiftedNow()).toString(),
    get: (target, key) => (key === 'now' ? shiftedNow : (Reflect.get(target, key) as unknown)),
  });
}

/** Notifying under random changes, hosts that come and go, and notifiers that fail: seeded, time is a number. */
import { expect, test } from 'vitest';
import { notifyLagMs, notifyRankMs } from '../../src/core/limits.ts';
import { openMesh, park } from '../lib/notify-mesh.ts';
import { createRandom } from '../lib/random.ts';

const names = ['alpha', 'beta', 'gamma'];
const runs = Number(process.env['NOTIFY_RUNS'] ?? 300);
/** Longer than any host waits, reads and tries again. */
const quietMs = 2 * (notifyLagMs + 10 * notifyRankMs);

test('notify: all are up: told once for each change that lasts, in turn', () => {
  for (let seed = 1; seed <= runs; seed += 1) {
    const random = createRandom(seed);
    const mesh = openMesh(names);
    mesh.ready();
    let stands = false;
    const wanted: string[] = [];
    for (let change = 0; change < 6; change += 1) {
      stands = !stands;
      mesh.stands(stands ? [park] : []);
      wanted.push(stands ? 'raised' : 'cleared');
      mesh.pass(10_000 + random.below(100_000));
    }
    const told = mesh.told().map((text) => text.split(' ')[1]);
    expect({ seed, told }).toEqual({ seed, told: wanted });
  }
});

test('notify: hosts come and go, notifiers fail: in the end the last thing told is what is so', () => {
  for (let seed = 1; seed <= runs; seed += 1) {
    const random = createRandom(seed);
    const mesh = openMesh(names);
    mesh.ready();
    let truth: readonly string[] = [];
    for (let at = 0; at < 12; at += 1) {
      const name = random.pick(names);
      const host = mesh.host(name);
      const draw = random.below(4);
      if (draw === 0) truth = truth.length === 0 ? [park] : [];
      if (draw === 1) host.works = !host.works;
      if (draw === 2) {
        host.up = !host.up;
        mesh.tell(name, { kind: host.up ? 'ready' : 'asleep' });
      }
      mesh.stands(
        truth,
        names.filter((one) => mesh.host(one).up),
      );
      mesh.pass(random.below(60_000));
    }
    for (const name of names) {
      mesh.host(name).works = true;
      mesh.host(name).up = true;
      mesh.tell(name, { kind: 'asleep' });
    }
    mesh.stands(truth);
    mesh.ready();
    mesh.pass(quietMs);
    const n = Math.max(...names.map((name) => mesh.host(name).state.told.get(park) ?? 0));
    expect({ seed, raised: n % 2 === 1 }).toEqual({ seed, raised: truth.length > 0 });
    // And then it is quiet.
    const before = mesh.told().length;
    mesh.pass(10 * quietMs);
    expect({ seed, more: mesh.told().length - before }).toEqual({ seed, more: 0 });
  }
});

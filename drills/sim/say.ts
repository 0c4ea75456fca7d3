/** View lines: what a host says, signed, that it believes. */
import { readState } from '../../src/core/fold/fold.ts';
import { buildViewLine, viewLineHash } from '../../src/core/view-line.ts';
import { sameStatement, statementOf } from '../../src/core/view-statement.ts';
import { meshId } from './charter.ts';
import { checkSaid } from './check-views.ts';
import { DiskFault } from './disk.ts';
import { signOf } from './keys.ts';
import { isPurged } from './purge-work.ts';
import { later, type Sim, type SimHost } from './types.ts';
import { usableLines } from './usable.ts';
import { keepViews } from './views.ts';

const calmMsMax = 60_000;
const retryMs = 5_000;

/** When is not decided here: at once or after a while, as a park or an alarm would have it. */
export function sayLater(sim: Sim, host: SimHost): void {
  later(sim, host, sim.random.next() < 0.5 ? 1_000 : sim.random.below(calmMsMax), () => say(sim, host));
}

function say(sim: Sim, host: SimHost): void {
  const { memory, name } = host;
  if (memory === undefined || !memory.caughtUp || memory.purge.working || !isPurged(sim, host, memory)) return;
  const { trust, fold } = memory;
  if (trust.charter.hosts.get(name)?.status === 'revoked') return;
  const head = (log: string): { seq: number; link: string } | undefined =>
    usableLines(trust.charter, memory, log).at(-1);
  const statement = statementOf(fold, { logs: () => [...memory.logs.keys()], head });
  const before = memory.views.get(name)?.at(-1);
  if (statement === undefined || (before !== undefined && sameStatement(before, statement))) return;
  const root = sim.bug.root?.(host, statement.root) ?? statement.root;
  const place = { n: (before?.n ?? 0) + 1, prev: before === undefined ? meshId : viewLineHash(before) };
  const line = buildViewLine(
    { ...statement, root, ...place, at: '2026-07-27T15:04:05.000Z', host: name, views: new Map() },
    signOf(host),
  );
  checkSaid(sim, host, line);
  try {
    keepViews(host, memory, { of: name, lines: [...(memory.views.get(name) ?? []), line] });
  } catch (error) {
    if (!(error instanceof DiskFault)) throw error;
    return later(sim, host, retryMs, () => say(sim, host));
  }
  sim.trace.note(`${sim.agenda.now()} ${host.node} says ${line.n} ${readState(fold).root.slice(0, 8)}`);
}

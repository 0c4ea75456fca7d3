/** What the machine asks for, done in the simulated world. */
import { claimOf } from '../../src/core/sync/plan.ts';
import type { Effect, SyncEvent } from '../../src/core/sync/vocabulary.ts';
import { judgeOwn, takeLog } from './admit.ts';
import { recharter } from './beliefs.ts';
import { checkReplicated } from './checks.ts';
import { checkServed } from './check-purges.ts';
import { DiskFault } from './disk.ts';
import { announce, shown } from './announce.ts';
import { tell, worldOf } from './machine.ts';
import { ask, type Lost } from './net.ts';
import { keyOf } from './keys.ts';
import { carryOutPurges } from './purge.ts';
import { whenFree } from './purge-work.ts';
import { settle } from './recover.ts';
import { sayLater } from './say.ts';
import { serveHeads, serveLog, serveTrust } from './serve.ts';
import type { Memory, Sim, SimHost } from './types.ts';
import { noteAuthored, noteTrustSet } from './truth.ts';
import { takeViews } from './take-views.ts';
import { serveViews } from './views.ts';
import { mayAppend } from './write.ts';
import type { TrustOp } from '../../src/core/trust/op.ts';
import { forkProof } from './charter.ts';
import { keptOps } from '../../src/core/trust/set.ts';

type Asking = Extract<Effect, { readonly deadlineMs: number }>;

export function carry(sim: Sim, host: SimHost, effect: Effect): void {
  const { memory } = host;
  if (memory === undefined) return;
  sim.trace.note(`  ${effect.kind} ${'peer' in effect ? effect.peer : ''}`);
  switch (effect.kind) {
    case 'ask-heads':
    case 'judge-own':
    case 'fetch-trust':
    case 'fetch-log':
    case 'fetch-views':
      return start(sim, host, memory, effect);
    case 'give-up':
      return memory.asked.get(effect.peer)?.end();
    case 'own-claim':
      if (typeof effect.claim === 'object') memory.proofs.set(effect.peer, effect.claim);
      return;
    case 'may-append':
      return mayAppend(sim, host, effect.token);
    case 'replicated':
      return checkReplicated(sim, host, effect);
    case 'prove-fork': {
      const op = forkProof(memory.trust.charter, effect.log, effect.lines);
      if (op !== undefined) addTrust(sim, host, [op]);
      return;
    }
    case 'outcome':
      sim.trace.note(`  = ${effect.outcome.state} ${effect.outcome.reason?.code ?? ''} ${effect.outcome.newEvents}`);
      return;
    case 'heard':
    case 'skipped':
    case 'hang-up':
    case 'watch':
      return;
    case 'caught-up':
      memory.caughtUp = true;
      return sayLater(sim, host);
  }
}

function start(sim: Sim, host: SimHost, memory: Memory, effect: Asking): void {
  const { peer, cycle, deadlineMs } = effect;
  const put = <T>(serve: (server: SimHost) => T | undefined, take: (answer: T | Lost) => SyncEvent): void => {
    const done = (answer: T | Lost): void => {
      memory.asked.delete(peer);
      whenFree(memory, () =>
        tell(
          sim,
          host,
          orFailed(() => take(answer), { peer, cycle }),
        ),
      );
    };
    const end = ask(sim, { from: host, to: peer, deadlineMs, serve, done });
    memory.asked.set(peer, { cycle, end });
  };
  switch (effect.kind) {
    case 'ask-heads':
      return put(
        (server) => {
          tell(sim, server, { kind: 'met', peer: host.name });
          return serveHeads(sim, server, host.name);
        },
        (answer) => {
          if (typeof answer === 'string') return { kind: 'heads', peer, cycle, answer: lost(answer) };
          return { kind: 'heads', peer, cycle, answer: { ok: true, value: shown(sim, memory, answer) } };
        },
      );
    case 'fetch-trust':
      return put(
        (server) => serveTrust(sim, server, effect.oid),
        (answer) => takeTrust(sim, host, { peer, cycle, answer }),
      );
    case 'fetch-views':
      return put(
        (server) => serveViews(server, effect.offered.keys()),
        (answer) => ({ kind: 'views', peer, cycle, fetched: takeViews(sim, host, effect.offered, answer) }),
      );
    case 'judge-own':
      return put(
        (server) => serveLog(server, host.name, { log: host.name, seq: effect.offered.seq }),
        (answer) => {
          if (answer === 'missing') return { kind: 'own', peer, cycle, verdict: { kind: 'wrong', detail: 'missing' } };
          if (typeof answer === 'string')
            return { kind: 'own', peer, cycle, verdict: { kind: 'unknown', code: answer, detail: answer } };
          const settled = claimOf(worldOf(host, memory), effect.offered) === 'none';
          return { kind: 'own', peer, cycle, verdict: settled ? { kind: 'settled' } : judgeOwn(sim, host, answer) };
        },
      );
    case 'fetch-log':
      return put(
        (server) => served(sim, server, host.name, effect),
        (answer) => takeAnswer(sim, host, effect, answer),
      );
  }
}

/** What this machine failed at. */
function orFailed(take: () => SyncEvent, of: { readonly peer: string; readonly cycle: number }): SyncEvent {
  try {
    return take();
  } catch (error) {
    if (!(error instanceof DiskFault)) throw error;
    return { kind: 'failed', ...of, detail: error.message };
  }
}

function served(
  sim: Sim,
  server: SimHost,
  asker: string,
  { log, offered }: Extract<Asking, { kind: 'fetch-log' }>,
): readonly string[] | 'missing' | undefined {
  const texts = serveLog(server, asker, { log, seq: offered.seq });
  if (typeof texts === 'object') checkServed(sim, server, log, texts);
  if (server.lies.has('equivocate') && log === server.name && typeof texts === 'object') {
    noteAuthored(sim, log, { texts, key: keyOf(server) });
    sim.truth.forked.add(log);
  }
  return texts;
}

function takeAnswer(
  sim: Sim,
  host: SimHost,
  effect: Extract<Asking, { kind: 'fetch-log' }>,
  answer: readonly string[] | 'missing' | Lost,
): SyncEvent {
  const { peer, cycle, log, offered } = effect;
  if (typeof answer === 'string') {
    const code = answer === 'missing' ? 'REMOTE_ERROR' : answer;
    return { kind: 'log', peer, cycle, log, fetched: { lines: 0, failure: { code, detail: answer } } };
  }
  const fetched = takeLog(sim, host, { log, peer, offered, texts: answer, cycle });
  if (fetched.lines > 0) announce(sim, host);
  return { kind: 'log', peer, cycle, log, fetched };
}

function takeTrust(
  sim: Sim,
  host: SimHost,
  { peer, cycle, answer }: { peer: string; cycle: number; answer: ReturnType<typeof serveTrust> | Lost },
): SyncEvent {
  const { memory } = host;
  const lostTrust = (code: Lost | 'REMOTE_ERROR'): SyncEvent => ({
    kind: 'trust',
    peer,
    cycle,
    answer: { ok: false, code, detail: code },
  });
  if (memory === undefined || answer === undefined) return lostTrust('CLOSED');
  if (typeof answer === 'string') {
    memory.trustFailed.add(cycle);
    return lostTrust(answer === 'missing' ? 'REMOTE_ERROR' : answer);
  }
  const before = memory.trust.set;
  if (!addTrust(sim, host, answer)) {
    memory.trustFailed.add(cycle);
    return { kind: 'failed', peer, cycle, detail: 'cannot write the trust set' };
  }
  const added = [...memory.trust.set.held.keys()].filter((id) => !before.held.has(id));
  return { kind: 'trust', peer, cycle, answer: { ok: true, value: { added, unsupported: [], bad: [] } } };
}

function lost(code: Lost): { readonly ok: false; readonly code: Lost; readonly detail: string } {
  return { ok: false, code, detail: code };
}

/**
 * The trust set grows: durably, then in the charter, the fold and what others are told. @returns false where it could not be
 * written, so that nothing of it counts.
 */
export function addTrust(sim: Sim, host: SimHost, ops: readonly TrustOp[]): boolean {
  const { memory, disk, name } = host;
  if (memory === undefined) return false;
  const trust = sim.unions(memory.trust, ops, name);
  if (trust.kept === memory.trust.kept) return true;
  try {
    disk.write('trust', keptOps(trust.set));
  } catch (error) {
    if (!(error instanceof DiskFault)) throw error;
    return false;
  }
  disk.sync();
  recharter(sim, host, trust);
  noteTrustSet(sim, host);
  carryOutPurges(sim, host);
  settle(sim, host);
  announce(sim, host);
  return true;
}

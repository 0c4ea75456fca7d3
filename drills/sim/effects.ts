/** What the machine asks for, done in the simulated world. */
import { assert } from '../../src/crypto/result.ts';
import { claimOf } from '../../src/core/sync/plan.ts';
import type { Effect, SyncEvent } from '../../src/core/sync/vocabulary.ts';
import { judgeOwn, takeLog } from './admit.ts';
import { recharter } from './beliefs.ts';
import { checkReplicated } from './checks.ts';
import { announce, shown } from './announce.ts';
import { tell, worldOf } from './machine.ts';
import { ask, type Lost } from './net.ts';
import { serveHeads, serveLog, serveTrust } from './serve.ts';
import type { Memory, Sim, SimHost } from './types.ts';
import { noteAuthored, noteTrustSet } from './truth.ts';
import { mayAppend } from './write.ts';
import type { TrustOp } from '../../src/core/trust/op.ts';
import { forkProof } from './charter.ts';
import { keptOps } from '../../src/core/trust/set.ts';

/** View journals are no part of the simulated world: the machine asks for them only where there are any. */
type Asking = Exclude<Extract<Effect, { readonly deadlineMs: number }>, { readonly kind: 'fetch-views' }>;

export function carry(sim: Sim, host: SimHost, effect: Effect): void {
  const { memory } = host;
  if (memory === undefined) return;
  sim.trace.note(`  ${effect.kind} ${'peer' in effect ? effect.peer : ''}`);
  switch (effect.kind) {
    case 'ask-heads':
    case 'judge-own':
    case 'fetch-trust':
    case 'fetch-log':
      return start(sim, host, memory, effect);
    case 'fetch-views':
      return assert(false, 'a simulated host has no view journals');
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
      return op === undefined ? undefined : addTrust(sim, host, [op]);
    }
    case 'outcome':
      sim.trace.note(`  = ${effect.outcome.state} ${effect.outcome.reason?.code ?? ''} ${effect.outcome.newEvents}`);
      return;
    case 'heard':
    case 'skipped':
    case 'hang-up':
    case 'watch':
    case 'caught-up':
      return;
  }
}

function start(sim: Sim, host: SimHost, memory: Memory, effect: Asking): void {
  const { peer, cycle, deadlineMs } = effect;
  const put = <T>(serve: (server: SimHost) => T | undefined, take: (answer: T | Lost) => SyncEvent): void => {
    const done = (answer: T | Lost): void => {
      memory.asked.delete(peer);
      tell(sim, host, take(answer));
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

function served(
  sim: Sim,
  server: SimHost,
  asker: string,
  { log, offered }: Extract<Asking, { kind: 'fetch-log' }>,
): readonly string[] | 'missing' | undefined {
  const texts = serveLog(server, asker, { log, seq: offered.seq });
  if (server.lies.has('equivocate') && log === server.name && typeof texts === 'object') noteAuthored(sim, log, texts);
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
  addTrust(sim, host, answer);
  const added = [...memory.trust.set.held.keys()].filter((id) => !before.held.has(id));
  return { kind: 'trust', peer, cycle, answer: { ok: true, value: { added, unsupported: [], bad: [] } } };
}

function lost(code: Lost): { readonly ok: false; readonly code: Lost; readonly detail: string } {
  return { ok: false, code, detail: code };
}

/** The trust set grows: durably, then in the charter, the fold and what others are told. */
export function addTrust(sim: Sim, host: SimHost, ops: readonly TrustOp[]): void {
  const { memory, disk, name } = host;
  if (memory === undefined) return;
  const trust = sim.unions(memory.trust, ops, name);
  if (trust.kept === memory.trust.kept) return;
  disk.write('trust', keptOps(trust.set));
  disk.sync();
  recharter(sim, host, trust);
  noteTrustSet(sim, host);
  announce(sim, host);
}

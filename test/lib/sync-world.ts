/** A sync machine with a world of tables: what is held is set by hand, effects are looked at one by one. */
import { openSync, type SyncOptions, type SyncState } from '../../src/core/sync/state.ts';
import { nextTime, step } from '../../src/core/sync/step.ts';
import type { Heads, HeadsTip, LogTip, PeerFaultCode } from '../../src/core/sync/peer.ts';
import type { Effect, SyncEvent, World } from '../../src/core/sync/vocabulary.ts';

export const syncMesh = 'a'.repeat(64);
export const hashOf = (digit: string): string => digit.repeat(64);

export interface SyncBench {
  readonly effects: Effect[];
  readonly logs: Map<string, string[]>;
  readonly peers: string[];
  readonly enrolled: Set<string>;
  /** Logs whose copy here is damaged, and up to which line it is good. */
  readonly damaged: Map<string, number>;
  trust: { hash: string; kept: string };
  state: SyncState;
  at: number;
  /** One step; the effects of it. */
  tell(event: SyncEvent): readonly Effect[];
  /** Time passes; the machine is told whenever it asked to be. */
  pass(ms: number): readonly Effect[];
  ask(peers: readonly string[], more?: { busy?: 'refuse' | 'skip' | 'wait'; deadlineMs?: number }): readonly Effect[];
  /** The answer to what was asked last of a peer. */
  answer(
    peer: string,
    answer: DistributiveOmit<Extract<SyncEvent, { cycle: number }>, 'peer' | 'cycle'>,
  ): readonly Effect[];
  heads(peer: string, logs?: Readonly<Record<string, HeadsTip>>, trust?: string): readonly Effect[];
  fault(peer: string, code: PeerFaultCode): readonly Effect[];
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

/** `links` of a log: one hex digit for each line. */
export function tipOf(links: string): HeadsTip {
  return { oid: links.padEnd(40, '0').slice(0, 40), seq: links.length, link: hashOf(links.at(-1) ?? '0') };
}

export function headsOf(host: string, logs: Readonly<Record<string, HeadsTip>> = {}, trust = hashOf('7')): Heads {
  return {
    mesh: syncMesh,
    host,
    heads: logs,
    trust: { oid: trust.slice(0, 40), hash: trust, kept: trust },
    addresses: {},
    version: 'test',
  };
}

export function syncBench(peers: readonly string[], options: Partial<SyncOptions> = {}): SyncBench {
  const usual = { seed: 1, ownAskMs: 2_000, ownProofMs: 15_000, appendAlone: true, watches: false };
  const bench: SyncBench = {
    effects: [],
    logs: new Map(),
    peers: [...peers],
    enrolled: new Set(['alpha', ...peers]),
    damaged: new Map(),
    trust: { hash: hashOf('7'), kept: hashOf('7') },
    state: openSync({ ...usual, ...options }),
    at: 0,
    tell(event) {
      const done = step(bench.state, { at: bench.at, world, event });
      bench.state = done.state;
      bench.effects.push(...done.effects);
      return done.effects;
    },
    pass(ms) {
      const end = bench.at + ms;
      const effects: Effect[] = [];
      for (let due = nextTime(bench.state); due !== undefined && due <= end; due = nextTime(bench.state)) {
        bench.at = Math.max(bench.at, due);
        effects.push(...bench.tell({ kind: 'time' }));
        if (effects.length > 10_000) throw new Error('the machine wants time again and again');
      }
      bench.at = end;
      return effects;
    },
    ask: (only, { busy = 'refuse', deadlineMs = 60_000 } = {}) =>
      bench.tell({
        kind: 'cycle',
        request: { token: `t${bench.effects.length}`, only, deadlineMs, headsOnly: false, busy },
      }),
    answer(peer, answer) {
      const asked = bench.effects.findLast((effect) => 'cycle' in effect && effect.peer === peer);
      const cycle = asked !== undefined && 'cycle' in asked ? asked.cycle : 0;
      return bench.tell({ ...answer, peer, cycle });
    },
    heads: (peer, logs, trust) =>
      bench.answer(peer, { kind: 'heads', answer: { ok: true, value: headsOf(peer, logs, trust) } }),
    fault: (peer, code) => bench.answer(peer, { kind: 'heads', answer: { ok: false, code, detail: 'because' } }),
  };
  const tip = (log: string): LogTip | undefined => {
    const links = bench.logs.get(log) ?? [];
    const link = links.at(-1);
    return link === undefined ? undefined : { oid: '0'.repeat(40), seq: links.length, link };
  };
  const world: World = {
    meshId: syncMesh,
    host: 'alpha',
    peers: () => bench.peers,
    whyNoPeer: (host) => (bench.peers.includes(host) ? undefined : 'no peer'),
    isEnrolled: (host) => bench.enrolled.has(host),
    tip,
    linkAt: (log, seq) => bench.logs.get(log)?.[seq - 1],
    isDamaged: (log) => bench.damaged.has(log),
    heldUpto: (log) => bench.damaged.get(log) ?? 0,
    trust: () => bench.trust,
  };
  return bench;
}

/** What is held of a log from now on. */
export function hold(bench: SyncBench, log: string, links: string): void {
  bench.logs.set(log, Array.from(links, hashOf));
}

/** Effects in short: kind and what it is about. */
export function short(effects: readonly Effect[]): readonly string[] {
  return effects.map((effect) => {
    switch (effect.kind) {
      case 'outcome':
        return `outcome ${effect.outcome.peer} ${effect.outcome.state}${effect.outcome.reason === undefined ? '' : ` ${effect.outcome.reason.code}`}`;
      case 'fetch-log':
        return `fetch-log ${effect.peer} ${effect.log} ${effect.offered.seq}`;
      case 'own-claim':
        return `own-claim ${effect.peer} ${typeof effect.claim === 'string' ? effect.claim : effect.claim.seq}`;
      case 'replicated':
        return `replicated ${effect.peers.join(',')} ${effect.enough}`;
      case 'may-append':
        return `may-append ${effect.token}`;
      case 'prove-fork':
        return `prove-fork ${effect.log}`;
      case 'caught-up':
        return effect.kind;
      default:
        return `${effect.kind} ${effect.peer}`;
    }
  });
}

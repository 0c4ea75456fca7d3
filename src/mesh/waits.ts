/** Promises of those who wait for the sync machine, by token. */
import type { PeerOutcome } from './node.ts';

interface Replicated {
  readonly peers: readonly string[];
  readonly enough: boolean;
}

/** A token that nobody else has, and what it stands for. */
interface Wait<T> {
  readonly token: string;
  readonly done: Promise<T>;
}

export interface Waits {
  /** Outcomes of cycles with these peers, in their order; at once when there is none. */
  forOutcomes(peers: readonly string[]): Wait<readonly PeerOutcome[]>;
  forRelease(): Wait<void>;
  forReplication(): Wait<Replicated>;
  outcome(outcome: PeerOutcome, tokens: readonly string[]): void;
  skip(peer: string, token: string): void;
  release(token: string): void;
  replicated(result: Replicated & { readonly token: string }): void;
}

interface OutcomeWait {
  readonly peers: readonly string[];
  readonly outcomes: Map<string, PeerOutcome | undefined>;
  readonly resolve: (outcomes: readonly PeerOutcome[]) => void;
}

export function openWaits(): Waits {
  let last = 0;
  const cycles = new Map<string, OutcomeWait>();
  const releases = new Map<string, () => void>();
  const replications = new Map<string, (result: Replicated) => void>();
  const nextToken = (): string => {
    last += 1;
    return String(last);
  };
  const note = (token: string, peer: string, outcome: PeerOutcome | undefined): void => {
    const wait = cycles.get(token);
    wait?.outcomes.set(peer, outcome);
    if (wait === undefined || wait.outcomes.size < wait.peers.length) return;
    cycles.delete(token);
    wait.resolve(wait.peers.flatMap((name) => wait.outcomes.get(name) ?? []));
  };
  return {
    forOutcomes(names) {
      const token = nextToken();
      const peers = [...new Set(names)];
      const done = new Promise<readonly PeerOutcome[]>((resolve) => {
        if (peers.length === 0) resolve([]);
        else cycles.set(token, { peers, outcomes: new Map(), resolve });
      });
      return { token, done };
    },
    forRelease() {
      const token = nextToken();
      return { token, done: new Promise((resolve) => void releases.set(token, resolve)) };
    },
    forReplication() {
      const token = nextToken();
      return { token, done: new Promise((resolve) => void replications.set(token, resolve)) };
    },
    outcome: (outcome, tokens) => tokens.forEach((token) => note(token, outcome.peer, outcome)),
    skip: (peer, token) => note(token, peer, undefined),
    release(token) {
      releases.get(token)?.();
      releases.delete(token);
    },
    replicated({ token, peers, enough }) {
      replications.get(token)?.({ peers, enough });
      replications.delete(token);
    },
  };
}

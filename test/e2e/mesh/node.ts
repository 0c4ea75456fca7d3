/** A whole node in process: repository, trust set, log book, ssh server and peers. What the daemon does, without the fold. */
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { makeBody } from '../../../src/core/event.ts';
import { buildLine, type Line } from '../../../src/core/line.ts';
import type { VerifiedLine } from '../../../src/core/log.ts';
import { charterOf, type Charter } from '../../../src/core/trust/charter.ts';
import type { TrustOp } from '../../../src/core/trust/op.ts';
import { addOps, emptyTrustSet, keptHash, keptOps, trustHash, type TrustSet } from '../../../src/core/trust/set.ts';
import { signEd25519 } from '../../../src/crypto/ed25519.ts';
import { ed25519PrivatePem } from '../../../src/crypto/ssh-key.ts';
import { printHeads, type HeadsTip } from '../../../src/mesh/heads.ts';
import type { AdmittedLines, LogTip, MeshNode, PeerOutcome } from '../../../src/mesh/node.ts';
import { createPeers, type Peers } from '../../../src/mesh/peers.ts';
import { startSshServer, type SshServer, type SshServerOptions } from '../../../src/mesh/ssh/ssh-server.ts';
import { initRepository, type Repository } from '../../../src/store/git/repository.ts';
import { openLogWriter, type LogWriter } from '../../../src/store/logs/log-writer.ts';
import { addTrustOps } from '../../../src/store/trust-store.ts';
import { temporaryFolder } from '../../lib/temporary.ts';
import { craig, genesisOf, hostAdd, must, testKey } from '../../lib/trust-ops.ts';

/** Key numbers of the hosts of a test mesh. */
export const hostKeys: Readonly<Record<string, number>> = { alpha: 10, beta: 11, gamma: 12 };

const genesis = genesisOf();
/** Id of the test mesh: craig and alpha. */
export const meshId: string = genesis.id;

/** Genesis and the host-adds of beta and gamma. */
export function meshOps(...names: readonly string[]): TrustOp[] {
  const added = names.map((name, index) =>
    hostAdd({ mesh: meshId, by: craig, prev: [meshId], nonce: 100 + index }, name, hostKeys[name] ?? 99),
  );
  return [genesis, ...added];
}

/** Builds lines of a log, signed, after a tip. `key`: number of the key that signs, that of the host if not given. */
export function makeLines(
  log: string,
  from: { seq: number; link: string },
  texts: readonly string[],
  { key = hostKeys[log] ?? 99, mesh = meshId }: { readonly key?: number; readonly mesh?: string } = {},
): Line[] {
  const lines: Line[] = [];
  let { seq, link } = from;
  for (const content of texts) {
    seq += 1;
    const nonce = Buffer.from(`${log}${seq}${content}`).toString('hex').padEnd(32, '0').slice(-32);
    const body = must(
      makeBody(
        { kind: 'question', subject: 'note/test', content },
        { mesh, host: log, session: 'test', at: '2026-07-27T15:04:05.000Z', nonce },
      ),
    );
    const line = buildLine({ body, auth: null, log, seq, prev: link }, (message) =>
      signEd25519(testKey(key).signing, message),
    );
    lines.push(line);
    link = line.link;
  }
  return lines;
}

export interface TestNode {
  readonly name: string;
  readonly repository: Repository;
  readonly server: SshServer;
  readonly peers: Peers;
  readonly admitted: AdmittedLines[];
  /** Of every cycle so far. */
  readonly outcomes: PeerOutcome[];
  /** Where others are dialled, separated by blanks; change it to send this node elsewhere. */
  readonly addresses: Map<string, string>;
  readonly tips: Map<string, LogTip>;
  readonly links: Map<string, string[]>;
  /** Ids that purges name, as this node knows it. */
  readonly purged: Set<string>;
  charter(): Charter;
  set(): TrustSet;
  /** Adds trust ops of its own. */
  trust(...ops: TrustOp[]): Promise<void>;
  /** Appends to its own log, one commit. */
  append(...texts: string[]): Promise<void>;
  /** Changes what `memd heads` says, to lie. */
  lie(change: (heads: Parameters<typeof printHeads>[0]) => Parameters<typeof printHeads>[0]): void;
  cycle(...only: string[]): Promise<readonly PeerOutcome[]>;
  mesh: MeshNode;
}

export async function startNode(
  name: string,
  options: {
    ops?: readonly TrustOp[];
    key?: number;
    deadlineMs?: number;
    /** As memd does: peers are watched and may ask back, and whoever watches is told of what is admitted. */
    live?: boolean;
    server?: Partial<SshServerOptions>;
  } = {},
): Promise<TestNode> {
  const repository = await initRepository(join(temporaryFolder(), 'repo.git'), { host: name });
  const key = options.key ?? hostKeys[name] ?? 99;
  const sshKey = ed25519PrivatePem(testKey(key + 1_000).seed, name);
  let set = emptyTrustSet(meshId);
  let trustOid = '0'.repeat(40);
  let charter = charterOf(set);
  const tips = new Map<string, LogTip>();
  const links = new Map<string, string[]>();
  const admitted: AdmittedLines[] = [];
  const purged = new Set<string>();
  const addresses = new Map<string, string>();
  let lie = (heads: Parameters<typeof printHeads>[0]): Parameters<typeof printHeads>[0] => heads;

  const admitTrust: MeshNode['admitTrust'] = async (ops, via) => {
    const added = addOps(set, ops, via);
    set = added.set;
    charter = charterOf(set);
    const kept = keptOps(set);
    const stored = kept.map(({ id, text }) => ({ id, text }));
    trustOid = (await addTrustOps(repository, { ops: stored, author: 'memd <t@t>', seconds: 1 })) ?? trustOid;
    return added;
  };
  const note = (log: string, lines: readonly (Line | VerifiedLine)[], oid: string): void => {
    const chain = links.get(log) ?? [];
    for (const line of lines) chain.push(line.link);
    links.set(log, chain);
    tips.set(log, { oid, seq: chain.length, link: chain.at(-1) ?? '' });
  };
  const mesh: MeshNode = {
    meshId,
    host: name,
    repository,
    sshKey,
    charter: () => charter,
    purged: () => purged,
    tip: (log) => tips.get(log),
    linkAt: (log, seq) => links.get(log)?.[seq - 1],
    trust: () => ({ hash: trustHash(set), kept: keptHash(set) }),
    holdsTrustOp: (id) => set.held.has(id),
    admitTrust,
    admitLines: (lines) => {
      admitted.push(lines);
      note(lines.log, lines.lines, lines.tip.oid);
      if (options.live === true) server.tell();
    },
  };
  const server = await startSshServer({
    hostKey: sshKey,
    repositoryDir: repository.gitDir,
    listen: { address: '127.0.0.1', port: 0 },
    charterHosts: () => charter.hosts,
    heads: () => {
      const heads: Record<string, HeadsTip> = Object.fromEntries(tips);
      return printHeads(
        lie({
          mesh: meshId,
          host: name,
          heads,
          trust: { oid: trustOid, hash: trustHash(set), kept: keptHash(set) },
          addresses: {},
          version: 'test',
        }),
      );
    },
    ...(options.live === true
      ? {
          onLogin: (host) => peers.met(host),
          onServeBack: (host, channel) => (peers.offered(host, channel), peers.askBack(host)),
        }
      : {}),
    ...options.server,
  });
  const outcomes: PeerOutcome[] = [];
  const peers: Peers = createPeers({
    node: mesh,
    addressesOf: (host) => addresses.get(host)?.split(' ') ?? [],
    onOutcome: (outcome) => outcomes.push(outcome),
    sync: { watches: options.live === true },
  });
  if (options.live === true) peers.serveWith(server.serveOver);
  onTestFinished(async () => {
    await peers.close();
    await server.close();
  });
  await admitTrust(options.ops ?? meshOps('beta', 'gamma'), '');
  let writer: LogWriter | undefined;
  return {
    name,
    repository,
    server,
    peers,
    admitted,
    outcomes,
    addresses,
    tips,
    links,
    purged,
    mesh,
    charter: () => charter,
    set: () => set,
    trust: async (...ops) => void (await admitTrust(ops, '')),
    append: async (...texts) => {
      if (writer !== undefined && writer.head() !== tips.get(name)?.oid) writer = undefined;
      writer ??= await openLogWriter({ repository, host: name, meshId });
      const lines = makeLines(name, tips.get(name) ?? { seq: 0, link: meshId }, texts, { key });
      const { oid } = await writer.append(lines);
      note(name, lines, oid);
      if (options.live === true) server.tell();
    },
    lie: (change) => (lie = change),
    cycle: (...only) =>
      peers.cycle({ deadlineMs: options.deadlineMs ?? 20_000, ...(only.length === 0 ? {} : { only }) }),
  };
}

/** Tells every node where the others listen. */
export function introduce(...nodes: readonly TestNode[]): void {
  for (const node of nodes) {
    for (const other of nodes)
      if (other !== node) node.addresses.set(other.name, `ssh://127.0.0.1:${other.server.port}`);
  }
}

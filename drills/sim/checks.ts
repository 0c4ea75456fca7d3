/** What must hold at every step, whatever happens. Judged from what really happened, not from what hosts think. */
import { eventView, readState } from '../../src/core/fold/fold.ts';
import { settlesFork } from '../../src/core/recovery.ts';
import { parseLine } from '../../src/core/line.ts';
import type { VerifiedLine } from '../../src/core/log.ts';
import type { Effect } from '../../src/core/sync/vocabulary.ts';
import { brokenSignedPromise, dumpComparable, dumpFold, dumpOracle } from '../../test/lib/fold-checks.ts';
import { purgesLeft } from './check-purges.ts';
import { readTexts } from './judge.ts';
import { keyOf } from './keys.ts';
import { branchesOf } from './branches.ts';
import { foldAnew, usableLines } from './usable.ts';
import { isForgedApproval, isKey, meshId, simPorts } from './charter.ts';
import { findContradiction } from './contradictions.ts';
import { isAuthored } from './truth.ts';
import { Violation, type Memory, type Said, type Sim, type SimHost } from './types.ts';

function require(condition: boolean, sentence: () => string): void {
  if (!condition) throw new Violation(sentence());
}

/** Lines that are taken in: by the log's own writer, with their bodies, and judged under a charter as new as the peer's. */
export function checkAdmitted(
  sim: Sim,
  host: SimHost,
  taken: {
    readonly log: string;
    readonly peer: string;
    readonly cycle: number;
    readonly lines: readonly VerifiedLine[];
  },
): void {
  const { memory } = host;
  if (memory === undefined) return;
  const { log, peer, cycle, lines } = taken;
  for (const line of lines) {
    require(isAuthored(sim, log, line), () =>
      `one writer: ${host.node} took line ${line.seq} of ${log}, which ${log} never wrote`);
    const isBare = !memory.trust.charter.purges.has(line.id) || line.fault === 'HOLE';
    require(isBare, () => `purge: ${host.node} took the purged body of line ${line.seq} of ${log} from ${peer}`);
    require(line.fault !== 'HOLE' || memory.trust.charter.purges.has(line.id), () =>
      `holes: ${host.node} took line ${line.seq} of ${log} without its body, and nobody purged it`);
  }
  const now = memory.sync.peers.get(peer)?.cycle;
  if (now?.number !== cycle || now.heads === undefined || memory.trustFailed.has(cycle)) return;
  const said = memory.originals.get(now.heads) ?? now.heads;
  const theirs = sim.truth.trustSets.get(said.trust.hash) ?? new Set();
  for (const op of theirs)
    require(memory.trust.set.held.has(op), () =>
      `trust first: ${host.node} took lines of ${log} from ${peer} without trust op ${op.slice(0, 12)} that ${peer} had`);
}

/** After every change of what a host believes. */
export function checkBeliefs(
  sim: Sim,
  host: SimHost,
  news: {
    readonly before: ReadonlyMap<string, Said>;
    readonly fresh: readonly VerifiedLine[];
    readonly subjects: ReadonlySet<string>;
  },
): void {
  const { memory } = host;
  if (memory === undefined) return;
  if (news.fresh.length > 0) checkSignedTruth(host, memory, news);
  for (const subject of news.subjects) {
    const found = findContradiction(memory, subject);
    require(found === undefined, () => `contradiction: ${host.node} serves ${found}`);
  }
  checkSameConclusion(sim, host, memory);
  if (sim.random.next() < 0.1) {
    checkFold(host, memory);
    checkKeys(sim, host, memory);
  }
}

/** What nobody signed changes nothing that signed truth serves. */
function checkSignedTruth(
  host: SimHost,
  memory: Memory,
  { before, fresh }: { readonly before: ReadonlyMap<string, Said>; readonly fresh: readonly VerifiedLine[] },
): void {
  if (fresh.some(({ auth, body }) => auth !== null && !isForgedApproval(auth, body))) return;
  for (const [key, { served }] of before) {
    const was = served === null ? undefined : eventView(memory.fold, served);
    if (was?.level !== 'signed') continue;
    const now = memory.answers.get(key)?.served;
    const is = now === null || now === undefined ? undefined : eventView(memory.fold, now);
    const same = is?.level === 'signed' && valueOf(is.body) === valueOf(was.body);
    require(same, () => `signed truth: unsigned lines changed what ${host.node} serves on ${key}`);
  }
}

function valueOf(
  body: { readonly value?: string; readonly content?: string; readonly polarity?: string } | null,
): string {
  return `${body?.polarity ?? ''} ${body?.value ?? ''} ${body?.value === undefined ? (body?.content ?? '') : ''}`;
}

/** Equal heads and trust: equal root, and equal answers. */
function checkSameConclusion(sim: Sim, host: SimHost, memory: Memory): void {
  const heads = [...memory.folded].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const links = heads.map(([log, seq]) => memory.logs.get(log)?.lines[seq - 1]?.link ?? '');
  const input = `${memory.trust.hash} ${links.join(' ')}`;
  const said = [...memory.answers].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const conclusion = `${readState(memory.fold).root} ${said.map(([key, { status, served }]) => `${key} ${status} ${served}`).join('\n')}`;
  const known = sim.truth.conclusions.get(input);
  require(known === undefined || known === conclusion, () =>
    `equality: ${host.node} concludes something else from the same heads than another host, or than before`);
  sim.truth.conclusions.set(input, conclusion);
}

/** Incremental = from nothing. */
function checkFold(host: SimHost, memory: Memory): void {
  const anew = foldAnew(memory);
  require(readState(anew).root === readState(memory.fold).root, () =>
    `equality: the fold of ${host.node} is another one than from nothing`);
}

/** Every usable line is by the key that the charter gives its host at that place. */
function checkKeys(sim: Sim, host: SimHost, memory: Memory): void {
  for (const { name, spans } of memory.trust.charter.hosts.values()) {
    for (const { seq, link } of usableLines(memory.trust.charter, memory, name)) {
      const span = spans.find(({ from, upto }) => seq >= from && (upto === null || seq <= upto));
      const numbers = [...(sim.truth.signedWith.get(link) ?? [])];
      require(span !== undefined && numbers.some((number) => isKey(number, span.key)), () =>
        `one writer: ${host.node} uses line ${seq} of ${name}, which a replaced key signed`);
    }
  }
}

/** The same more thoroughly, and against the naive oracle. */
export function checkWhole(host: SimHost): void {
  const { memory } = host;
  if (memory === undefined) return;
  const { charter, hash } = memory.trust;
  require(dumpFold(foldAnew(memory)) === dumpFold(memory.fold), () =>
    `equality: the fold of ${host.node} is another one than from nothing`);
  const broken = brokenSignedPromise(memory.fold, charter);
  require(broken === undefined, () => `signed truth: ${host.node}: ${broken}`);
  const lines = [...memory.logs.keys()].flatMap((log) => usableLines(charter, memory, log));
  if (lines.length > oracleLinesMax) return;
  const oracle = dumpOracle(charter, lines, { ports: simPorts, trust: hash });
  require(dumpComparable(memory.fold) === oracle, () =>
    `oracle: the fold of ${host.node} is not what docs/fold.md says`);
}

/** The oracle is slow on purpose. */
const oracleLinesMax = 40;

/** What was acknowledged is there again after a crash: on the disk, whatever the charter lets count of it. */
export function checkRestart(sim: Sim, host: SimHost): void {
  const { name, acknowledged } = host;
  const texts = readTexts(host, name);
  for (const { seq, link } of acknowledged) {
    const line = parseLine(texts[seq - 1] ?? '', meshId);
    const sentence = `durability: ${host.node} acknowledged line ${seq} before ${sim.agenda.now()} ms, and lost it in a crash`;
    require(line.ok && line.value.link === link, () => sentence);
  }
}

/** A host that was neither put back nor copied has one line of each number under one key, ever. */
export function checkOwnBranch(sim: Sim, host: SimHost, lines: readonly VerifiedLine[]): void {
  const { rewound, onBranch, forked } = sim.truth;
  const { name, node } = host;
  for (const { seq, link } of lines) {
    const place = `${name} ${seq} ${keyOf(host)}`;
    const known = onBranch.get(place) ?? link;
    if (known !== link) forked.add(name);
    require(known === link || rewound.has(name), () =>
      `one writer: ${node} put a second line ${seq} on its own branch`);
    onBranch.set(place, link);
  }
}

/** Whoever is said to hold a line held it durably at some time; a restore may have taken it back since. */
export function checkReplicated(
  sim: Sim,
  host: SimHost,
  { token, peers }: Extract<Effect, { kind: 'replicated' }>,
): void {
  const [, seq, link] = token.split(' ');
  for (const peer of peers) {
    const lied = sim.truth.liars.has(peer);
    require(lied || sim.truth.durable.has(`${peer} ${link}`), () =>
      `replication: ${host.node} was told that ${peer} holds line ${seq} of its log, and it never did`);
  }
}

/** Hosts that nobody revoked. */
function membersOf(sim: Sim): readonly SimHost[] {
  const charters = sim.hosts.flatMap(({ memory }) => memory?.trust.charter ?? []);
  const isRevoked = (name: string): boolean => charters.some(({ hosts }) => hosts.get(name)?.status === 'revoked');
  return sim.hosts.filter(({ name, up, memory }) => up && memory !== undefined && !isRevoked(name));
}

/** After a while longer, all hosts know of each other that what is purged is gone. */
export function unknownPurge(sim: Sim): string | undefined {
  return purgesLeft(sim, membersOf(sim));
}

/** Everything was healed long enough ago: all hosts hold the same and say the same. */
export function differenceBetween(sim: Sim): string | undefined {
  const hosts = membersOf(sim);
  const said = hosts.map(({ node, memory }) => ({ node, text: memory === undefined ? '' : holdingsOf(memory) }));
  const other = said.find(({ text }) => text !== said[0]?.text);
  if (other === undefined) return silentHost(sim, hosts) ?? lostWord(hosts);
  return `${other.node} and ${said[0]?.node} do not hold the same:\n${other.text}\n${said[0]?.text}`;
}

/** A host that may append, and whose last append was not acknowledged. */
function silentHost(sim: Sim, hosts: readonly SimHost[]): string | undefined {
  const silent = hosts.find(({ name, acknowledged, memory }) => {
    const log = memory?.trust.charter.hosts.get(name);
    return log?.status === 'active' && sim.askedAtEnd.get(name) === acknowledged.length;
  });
  return silent && `${silent.node} has acknowledged nothing since`;
}

/** Of a fork that was settled nothing is lost that its host, or a signer's word anywhere, had of it. */
function lostWord(hosts: readonly SimHost[]): string | undefined {
  for (const host of hosts) {
    const { memory, name } = host;
    if (memory === undefined) continue;
    const { trust, fold } = memory;
    const own = settlesFork(trust, name) ? branchesOf(host, name).flat() : [];
    for (const { id, body, auth } of own) {
      if (body === null || auth !== null || body.host !== name || trust.charter.purges.has(id)) continue;
      const said = eventView(fold, id)?.lines.some(({ log }) => log === name);
      if (said !== true) return `${name} has not said ${id.slice(0, 12)} again, which stood on a branch of its log`;
    }
  }
  return undefined;
}

/** What counts is compared: behind the cut of a fork each keeps the branch that it saw first. */
function holdingsOf(memory: Memory): string {
  const { charter, kept } = memory.trust;
  const tips = [...memory.logs.keys()].flatMap((log) => {
    const last = usableLines(charter, memory, log).at(-1);
    return last === undefined ? [] : [`${log} ${last.seq} ${last.link}`];
  });
  return [kept, ...tips.toSorted((a, b) => (a < b ? -1 : 1)), readState(memory.fold).root].join('\n');
}

/**
 * A host that goes on behind a pin, in the order in which memd does it: what stands behind the pin leaves its log and is kept,
 * the home takes the new keys, and what was said on branches that count no more is said again.
 */
import type { Line } from '../../src/core/line.ts';
import {
  approvedUnused,
  pinCuts,
  pinFor,
  settlesFork,
  signedByAny,
  unsaidOf,
  type Said,
} from '../../src/core/recovery.ts';
import { usableUpto } from '../../src/core/trust/usable.ts';
import { withoutBody } from '../../src/store/logs/log-rewrite.ts';
import { reread } from './beliefs.ts';
import { branchesOf, keepBranch, parsed } from './branches.ts';
import { decide, keyText, meshId, simPorts, verifyCheaply } from './charter.ts';
import { DiskFault } from './disk.ts';
import { judgeLines, readTexts, store } from './judge.ts';
import { keyOf } from './keys.ts';
import { later, type Memory, type Sim, type SimHost } from './types.ts';
import { usableLines } from './usable.ts';

const retryMs = 20_000;

/** A person has the home make new keys, and a signer names them, with a pin at the last line that everybody can use. */
export function wantNewKeys(sim: Sim, host: SimHost): void {
  const { memory, name, disk } = host;
  if (memory === undefined) return;
  const { charter } = memory.trust;
  const self = charter.hosts.get(name);
  if (self === undefined || self.status === 'revoked') return;
  const book = {
    head: (log: string) => usableLines(charter, memory, log).at(-1),
    linkAt: (log: string, seq: number) => memory.logs.get(log)?.lines[seq - 1]?.link,
  };
  const pin = pinFor(book, charter, name) ?? { seq: 0, link: meshId };
  // A pin below the last one says nothing: the log has to be here first.
  if (pin.seq < (self.pins.at(-1)?.seq ?? 0)) return;
  try {
    if (disk.read('next key') === undefined) {
      sim.decisions += 1;
      disk.write('next key', 700 + sim.decisions);
      disk.sync();
    }
  } catch (error) {
    if (!(error instanceof DiskFault)) throw error;
    return;
  }
  sim.decisions += 1;
  const key = Number(disk.read('next key'));
  sim.admit(host, [decide(memory.trust, { kind: 'rekey', name, key, pin }, sim.decisions)]);
}

/** Puts a home under what the trust set says of logs and of its own keys. Each step can be done again. */
export function settle(sim: Sim, host: SimHost): void {
  const { memory } = host;
  if (memory === undefined || memory.writing || memory.purge.working) return again(sim, host);
  try {
    dropCuts(sim, host, memory);
    takeKey(sim, host, memory);
    sayAgain(sim, host, memory);
  } catch (error) {
    if (!(error instanceof DiskFault)) throw error;
    again(sim, host);
  }
}

function again(sim: Sim, host: SimHost): void {
  later(sim, host, retryMs, () => settle(sim, host));
}

interface Cut {
  readonly log: string;
  readonly seq: number;
  readonly code: string;
}

function cutsOf(sim: Sim, memory: Memory): readonly Cut[] {
  return [...memory.logs].flatMap(([log, { texts }]): readonly Cut[] => {
    const host = memory.trust.charter.hosts.get(log);
    if (host === undefined || host.pins.length === 0) return [];
    const { lines, fault } = judgeLines(sim, memory, { log, from: { seq: 0, link: meshId }, texts });
    if (fault !== undefined) return [{ log, seq: fault.seq, code: fault.code }];
    const bounds = usableUpto(host, (seq) => lines[seq - 1]?.link, lines.length);
    return bounds.fault === undefined ? [] : [{ log, seq: bounds.upto + 1, code: bounds.fault }];
  });
}

/** Lines behind a pin leave their log, once they are kept. */
function dropCuts(sim: Sim, host: SimHost, memory: Memory): void {
  const { hosts, purges } = memory.trust.charter;
  let dropped = false;
  for (const { log, seq } of pinCuts(cutsOf(sim, memory), hosts)) {
    const owner = hosts.get(log);
    const texts = readTexts(host, log);
    const behind = parsed(texts.slice(seq - 1));
    const signed = owner === undefined ? [] : signedByAny(behind, owner, { mesh: meshId, verify: verifyCheaply });
    if (signed.length === 0) continue;
    // A purge that could not be carried out yet must not leave its bodies here.
    const bare = signed.map(({ text }) => String(withoutBody({ meshId, purged: purges }, text).line));
    keepBranch(host, bare);
    store(host, log, texts.slice(0, seq - 1));
    if (log === host.name) forgetOwn(sim, host, seq);
    sim.trace.note(`${sim.agenda.now()} ${host.node} drops ${log} from ${seq}`);
    dropped = true;
  }
  if (dropped) reread(sim, host);
}

/** What was acknowledged behind the pin is owed on the new branch now, which is looked at in the end. */
function forgetOwn(sim: Sim, host: SimHost, from: number): void {
  host.acknowledged = host.acknowledged.filter(({ seq }) => seq < from);
  for (const key of sim.truth.onBranch.keys()) {
    const [log, seq] = key.split(' ');
    if (log === host.name && Number(seq) >= from) sim.truth.onBranch.delete(key);
  }
}

/** The keys that wait take their place once the charter names them. */
function takeKey(sim: Sim, host: SimHost, memory: Memory): void {
  const { disk, name } = host;
  const next = disk.read('next key');
  if (typeof next !== 'number' || sim.bug.keepsOldKey === true) return;
  if (memory.trust.charter.hosts.get(name)?.sign.text !== keyText(next)) return;
  disk.write('key', next);
  disk.sync();
  disk.remove('next key');
  disk.sync();
  memory.proofs.clear();
  sim.trace.note(`${sim.agenda.now()} ${host.node} takes key ${next}`);
}

function sayAgain(sim: Sim, host: SimHost, memory: Memory): void {
  const { name } = host;
  const { trust, fold } = memory;
  const self = trust.charter.hosts.get(name);
  if (self?.status !== 'active' || self.sign.text !== keyText(keyOf(host))) return;
  const { approve } = simPorts;
  const own = settlesFork(trust, name) ? unsaidOf(branchesOf(host, name), fold, { own: name, approve }) : [];
  const said = new Set(memory.queue.flatMap(({ again: one }) => (one === undefined ? [] : JSON.stringify(one.body))));
  const all: readonly Said[] = [...own, ...approvedUnused(unusedLines(host, memory), fold, { approve })];
  for (const one of sim.bug.forgetsUnsaid === true ? [] : all) {
    const text = JSON.stringify(one.body);
    if (said.has(text)) continue;
    said.add(text);
    memory.queue.push({ seed: 0, signed: false, sync: false, again: one });
  }
  sim.goOn(host);
}

/** Lines that are held and not usable, of whatever log but our own. */
function unusedLines(host: SimHost, memory: Memory): readonly Line[] {
  const { charter } = memory.trust;
  const beyond = [...memory.logs].flatMap(([log, { texts }]) =>
    log === host.name ? [] : parsed(texts.slice(usableLines(charter, memory, log).length)),
  );
  const kept = [...charter.hosts.keys()].flatMap((log) => branchesOf(host, log).flat());
  return [...beyond, ...kept];
}

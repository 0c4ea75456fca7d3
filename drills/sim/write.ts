/** Appending: one write at a time, durable before it is acknowledged. Power may fail between any two of the steps. */
import { buildLine } from '../../src/core/line.ts';
import { ownLogFault } from '../../src/core/sync/own-log.ts';
import { createRandom } from '../../test/lib/random.ts';
import { judgeLines } from './judge.ts';
import { believe } from './beliefs.ts';
import { meshId, oidOf, signAs } from './charter.ts';
import { drawEvent } from './events.ts';
import { announce } from './announce.ts';
import { tell, worldOf } from './machine.ts';
import { noteAuthored } from './truth.ts';
import { later, type HeldLog, type Memory, type Pending, type Sim, type SimHost } from './types.ts';

/** Somebody wants to append: own log first. */
export function wantAppend(sim: Sim, host: SimHost, pending: Pending): void {
  const { memory } = host;
  if (memory === undefined) return;
  memory.tokens += 1;
  const token = `a${memory.tokens}`;
  memory.waiting.set(token, pending);
  tell(sim, host, { kind: 'append', token });
}

/** The machine lets a writer through. */
export function mayAppend(sim: Sim, host: SimHost, token: string): void {
  const { memory } = host;
  const pending = memory?.waiting.get(token);
  if (memory === undefined || pending === undefined) return;
  memory.waiting.delete(token);
  memory.queue.push(pending);
  writeNext(sim, host, memory);
}

const stepMs = 4;

function writeNext(sim: Sim, host: SimHost, memory: Memory): void {
  const pending = memory.queue[0];
  if (memory.writing || pending === undefined) return;
  memory.queue.shift();
  const proofs = Array.from(memory.proofs, ([peer, line]) => ({ peer, line }));
  // A home that lacks a line of its own log, or holds another, writes nothing; nor does one whose log was ended.
  const isRevoked = memory.trust.charter.hosts.get(host.name)?.status !== 'active';
  if (isRevoked || ownLogFault(worldOf(host, memory), proofs) !== undefined) return writeNext(sim, host, memory);
  const random = createRandom(pending.seed);
  const held = memory.logs.get(host.name) ?? { texts: [], lines: [] };
  const last = held.lines.at(-1);
  const { body, auth } = drawEvent(host, memory, { random, now: sim.agenda.now(), signed: pending.signed });
  const place = { log: host.name, seq: (last?.seq ?? 0) + 1, prev: last?.link ?? meshId };
  const line = buildLine({ body, auth, ...place }, signAs(host.name));
  memory.writing = true;
  writeDurably(sim, host, { memory, pending, held, text: line.text });
}

interface Writing {
  readonly memory: Memory;
  readonly pending: Pending;
  readonly held: HeldLog;
  readonly text: string;
}

/** Objects, then their folders, then the branch, then its folder; only then is it said to be there. */
function writeDurably(sim: Sim, host: SimHost, writing: Writing): void {
  const { text, held } = writing;
  const { disk, name } = host;
  noteAuthored(sim, name, [text]);
  const early = sim.bug.acknowledgesEarly === true;
  disk.write(`object ${name} ${oidOf(text)}`, [...held.texts, text]);
  later(sim, host, stepMs, () => {
    if (!early) disk.sync();
    disk.write(`ref ${name}`, oidOf(text));
    if (early) finish(sim, host, writing);
    later(sim, host, early ? 20 * stepMs : stepMs, () => {
      disk.sync();
      if (!early) finish(sim, host, writing);
    });
  });
}

function finish(sim: Sim, host: SimHost, { memory, pending, held, text }: Writing): void {
  const last = held.lines.at(-1);
  const from = { seq: last?.seq ?? 0, link: last?.link ?? meshId };
  const { lines } = judgeLines(sim, memory, { log: host.name, from, texts: [text] });
  memory.logs.set(host.name, { texts: [...held.texts, text], lines: [...held.lines, ...lines] });
  const [line] = lines;
  if (line !== undefined) {
    host.acknowledged.push({ seq: line.seq, link: line.link });
    sim.trace.note(`${sim.agenda.now()} ${host.node} appends ${line.id}`);
    believe(sim, host);
    if (pending.sync) waitForPeer(sim, host, memory, line);
    announce(sim, host);
  }
  memory.writing = false;
  writeNext(sim, host, memory);
}

function waitForPeer(
  sim: Sim,
  host: SimHost,
  memory: Memory,
  { seq, link }: { readonly seq: number; readonly link: string },
): void {
  memory.tokens += 1;
  const wait = { token: `w ${seq} ${link} ${memory.tokens}`, line: { seq, link }, peers: 1, deadlineMs: 30_000 };
  tell(sim, host, { kind: 'replicate', wait });
}

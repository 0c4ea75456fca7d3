/** Appending: one write at a time, durable before it is acknowledged. Power may fail between any two of the steps. */
import { buildLine } from '../../src/core/line.ts';
import { ownLogFault } from '../../src/core/sync/own-log.ts';
import { beforeWrite, linesBeyond } from '../../src/core/sync/own-write.ts';
import type { VerifiedLine } from '../../src/core/log.ts';
import { createRandom } from '../../test/lib/random.ts';
import { DiskFault } from './disk.ts';
import { commitOf, judgeLines, readTexts } from './judge.ts';
import { believe } from './beliefs.ts';
import { keyText, meshId } from './charter.ts';
import { keyOf, signOf } from './keys.ts';
import { checkOwnBranch } from './checks.ts';
import { drawEvent } from './events.ts';
import { announce } from './announce.ts';
import { tell, worldOf } from './machine.ts';
import { noteAuthored } from './truth.ts';
import { carryOutPurges } from './purge.ts';
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
  writeNext(sim, host);
}

const stepMs = 4;

/** The next append that waits, unless one is under way, or a purge. */
export function writeNext(sim: Sim, host: SimHost): void {
  const { memory } = host;
  const pending = memory?.queue[0];
  if (memory === undefined || memory.writing || memory.purge.working || pending === undefined) return;
  memory.queue.shift();
  const proofs = Array.from(memory.proofs, ([peer, line]) => ({ peer, line }));
  // A home that lacks a line of its own log, or holds another, writes nothing; nor does one whose log was ended.
  const self = memory.trust.charter.hosts.get(host.name);
  // Nor does one that was rekeyed elsewhere: its word counts no more.
  const isOver = self?.status !== 'active' || self.sign.text !== keyText(keyOf(host));
  if (isOver || ownLogFault(worldOf(host, memory), proofs) !== undefined) return writeNext(sim, host);
  if (!isOpen(sim, host, memory)) return writeNext(sim, host);
  const random = createRandom(pending.seed);
  const held = memory.logs.get(host.name) ?? { texts: [], lines: [] };
  const last = held.lines.at(-1);
  const drawn = { random, now: sim.agenda.now(), signed: pending.signed };
  const { body, auth } = pending.again ?? drawEvent(host, memory, drawn);
  const place = { log: host.name, seq: (last?.seq ?? 0) + 1, prev: last?.link ?? meshId };
  const line = buildLine({ body, auth, ...place }, signOf(host));
  memory.writing = true;
  writeDurably(sim, host, { memory, pending, held, text: line.text });
}

/** Whether the branch ends where our lines do; what it holds more is taken over first. */
function isOpen(sim: Sim, host: SimHost, memory: Memory): boolean {
  const decide = (looked: boolean): ReturnType<typeof beforeWrite> => {
    const branch = host.disk.read(`ref ${host.name}`);
    const held = memory.logs.get(host.name);
    const commit = held === undefined || held.texts.length === 0 ? null : commitOf(held.texts);
    return beforeWrite({ branch: typeof branch === 'string' ? branch : null, held: commit, looked });
  };
  if (decide(false) === 'take-over') takeWhatPersisted(sim, host, memory);
  return decide(true) === 'write';
}

function takeWhatPersisted(sim: Sim, host: SimHost, memory: Memory): void {
  if (sim.bug.forgetsPersisted === true) return;
  if (sim.bug.takesUnflushed !== true) host.disk.sync();
  const held = memory.logs.get(host.name) ?? { texts: [], lines: [] };
  const texts = readTexts(host, host.name);
  const { lines } = judgeLines(sim, memory, { log: host.name, from: { seq: 0, link: meshId }, texts });
  const more = linesBeyond(held.lines.at(-1), lines);
  if (more.length > 0) takeOwn(sim, host, memory, { texts: texts.slice(0, lines.length), more });
}

/** Lines of our own that are on the branch. */
function takeOwn(
  sim: Sim,
  host: SimHost,
  memory: Memory,
  { texts, more }: { readonly texts: readonly string[]; readonly more: readonly VerifiedLine[] },
): void {
  const held = memory.logs.get(host.name)?.lines ?? [];
  memory.logs.set(host.name, { texts, lines: [...held, ...more] });
  checkOwnBranch(sim, host, more);
  believe(sim, host);
  announce(sim, host);
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
  noteAuthored(sim, name, { texts: [text], key: keyOf(host) });
  const early = sim.bug.acknowledgesEarly === true;
  const texts = [...held.texts, text];
  const attempt = (step: () => void): void => {
    try {
      step();
    } catch (error) {
      if (!(error instanceof DiskFault)) throw error;
      fail(sim, host, writing);
    }
  };
  attempt(() => {
    disk.write(`object ${name} ${commitOf(texts)}`, texts);
    later(sim, host, stepMs, () =>
      attempt(() => {
        if (!early) disk.sync();
        disk.write(`ref ${name}`, commitOf(texts));
        if (early) finish(sim, host, writing);
        later(sim, host, early ? 20 * stepMs : stepMs, () => {
          disk.sync();
          if (!early) finish(sim, host, writing);
        });
      }),
    );
  });
}

/** A write failed, and may have persisted: the branch is read again, and the writer is told that it failed. */
function fail(sim: Sim, host: SimHost, writing: Writing): void {
  const { memory } = writing;
  sim.trace.note(`${sim.agenda.now()} ${host.node} fails to append`);
  if (sim.bug.acknowledgesFailed === true) return finish(sim, host, writing);
  takeWhatPersisted(sim, host, memory);
  goOn(sim, host, memory);
}

function goOn(sim: Sim, host: SimHost, memory: Memory): void {
  memory.writing = false;
  if (memory.purge.wanted) {
    memory.purge.wanted = false;
    carryOutPurges(sim, host);
  }
  writeNext(sim, host);
}

function finish(sim: Sim, host: SimHost, { memory, pending, held, text }: Writing): void {
  const last = held.lines.at(-1);
  const from = { seq: last?.seq ?? 0, link: last?.link ?? meshId };
  const { lines } = judgeLines(sim, memory, { log: host.name, from, texts: [text] });
  const [line] = lines;
  if (line !== undefined) {
    host.acknowledged.push({ seq: line.seq, link: line.link });
    sim.trace.note(`${sim.agenda.now()} ${host.node} appends ${line.id}`);
    takeOwn(sim, host, memory, { texts: [...held.texts, text], more: lines });
    if (pending.sync) waitForPeer(sim, host, memory, line);
  }
  goOn(sim, host, memory);
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

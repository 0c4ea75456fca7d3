/** The trust set of a running host grows: from several sides at once, and in ways that change whose lines count. */
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readState } from '../../src/core/fold/fold.ts';
import { maximalOps } from '../../src/core/trust/set.ts';
import type { TrustOp } from '../../src/core/trust/op.ts';
import { openEngine, type Engine } from '../../src/daemon/engine.ts';
import { initMesh } from '../../src/daemon/enrol/init-mesh.ts';
import { openLogWriter } from '../../src/store/logs/log-writer.ts';
import { temporaryFolder } from '../lib/temporary.ts';
import { classAdd, craig, hostAdd, sshsigOf, type TestPlace } from '../lib/trust-ops.ts';
import { makeLines } from './mesh/node.ts';

/** A home of host alpha in a mesh that craig founded. */
async function foundHome(): Promise<string> {
  const home = join(temporaryFolder(), 'alpha');
  const signer = { name: craig.name, publicKey: craig.key.public, keyFile: '' };
  const sign = (message: string): Promise<string> => Promise.resolve(sshsigOf(craig.key, message, 'memd-trust'));
  await initMesh(home, 'alpha', { listen: null, address: 'ssh://127.0.0.1:7422', machine: 'alpha', signer, sign });
  return home;
}

async function open(home: string): Promise<Engine> {
  const engine = await openEngine({ home, daemon: false });
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= engine.close());
  onTestFinished(close);
  return { ...engine, close };
}

/** Place of an op that knows all ops before it, or the genesis alone. */
function placeIn(engine: Engine, nonce: number, knows: 'all' | 'genesis' = 'all'): TestPlace {
  const prev = knows === 'all' ? maximalOps(engine.trust().set) : [engine.meshId];
  return { mesh: engine.meshId, by: craig, prev, nonce };
}

/** Puts lines of a host into its branch and into the beliefs, as admission does. */
async function admit(engine: Engine, host: string, texts: readonly string[], key: number): Promise<void> {
  const { repository, meshId } = engine;
  const lines = makeLines(host, { seq: 0, link: meshId }, texts, { key, mesh: meshId });
  const writer = await openLogWriter({ repository, host, meshId });
  await engine.beliefs.take(host, lines as never, (await writer.append(lines)).oid);
}

async function rootOf(engine: Engine): Promise<string> {
  return readState(await engine.beliefs.fold()).root;
}

/** Root and rows as a process would have them that starts now. */
async function reopened(engine: Engine, home: string): Promise<{ engine: Engine; root: string }> {
  await engine.close();
  const next = await open(home);
  return { engine: next, root: await rootOf(next) };
}

test('ops that come from several peers and a person at the same moment all count, in memory and on disk', async () => {
  const home = await foundHome();
  const engine = await open(home);
  const names = ['dock', 'fleet', 'garden', 'harbour', 'isle'];
  const ops = names.map((name, index) => classAdd(placeIn(engine, index + 1, 'genesis'), name));
  const appends = names.map((_, index) =>
    engine.append({ events: [{ kind: 'lesson', subject: `lesson/rule-${index}`, content: 'x' }], session: 'test' }),
  );
  const added = await Promise.all(ops.map((op, index) => engine.admitTrust([op], `peer-${index}`)));
  await Promise.all(appends);
  expect(added.map((report) => report.added)).toEqual(ops.map(({ id }) => [id]));
  expect([...engine.charter().classes.keys()]).toEqual(expect.arrayContaining(names));
  const fold = await engine.beliefs.fold();
  expect(fold.trust).toBe(engine.trust().hash);
  const before = { root: await rootOf(engine), hash: engine.trust().hash, oid: engine.trust().oid };
  const after = await reopened(engine, home);
  expect({ root: after.root, ...pick(after.engine) }).toEqual(before);
});

function pick(engine: Engine): { hash: string; oid: string } {
  const { hash, oid } = engine.trust();
  return { hash, oid };
}

test('rows made under one charter never pass for rows of a later one', async () => {
  const home = await foundHome();
  const engine = await open(home);
  const old = engine.trust().hash;
  await engine.append({ events: [{ kind: 'lesson', subject: 'lesson/rule', content: 'x' }], session: 'test' });
  let release = (): void => undefined;
  const atWork = engine.alone(() => new Promise<void>((resolve) => (release = resolve)));
  const growing = engine.admitTrust([classAdd(placeIn(engine, 1), 'dock')], 'peer');
  await expect.poll(() => engine.trust().hash).not.toBe(old);
  // The set has grown and the fold has not: rows written now follow from the charter before.
  expect((await engine.beliefs.read()).meta()).toMatchObject({ trust: old, root: await rootOf(engine) });
  release();
  await Promise.all([atWork, growing]);
  expect((await engine.beliefs.read()).meta()).toMatchObject({
    trust: engine.trust().hash,
    root: await rootOf(engine),
  });
});

test('a host whose name two ops claim is heard no more, and is heard again when that is settled: as after a restart', async () => {
  const home = await foundHome();
  let engine = await open(home);
  const grow = async (...ops: TrustOp[]): Promise<void> => void (await engine.admitTrust(ops, 'peer'));
  await grow(hostAdd(placeIn(engine, 1, 'genesis'), 'gamma', 12));
  await admit(engine, 'gamma', ['one', 'two'], 12);
  expect(readState(await engine.beliefs.fold()).counts.events).toBe(2);
  await grow(hostAdd(placeIn(engine, 2, 'genesis'), 'gamma', 13));
  expect(engine.charter().hosts.has('gamma')).toBe(false);
  const apart = await rootOf(engine);
  expect(readState(await engine.beliefs.fold()).counts.events).toBe(0);
  const restarted = await reopened(engine, home);
  expect(restarted.root).toBe(apart);
  engine = restarted.engine;
  await grow(hostAdd(placeIn(engine, 3), 'gamma', 12));
  expect(engine.beliefs.book.tip('gamma')?.seq).toBe(2);
  const settled = await rootOf(engine);
  expect(readState(await engine.beliefs.fold()).counts.events).toBe(2);
  expect((await reopened(engine, home)).root).toBe(settled);
});

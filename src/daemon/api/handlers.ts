/**
 * The local API: every method, its parameters as they are checked, and what does it. Long because it is one table, in which
 * whoever adds a method sees what the others take.
 */
import { z } from 'zod';

import { importKinds } from '../../agent/import/types.ts';
import { readState } from '../../core/fold/fold.ts';
import {
  foundEventsMax,
  lineBytesMax,
  listedEventsMax,
  searchBytesMax,
  supersedesIdsMax,
  syncTimeoutMaxMs,
  trustSshsigBytesMax,
  viewHostsMax,
} from '../../core/limits.ts';
import { isPeerOf } from '../../mesh/node.ts';
import { isOperatingError } from '../../store/errors.ts';
import type { Answer, Method, Params } from './api-types.ts';
import type { Engine } from '../engine.ts';
import { restoreBackup } from '../backup/restore.ts';
import { firstIssue } from './first-issue.ts';
import { importEvents } from '../own/import-events.ts';
import { approvals } from '../queries/approvals.ts';
import { charterJson } from '../queries/charter.ts';
import { listEvents, listParks } from '../queries/lists.ts';
import { place } from '../queries/place.ts';
import { preview } from '../queries/preview.ts';
import { incompleteLogs } from '../queries/incomplete.ts';
import { recall } from '../queries/recall.ts';
import { diff } from '../queries/diff.ts';
import { replay } from '../queries/replay.ts';
import { search } from '../queries/search.ts';
import { show } from '../queries/show.ts';
import { status } from '../queries/status.ts';
import { verify } from '../queries/verify.ts';
import { blame, why } from '../queries/why.ts';
import { readIndex } from '../queries/index-text.ts';
import { tryNotifiers } from '../notify/start.ts';
import { limitsOf, listPurges, purgeWarnings } from '../purge/purge-list.ts';
import { planPurge, purgedJson } from '../purge/purge-plan.ts';
import { Refusal } from '../refusal.ts';
import { awaitPeers, holdersOfOwn, peersWanted } from '../peers/replication.ts';
import { sessionsOf } from '../session/sessions.ts';
import { draftApproval } from '../sign/draft.ts';
import { submitApproval } from '../sign/submit.ts';
import { runCycle } from '../peers/sync-cycle.ts';
import { draftOp, draftOps, signedOp } from '../trust/trust-keeper.ts';
import { trustOpMessage } from '../../core/trust/op.ts';

type Progress = (text: string) => void;
type Handler<M extends Method> = (engine: Engine, params: Params<M>, progress: Progress) => Promise<Answer<M>>;

interface Entry<M extends Method> {
  readonly params: z.ZodType;
  readonly handle: Handler<M>;
}

/** An event body as a client sends it: any object; its fields are judged by the format's own table. */
const eventInput = z.record(z.string(), z.unknown());
const remark = z.strictObject({ what: z.string(), why: z.string() });
const nothing = z.strictObject({});
const instant = z.iso.datetime();
const wordsSought = z.string().max(searchBytesMax);
const foundLimit = z.int().min(1).max(foundEventsMax).optional();
const sessionWord = z.string().max(200);

const methods: { readonly [M in Method]: Entry<M> } = {
  append: {
    params: z.strictObject({
      events: z.array(eventInput).min(1),
      session: z.string().optional(),
      once: z.string().min(1).max(200).optional(),
      sync: z
        .strictObject({
          peers: z.union([z.literal('all'), z.int().min(1).max(viewHostsMax)]),
          timeoutMs: z.int().min(0).max(syncTimeoutMaxMs),
        })
        .optional(),
      offline: z.boolean().optional(),
    }),
    handle: appendEvents,
  },
  recall: {
    params: z.strictObject({ subject: z.string(), scope: z.string().optional() }),
    handle: async (engine, { subject, scope = '*' }) => {
      const database = await engine.beliefs.read();
      const incomplete = incompleteLogs(engine, database);
      const told = recall(database, { subject, scope, host: engine.identity.host, now: Date.now() });
      const gone = (told.claims ?? []).flatMap(({ id }) => purgedJson(engine.trust(), id) ?? []);
      const answer = gone.length === 0 ? told : { ...told, purged: gone };
      return incomplete.length === 0 ? answer : { ...answer, incomplete };
    },
  },
  log: {
    params: z.strictObject({ of: z.string().optional(), limit: z.int().min(1).max(listedEventsMax).optional() }),
    handle: async (engine, { of = engine.identity.host, limit = 50 }) => {
      requireHost(engine, of);
      return { claims: listEvents(await engine.beliefs.read(), of, limit) };
    },
  },
  search: {
    params: z.strictObject({ words: wordsSought, scope: z.string().optional(), limit: foundLimit }),
    handle: async (engine, { words, scope, limit = 20 }) =>
      search(await engine.beliefs.read(), { words, scope, limit }),
  },
  why: {
    params: z.strictObject({ topic: wordsSought, scope: z.string().optional(), limit: foundLimit }),
    handle: async (engine, { topic, scope, limit = 50 }) => why(await engine.beliefs.read(), { topic, scope, limit }),
  },
  blame: {
    params: z.strictObject({ subject: z.string() }),
    handle: async (engine, { subject }) => ({ claims: blame(await engine.beliefs.read(), subject) }),
  },
  show: {
    params: z.strictObject({ id: z.string() }),
    handle: async (engine, { id }) => show(await engine.beliefs.read(), engine.trust(), id),
  },
  approvals: {
    params: z.strictObject({ id: z.string() }),
    handle: async (engine, { id }) => approvals(engine, await engine.beliefs.read(), id),
  },
  place: {
    params: z.strictObject({ host: z.string(), seq: z.int().min(0).optional() }),
    handle: (engine, params) => place(engine, params),
  },
  parks: { params: nothing, handle: async (engine) => ({ parks: listParks(await engine.beliefs.read()) }) },
  status: {
    params: nothing,
    handle: async (engine) => {
      await engine.journal.load();
      const warnings = await purgeWarnings(engine);
      return status(engine, await engine.beliefs.read(), { now: Date.now(), warnings });
    },
  },
  index: { params: z.strictObject({ audience: z.string().optional() }), handle: readIndex },
  replay: {
    params: z.strictObject({
      at: instant,
      host: z.string().optional(),
      subject: z.string().optional(),
      scope: z.string().optional(),
      index: z.boolean().optional(),
      audience: z.string().optional(),
    }),
    handle: replay,
  },
  diff: { params: z.strictObject({ from: instant, to: instant, host: z.string().optional() }), handle: diff },
  charter: { params: nothing, handle: async (engine) => charterJson(engine, await engine.beliefs.read()) },
  verify: {
    params: z.strictObject({ deep: z.boolean().optional() }),
    handle: (engine, { deep = false }, progress) => verify(engine, { deep, progress }),
  },
  fetch: { params: z.strictObject({ peer: z.string().optional() }), handle: fetchPeers },
  maintain: {
    params: z.strictObject({ full: z.boolean().optional() }),
    handle: (engine, { full = false }, progress) => engine.maintenance.run(full, progress),
  },
  rebuild: { params: nothing, handle: rebuildAll },
  import: {
    params: z.strictObject({
      kind: z.enum(importKinds),
      events: z.array(z.looseObject({ kind: z.string(), subject: z.string() })),
      skipped: z.array(remark),
      dryRun: z.boolean().optional(),
      offline: z.boolean().optional(),
    }),
    handle: importEvents,
  },
  restore: {
    params: z.strictObject({ folder: z.string().startsWith('/').max(4_096), dryRun: z.boolean().optional() }),
    handle: restoreBackup,
  },
  'session.start': {
    params: z.strictObject({
      harness: sessionWord,
      event: sessionWord,
      source: sessionWord.optional(),
      session: sessionWord.optional(),
      agent: sessionWord.optional(),
      cwd: z.string().max(4_096).optional(),
      audience: sessionWord.optional(),
    }),
    handle: (engine, params) => sessionsOf(engine).start(params),
  },
  'session.prompt': {
    params: z.strictObject({ harness: sessionWord, session: sessionWord }),
    handle: (engine, params) => sessionsOf(engine).prompt(params),
  },
  'notify.test': {
    params: z.strictObject({ name: z.string().max(200).optional() }),
    handle: (engine, params) => tryNotifiers(engine, params),
  },
  'trust.draft': {
    params: z.strictObject({
      op: z.enum(draftOps),
      args: z.record(z.string(), z.unknown()),
      key: z.string(),
    }),
    handle: (engine, request) => Promise.resolve({ body: trustOpMessage(draftOp(engine.trust(), request)) }),
  },
  'trust.preview': {
    params: z.strictObject({ body: z.string() }),
    handle: (engine, { body }) => preview(engine, body),
  },
  'signer.remember': {
    params: z.strictObject({ old: z.string(), name: z.string(), key: z.string() }),
    handle: async (engine, { old, name, key }) => ({ changed: await engine.rememberSigner(old, { name, key }) }),
  },
  'sign.draft': {
    params: z.strictObject({
      act: z.enum(['accept', 'claim', 'retract', 'pin', 'event', 'promote']),
      subject: z.string().optional(),
      id: z.string().optional(),
      scope: z.string().optional(),
      fields: z.record(z.string(), z.unknown()).optional(),
      supersedes: z.array(z.string()).max(supersedesIdsMax).optional(),
      leave: z.array(z.string()).max(supersedesIdsMax).optional(),
      key: z.string().optional(),
      session: z.string().optional(),
    }),
    handle: draftApproval,
  },
  'sign.submit': {
    params: z.strictObject({
      body: z.string().max(lineBytesMax),
      sshsig: z.string().max(trustSshsigBytesMax),
      key: z.string().optional(),
      offline: z.boolean().optional(),
    }),
    handle: submitApproval,
  },
  'purge.plan': {
    params: z.strictObject({ ids: z.array(z.string()).min(1), reason: z.string(), key: z.string().optional() }),
    handle: planPurge,
  },
  'recover.prepare': { params: nothing, handle: (engine) => engine.recovery.prepare() },
  'recover.unsaid': { params: nothing, handle: async (engine) => ({ unsaid: await engine.recovery.unsaid() }) },
  'recover.say': {
    params: nothing,
    handle: async (engine, _, progress) => {
      await engine.recovery.settle(progress);
      return { results: await engine.recovery.sayAgain() };
    },
  },
  'purge.list': {
    params: nothing,
    handle: async (engine) => ({ purges: await listPurges(engine), limits: limitsOf(engine) }),
  },
  'trust.submit': { params: z.strictObject({ body: z.string(), sshsig: z.string() }), handle: submitOp },
};

/**
 * Does one request. A damaged database is thrown away and made again once; it is derived. Refuses UNKNOWN_METHOD,
 * BAD_REQUEST, and whatever the method refuses.
 */
export async function handleRequest(
  engine: Engine,
  method: string,
  params: unknown,
  progress: Progress,
): Promise<unknown> {
  const entry = Object.hasOwn(methods, method) ? (methods[method as Method] as Entry<Method>) : undefined;
  if (entry === undefined) {
    throw new Refusal({
      code: 'UNKNOWN_METHOD',
      message: `memd has no method ${JSON.stringify(method.slice(0, 40))}`,
      hint: 'memctl and memd may be of different versions',
      exit: 2,
    });
  }
  const checked = entry.params.safeParse(params);
  if (!checked.success) {
    throw new Refusal({
      code: 'BAD_REQUEST',
      message: `${method}: ${firstIssue(checked.error)}`,
      hint: 'memctl COMMAND --help says what it takes',
      exit: 2,
    });
  }
  const work = (): Promise<unknown> => entry.handle(engine, checked.data as Params<Method>, progress);
  const { database } = engine.beliefs;
  try {
    return await work();
  } catch (error) {
    if (!isOperatingError(error, 'DATABASE_DAMAGED')) throw error;
    await engine.rebuild(progress, { database, error });
    return work();
  }
}

async function appendEvents(
  engine: Engine,
  { events, session = 'cli', once, sync, offline }: Params<'append'>,
): Promise<Answer<'append'>> {
  const peers = sync === undefined ? 0 : peersWanted(engine, sync);
  const results = await engine.append({ events, session, ...(once === undefined ? {} : { once }) }, { offline });
  if (sync !== undefined) return awaitPeers(engine, results, { peers, timeoutMs: sync.timeoutMs });
  if (once === undefined) return { results };
  return { results: results.map((one) => ({ ...one, replicated: holdersOfOwn(engine, one.seq).length })) };
}

function requireHost(engine: Engine, of: string): void {
  const { hosts } = engine.charter();
  if (of.includes('/') || hosts.has(of)) return;
  throw new Refusal({
    code: 'HOST_UNKNOWN',
    message: `there is no host ${of} in this mesh`,
    hint: `hosts: ${[...hosts.keys()].join(', ')}; a subject has a slash`,
    exit: 7,
  });
}

async function fetchPeers(engine: Engine, { peer }: Params<'fetch'>): Promise<Answer<'fetch'>> {
  if (peer !== undefined && !isPeerOf(engine.charter(), { self: engine.identity.host, name: peer })) {
    const revoked = engine.charter().hosts.get(peer)?.status === 'revoked';
    throw new Refusal({
      code: 'PEER_UNKNOWN',
      message: `${peer} is no peer of this host${revoked ? ': it was revoked' : ''}`,
      hint: 'memctl host list',
      exit: 7,
    });
  }
  const outcomes = await runCycle(engine, peer === undefined ? undefined : [peer]);
  return {
    peers: outcomes.map(({ peer: name, state, newEvents, reason }) => ({
      peer: name,
      state,
      new: newEvents,
      ...(reason === undefined ? {} : { reason: `${reason.code}: ${reason.detail}` }),
    })),
  };
}

async function rebuildAll(engine: Engine, _: Params<'rebuild'>, progress: Progress): Promise<Answer<'rebuild'>> {
  const start = performance.now();
  await engine.rebuild(progress);
  const fault = engine.beliefs.fileFault();
  if (fault !== undefined) throw fault;
  const { root, counts } = readState(await engine.beliefs.fold());
  return { root, events: counts.events, seconds: Math.round(performance.now() - start) / 1_000 };
}

async function submitOp(
  engine: Engine,
  { body, sshsig }: Params<'trust.submit'>,
  progress: Progress,
): Promise<Answer<'trust.submit'>> {
  const op = signedOp(body, sshsig);
  const { added, dropped, pending } = await engine.admitTrust([op], engine.identity.host, progress);
  if (added.includes(op.id)) return { id: op.id };
  const why = dropped[0]?.detail ?? (pending.length > 0 ? 'it names ops that are not held here' : 'it is held already');
  throw new Refusal({ code: 'OP_REFUSED', message: `the op does not count: ${why}`, hint: 'memctl charter', exit: 6 });
}

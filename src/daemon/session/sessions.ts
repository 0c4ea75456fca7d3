/** Sessions of agents on this host: what each was told at its start, and what of it has changed since. Memory only. */
import { createHash } from 'node:crypto';
import { sourceNote } from '../../agent/harness/harness.ts';
import { readState, type Fold } from '../../core/fold/fold.ts';
import { sessionFirstBytesMax, sessionsKeptMax, sessionTextBytesMax } from '../../core/limits.ts';
import { sessionNote } from '../../core/views/session-note.ts';
import { sessionText, type GivenRow } from '../../core/views/session-text.ts';
import { peersOf } from '../../mesh/node.ts';
import { injectedOf, noteInjected, type InjectedRecord } from '../../store/notes/injected-log.ts';
import type { Answer, Params } from '../api/api-types.ts';
import type { Engine } from '../engine.ts';
import { newestEvents, newestOf, unsyncedSince } from '../queries/health.ts';
import { holdersOfOwn } from '../peers/replication.ts';
import { statusLine } from '../status-line.ts';
import { sessionScope } from './session-scope.ts';
import { createSessionViews } from './session-views.ts';

export interface Sessions {
  readonly start: (params: Params<'session.start'>) => Promise<Answer<'session.start'>>;
  readonly prompt: (params: Params<'session.prompt'>) => Promise<Answer<'session.prompt'>>;
  /** Looks at everything once, so that the first session does not wait for it. */
  readonly warm: () => Promise<void>;
}

interface Told {
  readonly scope: string | null;
  readonly audience: string;
  readonly given: readonly GivenRow[];
}

const sessionsOfEngine = new WeakMap<Engine, Sessions>();

/** The sessions that an engine serves: one table for as long as it is open. */
export function sessionsOf(engine: Engine): Sessions {
  const sessions = sessionsOfEngine.get(engine) ?? createSessions(engine);
  sessionsOfEngine.set(engine, sessions);
  return sessions;
}

function createSessions(engine: Engine): Sessions {
  const views = createSessionViews(engine.beliefs.viewCache);
  engine.beliefs.onChanged(views.changed);
  const told = new Map<string, Told>();
  const remember = (session: string, what: Told): void => {
    told.delete(session);
    told.set(session, what);
    for (const oldest of [...told.keys()].slice(0, Math.max(0, told.size - sessionsKeptMax))) told.delete(oldest);
  };
  return {
    warm: async () => void views.of(await engine.beliefs.fold(), 'operator', '*'),
    async start({ harness, event, source = '', session = '', agent = '', cwd = '', audience = 'operator' }) {
      const fold = await engine.beliefs.fold();
      const scope = await sessionScope(engine, cwd);
      const { source: viewSource, reader, selection } = views.of(fold, audience, scope);
      const line = liveStatusLine(engine, fold, Date.now());
      const notes = [sourceNote(source)].filter((note) => note !== '');
      const { text, given } = sessionText(viewSource, selection, {
        statusLine: line,
        notes,
        reader,
        firstBytes: sessionFirstBytesMax,
        bytes: event === 'SubagentStart' ? sessionFirstBytesMax : sessionTextBytesMax,
      });
      if (session !== '' && agent === '') remember(session, { scope, audience, given });
      const view = createHash('sha256').update(text).digest('hex');
      const record = { at: new Date().toISOString(), harness, event, source, session, agent, scope, audience };
      note(engine, { ...record, head: [line, ...notes], view, ...foldInput(engine), given: packed(given) });
      return { text, line, view, scope, audience };
    },
    async prompt({ harness, session }) {
      const known = told.get(session) ?? fromRecord(engine, session);
      if (known === undefined) return { text: '' };
      const fold = await engine.beliefs.fold();
      const { source, reader } = views.of(fold, known.audience, known.scope);
      const { text, given } = sessionNote(source, reader, known.given);
      remember(session, { ...known, given });
      if (text === '') return { text };
      const view = createHash('sha256').update(text).digest('hex');
      const { scope, audience } = known;
      const record = {
        at: new Date().toISOString(),
        harness,
        event: 'UserPromptSubmit',
        source: '',
        session,
        agent: '',
      };
      note(engine, { ...record, scope, audience, head: [], view, ...foldInput(engine), given: packed(given) });
      return { text };
    },
  };
}

/** A record that cannot be written is a fault of the disk, not of the session. */
function note(engine: Engine, record: InjectedRecord): void {
  try {
    noteInjected(engine.home, record);
  } catch (error) {
    engine.log?.warn({ err: error }, 'cannot record what a session was told');
  }
}

function packed(given: readonly GivenRow[]): NonNullable<InjectedRecord['given']> {
  return given.map(({ subject, scope, id, stale }) => [subject, scope, id, stale === true ? 1 : 0] as const);
}

/** What a session was told before this memd started; undefined when there is no record of it. */
function fromRecord(engine: Engine, session: string): Told | undefined {
  const record = injectedOf(engine.home, session).findLast(({ agent, given }) => agent === '' && given !== undefined);
  if (record?.given === undefined) return undefined;
  const given = record.given.map(([subject, scope, id, stale]): GivenRow => {
    return stale === 1 ? { subject, scope, id, stale: true } : { subject, scope, id };
  });
  return { scope: record.scope, audience: record.audience, given };
}

/**
 * The input of the fold that the text was made from: with it any host can make the same rows again. The root follows
 * from it, and costs 25 ms of an agent's time with 100 000 events.
 */
function foldInput(engine: Engine): Pick<InjectedRecord, 'trust' | 'heads'> {
  return { trust: engine.trust().hash, heads: headsOf(engine) };
}

function headsOf(engine: Engine): NonNullable<InjectedRecord['heads']> {
  const { book } = engine.beliefs;
  return Object.fromEntries(
    book.logs().flatMap((log) => {
      const tip = book.tip(log);
      return tip === undefined ? [] : [[log, { seq: tip.seq, link: tip.link }]];
    }),
  );
}

/** The status line from memory; only the time of the newest event is looked up. */
function liveStatusLine(engine: Engine, fold: Fold, now: number): string {
  const { counts } = readState(fold);
  const { conflicts } = engine.charter();
  const others = peersOf(engine.charter(), engine.identity.host);
  const up = others.filter((host) => engine.peerBook.of(host)?.state === 'up').length;
  const local = engine.beliefs.book.cuts().length + engine.peerBook.alarms().length + conflicts.length;
  const heads = headsOf(engine);
  const own = heads[engine.identity.host];
  // The rows may not be written yet: that is not the same as having none.
  const unknown = Object.keys(heads).length === 0 ? undefined : null;
  return statusLine({
    daemon: engine.daemon,
    hosts: others.length + 1,
    up: up + 1,
    parked: counts.parked,
    alarms: counts.alarms + local + (engine.beliefs.headsFault() === undefined ? 0 : 1),
    behind: 0,
    quiet: 0,
    replicated:
      own === undefined
        ? null
        : {
            peers: holdersOfOwn(engine, own.seq).length,
            of: others.length,
            since: unsyncedSince(engine, engine.beliefs.database, heads),
          },
    newest: newestOf(newestEvents(engine.beliefs.database, heads), now) ?? unknown,
    index: undefined,
    now,
  });
}

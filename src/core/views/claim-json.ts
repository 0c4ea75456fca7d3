import { scopeOf, type Kind } from '../event.ts';
import type { EventStatus, EventView } from '../fold/state.ts';
import type { Level } from '../fold/levels.ts';
import type { CharterPurge } from '../trust/charter.ts';
import { placeOf } from './view-source.ts';

/** An event in any output of the command line. Source: the CLI contract, "a claim in any output". */
export interface ClaimJson {
  readonly id: string;
  /** The host that made it. */
  readonly host: string;
  /** Its place in the log that proves its level. */
  readonly seq: number;
  /** The host in whose log that place is, where that is another one: approved events, and words put into a host's mouth. */
  readonly log?: string;
  readonly at: string;
  readonly kind: Kind;
  readonly subject: string;
  readonly scope?: string;
  readonly audience?: string;
  readonly content?: string;
  readonly value?: string;
  readonly polarity?: 'absent';
  readonly hook?: string;
  readonly home?: string;
  readonly level: Level;
  readonly signer?: string;
  readonly confidence: 'inferred' | 'stated' | 'verified';
  readonly session: string;
  readonly status: EventStatus;
  /** Status `purged`: the trust op, the signer and the reason. `at` and `session` are '' then: they went with the body. */
  readonly purged?: { readonly op: string; readonly by: string; readonly reason: string };
}

/** Fields of a body that are shown as they are, when it has them. `text` is not: it can be 24 000 bytes. */
const shownFields = ['audience', 'content', 'value', 'polarity', 'hook', 'home'] as const;

/**
 * An event as JSON. Strings are the exact ones: JSON cannot be broken by them, but whoever prints one must escape it.
 * Undefined when the body cannot be read, unless it was purged: then what the purge left. `content`, `value` and `hook`
 * of a quarantined event are left out, so that no output repeats untrusted prose. Pure.
 */
export function claimJson(view: EventView): ClaimJson | undefined {
  const { body } = view;
  if (view.purge !== null) return purgedJson(view, view.purge);
  if (body === null) return undefined;
  const prose: ReadonlySet<string> = new Set(view.status === 'quarantined' ? ['content', 'value', 'hook'] : []);
  const fields = shownFields.filter((name) => body[name] !== undefined && !prose.has(name));
  const [signer] = view.signers;
  return {
    id: view.id,
    host: body.host,
    ...standing(view, body.host),
    at: body.at,
    kind: body.kind,
    subject: body.subject,
    ...(scopeOf(body) === '*' ? {} : { scope: scopeOf(body) }),
    ...Object.fromEntries(fields.map((name) => [name, body[name]])),
    level: view.level,
    ...(signer === undefined ? {} : { signer }),
    confidence: body.confidence ?? 'inferred',
    session: body.session,
    status: view.status,
  };
}

function standing(view: EventView, host: string): Pick<ClaimJson, 'seq' | 'log'> {
  const { log, seq } = placeOf(view);
  return { seq, ...(log === host || log === '' ? {} : { log }) };
}

function purgedJson(view: EventView, { op, by, reason, target }: CharterPurge): ClaimJson {
  const { host, kind, subject, scope, audience } = target;
  return {
    id: view.id,
    host,
    ...standing(view, host),
    at: '',
    kind,
    subject,
    ...(scope === '*' ? {} : { scope }),
    ...(audience === 'operator' ? {} : { audience }),
    level: view.level,
    confidence: 'inferred',
    session: '',
    status: 'purged',
    purged: { op, by: by.signer, reason },
  };
}

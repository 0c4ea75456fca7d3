/**
 * The secret gate on the write path of this host's own log. A transaction with what looks like a secret is refused whole;
 * the ledger keeps that it was tried, as a `deny` event: subject, rule and session, never the text.
 */
import { scanEvents, type SecretHit } from '../../agent/secret-gate/scan-events.ts';
import type { Body, BodyInput } from '../../core/event.ts';
import { eventsOf, eventView, type Fold } from '../../core/fold/fold.ts';
import type { Said } from '../../core/recovery.ts';
import { Refusal } from '../refusal.ts';

type Settled = PromiseSettledResult<readonly Said[]>;

/** What passed the gate, and the ledger entries of what did not. */
export interface Gated {
  readonly prepared: readonly Settled[];
  readonly denials: readonly BodyInput[];
}

/** Scans the bodies of all transactions at once, before a line is built of any. Refuses SECRET_FOUND in their place. */
export async function gateTransactions(prepared: readonly Settled[], fold: Fold, host: string): Promise<Gated> {
  const owners = prepared.flatMap((one, owner) =>
    one.status === 'fulfilled' ? one.value.map(({ body }, index) => ({ owner, index, body })) : [],
  );
  const hits = await scanEvents(owners.map(({ body }) => body));
  if (hits.length === 0) return { prepared, denials: [] };
  const gated = [...prepared];
  const denied: { body: Body; hits: SecretHit[] }[] = [];
  for (const [event, found] of Map.groupBy(hits, (hit) => hit.event)) {
    const { owner, index, body } = owners[event] as (typeof owners)[number];
    const transaction = prepared[owner];
    // The first event of a transaction speaks for it.
    if (transaction?.status !== 'fulfilled' || gated[owner]?.status === 'rejected') continue;
    gated[owner] = { status: 'rejected', reason: secretFound(found, { body, index, of: transaction.value.length }) };
    denied.push({ body, hits: found });
  }
  return { prepared: gated, denials: newDenials(denied, fold, host) };
}

/** One event that is refused, and what was found in it. */
export interface Denied {
  readonly body: BodyInput;
  readonly hits: readonly Omit<SecretHit, 'event'>[];
}

/** Fields that a subject may have been made of by an import: where one holds a secret, a form of it is in the subject. */
const subjectSources: ReadonlySet<string> = new Set(['subject', 'names', 'home']);

/** True when a subject can be shown and written down although something of its event cannot. Pure. */
export function isSubjectSafe({ body, hits }: Denied): boolean {
  const imported = body.session?.startsWith('import:') === true;
  return !hits.some(({ field }) => (imported ? subjectSources.has(field) : field === 'subject'));
}

/**
 * The ledger entries that do not stand yet: the same subject, rule and session is one entry however often it is tried. An
 * event whose subject holds the secret has none: nothing of it can be written down.
 */
export function newDenials(denied: readonly Denied[], fold: Fold, host: string): BodyInput[] {
  const stands = (key: string, subject: string): boolean =>
    eventsOf(fold, subject).some((id) => {
      const body = eventView(fold, id)?.body;
      return body?.kind === 'deny' && body.host === host && keyOf(body) === key;
    });
  const entries = denied.filter(isSubjectSafe).flatMap(({ body, hits }): BodyInput[] => {
    const [first] = hits;
    if (first === undefined) return [];
    const named = hits.some(({ field }) => field === 'session') ? undefined : body.session;
    return [
      {
        kind: 'deny',
        subject: body.subject,
        content: `secret/${first.rule}`,
        session: named ?? 'secret-gate',
      },
    ];
  });
  const unique = new Map(entries.map((entry) => [keyOf(entry), entry]));
  return [...unique].filter(([key, { subject }]) => !stands(key, subject)).map(([, entry]) => entry);
}

function keyOf({ subject, content, session }: BodyInput): string {
  return JSON.stringify([subject, content, session]);
}

/** What was found, in words that hold nothing of it: `its content and text hold what looks like a secret (rule jwt)`. */
export function describeHits(hits: readonly Omit<SecretHit, 'event'>[]): string {
  const names = (values: readonly string[]): string => [...new Set(values)].join(' and ');
  return `its ${names(hits.map(({ field }) => field))} holds what looks like a secret (rule ${names(hits.map(({ rule }) => rule))})`;
}

function secretFound(
  hits: readonly SecretHit[],
  { body, index, of }: { readonly body: Body; readonly index: number; readonly of: number },
): Refusal {
  const subject = hits.some(({ field }) => field === 'subject') ? '' : ` ${body.subject}`;
  return new Refusal({
    code: 'SECRET_FOUND',
    message: `event ${index + 1} of ${of}, ${body.kind}${subject}: ${describeHits(hits)}; nothing of this was appended`,
    hint: 'take it out and say where it is kept instead; if it was a real one, change it: it has been in this session',
    exit: 6,
  });
}

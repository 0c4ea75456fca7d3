/** show: one event or trust op, whole. */
import { opNotes } from '../../core/trust/history.ts';
import type { TrustOp } from '../../core/trust/op.ts';
import { keptOp, keptOps, maximalOps, type TrustSet } from '../../core/trust/set.ts';
import { shortId } from '../../core/id.ts';
import type { StateDatabase } from '../../store/database/database.ts';
import type { ShowEventJson, ShowOpJson } from '../api/api-types.ts';
import { requireIdText } from '../full-ids.ts';
import { purgedJson } from '../purge/purge-plan.ts';
import { Refusal } from '../refusal.ts';
import type { TrustState } from '../trust/trust-keeper.ts';
import { heldEvent } from './sound-rows.ts';
import { viewOfRow } from './stored-event.ts';

/** One event or trust op. Refuses BAD_REQUEST, ID_UNKNOWN, ID_AMBIGUOUS. */
export function show(
  database: StateDatabase,
  trust: Pick<TrustState, 'set' | 'charter'>,
  prefix: string,
): ShowEventJson | ShowOpJson {
  const { id, kind } = findId(database, trust.set, prefix);
  return kind === 'op' ? showOp(trust.set, id) : showEvent(database, trust, id);
}

/** Finds an id by its unique prefix among events and trust ops. Refuses BAD_REQUEST, ID_UNKNOWN, ID_AMBIGUOUS. */
export function findId(
  database: StateDatabase,
  set: TrustSet,
  prefix: string,
): { readonly id: string; readonly kind: 'event' | 'op' } {
  requireIdText(prefix);
  const ops = keptOps(set).flatMap(({ id }) => (id.startsWith(prefix) ? [id] : []));
  const ids = [...new Set([...database.idsByPrefix(prefix, 2), ...ops])];
  const [id] = ids;
  if (id === undefined) {
    throw new Refusal({
      code: 'ID_UNKNOWN',
      message: `nothing here has an id that starts with ${prefix}`,
      hint: 'memctl log HOST shows ids',
      exit: 7,
    });
  }
  if (ids.length > 1) {
    throw new Refusal({
      code: 'ID_AMBIGUOUS',
      message: `several ids start with ${prefix}`,
      hint: 'give more digits',
      exit: 2,
    });
  }
  return { id, kind: ops.length > 0 ? 'op' : 'event' };
}

function showEvent(database: StateDatabase, trust: Pick<TrustState, 'set' | 'charter'>, id: string): ShowEventJson {
  const { signers } = trust.charter;
  const purged = purgedJson(trust, id);
  const view = viewOfRow(heldEvent(database, id));
  return {
    id,
    event: view.body,
    status: view.status,
    ...(view.reason === null ? {} : { reason: view.reason }),
    level: view.level,
    supersededBy: view.by,
    ...(purged === undefined ? {} : { purged }),
    lines: view.lines.map(({ log, seq, signer, verdict }) => {
      if (signer === null) return { log, seq };
      const signerStatus = signers.get(signer)?.status ?? 'unknown';
      return { log, seq, auth: { signer, valid: verdict === 'ok', verdict: verdict ?? 'unknown', signerStatus } };
    }),
  };
}

function showOp(set: TrustSet, id: string): ShowOpJson {
  const op = keptOp(set, id);
  if (op === undefined) throw new Refusal({ code: 'ID_UNKNOWN', message: `${id} is gone`, exit: 7 });
  const { signer, key } = op.auth ?? { signer: '', key: '' };
  // Only ops whose approval verified are in the set; a fork-proof has none and proves itself.
  return { id, op: op.body, status: opStatus(set, op), auth: { signer, key, valid: op.unsupported === null } };
}

function opStatus(set: TrustSet, { id, auth, unsupported }: TrustOp): string {
  if (unsupported !== null) return `not supported yet: ${unsupported}`;
  if (auth === null) return 'valid';
  const voided = opNotes(set).find((note) => note.id === id && !note.counts);
  if (voided !== undefined) return `void: not known to the revocation ${voided.voidedBy.map(shortId).join(', ')}`;
  return maximalOps(set).includes(id) ? 'counts, newest' : 'counts';
}

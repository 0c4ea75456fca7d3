/** approvals: the human signatures on one event or trust op as they stand, for whoever wants to verify them without us. */
import { canonicalJson, type JsonValue } from '../../crypto/canonical.ts';
import { eventNamespace, type Auth } from '../../core/event.ts';
import { parseLine } from '../../core/line.ts';
import type { Charter } from '../../core/trust/charter.ts';
import { trustNamespace, trustOpMessage } from '../../core/trust/op.ts';
import { keptOp } from '../../core/trust/set.ts';
import { logRef, readRef } from '../../store/git/refs.ts';
import { streamLog } from '../../store/logs/log-store.ts';
import type { StateDatabase } from '../../store/database/database.ts';
import type { ApprovalJson, ApprovalsJson } from '../api/api-types.ts';
import type { Engine } from '../engine.ts';
import { findId } from './show.ts';
import { heldEvent } from './sound-rows.ts';
import { viewOfRow } from './stored-event.ts';

/** Every approval that a line carries, or that of a trust op. Empty for an unsigned event. Refuses as `show` does. */
export async function approvals(engine: Engine, database: StateDatabase, prefix: string): Promise<ApprovalsJson> {
  const { set } = engine.trust();
  const { id, kind } = findId(database, set, prefix);
  return kind === 'op' ? approvalsOfOp(engine, id) : approvalsOfEvent(engine, database, id);
}

function approvalsOfOp(engine: Engine, id: string): ApprovalsJson {
  const { set } = engine.trust();
  const op = keptOp(set, id);
  if (op === undefined || op.auth === null) return { id, namespace: trustNamespace, message: '', approvals: [] };
  const message = trustOpMessage(op.body);
  const { auth } = op;
  return { id, namespace: trustNamespace, message, approvals: [approvalJson(engine.charter(), auth, [], 'ok')] };
}

async function approvalsOfEvent(engine: Engine, database: StateDatabase, id: string): Promise<ApprovalsJson> {
  const { body, lines } = viewOfRow(heldEvent(database, id));
  const signed = lines.filter(({ signer }) => signer !== null);
  const found = new Map<string, ApprovalJson>();
  for (const [log, seqs] of byLog(signed)) {
    for (const { auth, seq } of await authsOf(engine, log, seqs)) {
      const place = { log, seq };
      const key = canonicalJson(auth as unknown as JsonValue);
      const before = found.get(key)?.carriedBy ?? [];
      const verdict = signed.find((line) => line.log === log && line.seq === seq)?.verdict ?? 'unknown';
      found.set(key, approvalJson(engine.charter(), auth, [...before, place], verdict));
    }
  }
  const message = body === null ? '' : canonicalJson(body as unknown as JsonValue);
  return { id, namespace: eventNamespace, message, approvals: [...found.values()] };
}

function byLog(lines: readonly { readonly log: string; readonly seq: number }[]): Map<string, ReadonlySet<number>> {
  const logs = new Map<string, Set<number>>();
  for (const { log, seq } of lines) logs.set(log, (logs.get(log) ?? new Set()).add(seq));
  return logs;
}

/** The approvals in these lines of a log, read from the repository: the derived rows hold only what became of them. */
async function authsOf(
  { repository, meshId }: Engine,
  log: string,
  seqs: ReadonlySet<number>,
): Promise<{ readonly seq: number; readonly auth: Auth }[]> {
  const oid = readRef(repository, logRef(log));
  const found: { seq: number; auth: Auth }[] = [];
  if (oid === null) return found;
  const last = Math.max(...seqs);
  let seq = 0;
  for await (const part of streamLog(repository, log, oid)) {
    for (const text of part) {
      seq += 1;
      if (!seqs.has(seq)) continue;
      const line = parseLine(text, meshId);
      if (line.ok && line.value.auth !== null) found.push({ seq, auth: line.value.auth });
    }
    if (seq >= last) break;
  }
  return found;
}

function approvalJson(
  charter: Charter,
  auth: Auth,
  carriedBy: ApprovalJson['carriedBy'],
  verdict: string,
): ApprovalJson {
  const signer = charter.signers.get(auth.signer);
  const known = signer?.key.fingerprint === auth.key ? signer : undefined;
  return {
    signer: auth.signer,
    key: auth.key,
    publicKey: known?.key.text ?? null,
    signerStatus: known?.status ?? 'unknown',
    sshsig: auth.sshsig,
    verdict,
    carriedBy,
  };
}

/** What an op would make fall, asked before a person signs it. */
import { parseCanonical, type JsonObject } from '../../crypto/canonical.ts';
import { eventsOf, eventView, subjectsOf, type Fold } from '../../core/fold/fold.ts';
import { jsonDepthMax } from '../../core/limits.ts';
import { checkTrustBody, type TrustBody } from '../../core/trust/op.ts';
import { fallenBy } from '../../core/trust/preview.ts';
import type { PreviewJson } from '../api/api-types.ts';
import type { Engine } from '../engine.ts';
import { Refusal } from '../refusal.ts';
import { opList } from './charter.ts';

/** Judges the body of a draft against the set and the logs as they are here. Refuses BAD_REQUEST. */
export async function preview(engine: Engine, text: string): Promise<PreviewJson> {
  const body = readBody(text);
  const { set } = engine.trust();
  const missing = body.prev.find((id) => !set.held.has(id));
  if (missing !== undefined) throw noDraft(`it names op ${missing.slice(0, 12)}, which is not held here`);
  const fallen = new Set(fallenBy(set, body));
  const falls = opList(set).filter(({ op }) => fallen.has(op));
  const events = body.op === 'signer-revoke' ? fallenEvents(await engine.beliefs.fold(), body.name, body.marks) : 0;
  return { falls, events };
}

function readBody(text: string): TrustBody {
  const parsed = parseCanonical(text, { depthMax: jsonDepthMax });
  const checked = parsed.ok ? checkTrustBody(parsed.value as JsonObject) : parsed;
  if (!checked.ok) throw noDraft(checked.detail);
  return (parsed as { readonly value: unknown }).value as TrustBody;
}

/** R1: an approval stands iff some line at or before the mark of its log carries it; another signer's may stand beside it. */
function fallenEvents(fold: Fold, name: string, marks: Readonly<Record<string, { readonly seq: number }>>): number {
  let fallen = 0;
  for (const subject of subjectsOf(fold)) {
    for (const id of eventsOf(fold, subject)) {
      const view = eventView(fold, id);
      if (view === undefined || view.signers.length !== 1 || view.signers[0] !== name) continue;
      const carriers = view.lines.filter(({ signer, verdict }) => signer === name && verdict === 'ok');
      if (!carriers.some(({ log, seq }) => seq <= (marks[log]?.seq ?? 0))) fallen += 1;
    }
  }
  return fallen;
}

function noDraft(detail: string): Refusal {
  return new Refusal({ code: 'BAD_REQUEST', message: `this is no draft of a trust op: ${detail}`, exit: 2 });
}

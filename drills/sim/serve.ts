/** What a host answers: the truth about what it holds, or one of its lies. */
import { buildLine, parseLine } from '../../src/core/line.ts';
import type { Heads, HeadsTip } from '../../src/core/sync/peer.ts';
import type { TrustOp } from '../../src/core/trust/op.ts';
import { encodeBase64 } from '../../src/crypto/base64.ts';
import { sha256Hex } from '../../src/crypto/hash.ts';
import { foundedTrust, meshId, oidOf, signAs, type Trust } from './charter.ts';
import { commitOf } from './judge.ts';
import { signOf } from './keys.ts';
import type { HeldLog, Sim, SimHost } from './types.ts';
import { viewTips } from './views.ts';
import { keptOps } from '../../src/core/trust/set.ts';

/** The answer of `memd heads`; undefined from a host that keeps silent. */
export function serveHeads(sim: Sim, host: SimHost, asker: string): Heads | undefined {
  const { memory, lies, name } = host;
  if (memory === undefined || lies.has('silent')) return undefined;
  const trust = servedTrust(sim, host) ?? memory.trust;
  const tips: Record<string, HeadsTip> = {};
  for (const log of [...memory.logs.keys()].toSorted((a, b) => (a < b ? -1 : 1))) {
    if (lies.has('withhold') && log !== name && log !== asker) continue;
    const held = servedLog(host, log, asker);
    const tip = held === undefined ? undefined : tipOf(held);
    if (tip !== undefined) tips[log] = lies.has('boast') ? boast(tip) : tip;
  }
  if (lies.has('boast')) tips[asker] = boast({ oid: oidOf(asker), seq: 900, link: sha256Hex(asker) });
  const { hash, kept } = trust;
  const said = { oid: oidOf(kept), hash, kept };
  return { mesh: meshId, host: name, heads: tips, trust: said, addresses: {}, views: viewTips(host), version: 'sim' };
}

function tipOf({ lines, texts }: HeldLog): HeadsTip | undefined {
  const last = lines.at(-1);
  // The commit is of these bytes: a line without its body is another commit.
  return last === undefined ? undefined : { oid: commitOf(texts), seq: last.seq, link: last.link };
}

function boast({ oid, seq }: HeadsTip): HeadsTip {
  return { oid, seq: seq + 7, link: sha256Hex(`boast ${oid}`) };
}

function servedTrust(sim: Sim, { lies }: SimHost): Trust | undefined {
  return lies.has('old-trust') ? foundedTrust(sim.plan.hosts) : undefined;
}

/** The ops of its branch at a commit. `missing`: the branch is another one by now. */
export function serveTrust(sim: Sim, host: SimHost, oid: string): readonly TrustOp[] | 'missing' | undefined {
  if (host.memory === undefined || host.lies.has('silent')) return undefined;
  const trust = servedTrust(sim, host) ?? host.memory.trust;
  return oidOf(trust.kept) === oid ? keptOps(trust.set) : 'missing';
}

/** Lines of a log up to what was offered. `missing`: the commit is not there. */
export function serveLog(
  host: SimHost,
  asker: string,
  want: { readonly log: string; readonly seq: number },
): readonly string[] | 'missing' | undefined {
  if (host.memory === undefined || host.lies.has('silent')) return undefined;
  const held = servedLog(host, want.log, asker);
  if (held === undefined) return 'missing';
  const { lies, name } = host;
  const texts = held.texts.slice(0, want.seq);
  if (lies.has('holes')) return texts.map(withoutBody);
  return lies.has('forge') && want.log !== asker ? forge(texts, want.log, name) : texts;
}

/** Of its own log, a host that equivocates shows half of the others another last line. */
function servedLog(host: SimHost, log: string, asker: string): HeldLog | undefined {
  const held = host.memory?.logs.get(log);
  const last = held?.lines.at(-1);
  if (held === undefined || last?.body === undefined || last.body === null) return held;
  const other = (sha256Hex(asker).charCodeAt(0) & 1) === 1;
  if (!host.lies.has('equivocate') || log !== host.name || !other) return held;
  const { seq, prev, body } = last;
  const line = buildLine({ body: { ...body, session: 'other' }, auth: null, log, seq, prev }, signOf(host));
  return { texts: [...held.texts.slice(0, -1), line.text], lines: [...held.lines.slice(0, -1), line as typeof last] };
}

/** The same line with its body purged: the link still holds. */
export function withoutBody(text: string): string {
  const parsed = parseLine(text, meshId);
  if (!parsed.ok || parsed.value.body === null) return text;
  const { id, auth } = parsed.value;
  if (auth !== null) return text;
  const end = text.lastIndexOf(',"log":');
  return `{"body":"${id}"${text.slice(end)}`;
}

/** Three forgeries by turns: a changed body, a signature by another key, a broken signature on a new line. */
function forge(texts: readonly string[], log: string, by: string): readonly string[] {
  const last = texts.at(-1);
  const parsed = last === undefined ? undefined : parseLine(last, meshId);
  if (last === undefined || parsed?.ok !== true || parsed.value.body === null) return texts;
  const { body, seq, link } = parsed.value;
  const turn = texts.length % 3;
  if (turn === 0)
    return [...texts.slice(0, -1), last.replace(`"nonce":"${body.nonce}"`, `"nonce":"${'f'.repeat(32)}"`)];
  const sign =
    turn === 1 ? signAs(by !== log ? by : log === 'eta' ? 'zeta' : 'eta') : (): Uint8Array => new Uint8Array(64);
  const made = buildLine({ body: { ...body, nonce: 'e'.repeat(32) }, auth: null, log, seq: seq + 1, prev: link }, sign);
  return [
    ...texts,
    turn === 1 ? made.text : made.text.replace(/"sig":"[^"]*"/, `"sig":"${encodeBase64(new Uint8Array(64))}"`),
  ];
}

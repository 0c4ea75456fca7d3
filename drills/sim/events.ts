/** What hosts say: few subjects and few values, so that they contradict, correct and repeat each other all the time. */
import { makeBody, type Auth, type Body, type BodyInput, type Kind } from '../../src/core/event.ts';
import { canonicalJson, type JsonValue } from '../../src/crypto/canonical.ts';
import { must } from '../../test/lib/trust-ops.ts';
import type { Random } from '../../test/lib/random.ts';
import { approvalOf, hostNames, meshId } from './charter.ts';
import type { Memory, SimHost } from './types.ts';

const subjects = ['note/one', 'note/two', 'note/three', 'policy/one'] as const;
const kinds: readonly (readonly [Kind, number])[] = [
  ['assert', 0.6],
  ['lesson', 0.68],
  ['retract', 0.8],
  ['question', 0.85],
  ['decision', 0.88],
  ['propose', 0.91],
  ['observe', 0.98],
  ['pin', 1],
];
const contents: readonly Kind[] = ['lesson', 'question', 'decision', 'propose'];
const bare: readonly Kind[] = ['observe', 'pin'];

export interface Draft {
  readonly body: Body;
  readonly auth: Auth | null;
}

/** Something that a host says, knowing what it holds. A host that lies also says what it may not. */
export function drawEvent(
  host: SimHost,
  memory: Memory,
  at: { readonly random: Random; readonly now: number; readonly signed: boolean },
): Draft {
  const { random, signed } = at;
  const known = knownBodies(memory);
  const lying = host.lies.size > 0;
  // Somebody else's words once more: the same event, wherever it stands.
  const again = random.next() < 0.05 ? pickOf(random, known) : undefined;
  if (again !== undefined) return again;
  const body = must(
    makeBody(drawBody(random, known), {
      mesh: meshId,
      host: lying && random.next() < 0.2 ? random.pick(hostNames) : host.name,
      session: `s${random.below(3)}`,
      at: timeText(at.now + host.wallMs),
      nonce: hex(random, 32),
    }),
  );
  const forged = lying && random.next() < 0.25;
  return { body, auth: signed || forged ? approvalOf(canonicalJson(body as unknown as JsonValue), forged) : null };
}

function knownBodies({ logs }: Memory): readonly (Draft & { readonly id: string })[] {
  return [...logs.values()].flatMap(({ lines }) =>
    lines.flatMap(({ body, auth, id }) => (body === null ? [] : [{ body, auth, id }])),
  );
}

function drawBody(random: Random, known: readonly (Draft & { readonly id: string })[]): BodyInput {
  const subject = random.next() < 0.6 ? subjects[0] : random.pick(subjects);
  const dice = random.next();
  const near = known.filter(({ body }) => body.subject === subject || random.next() < 0.1);
  const kind = near.length === 0 ? 'assert' : (kinds.find(([, below]) => dice < below)?.[0] ?? 'assert');
  const fields: Record<string, unknown> = { kind, subject };
  if (random.next() < 0.15) fields['scope'] = 'web';
  if (kind === 'assert')
    Object.assign(fields, { value: `v${random.below(3)}`, home: random.pick(['file:a', 'file:b']) });
  if (contents.includes(kind)) fields['content'] = `words ${random.below(2)}`;
  if (kind === 'propose') fields['proposes'] = 'lesson';
  if (kind === 'observe')
    Object.assign(fields, { home: 'file:a', digest: `sha256:${String(random.below(2)).repeat(64)}` });
  const targets = near.filter(({ body }) => !bare.includes(body.kind));
  if (kind === 'retract' || (['assert', 'lesson', 'question', 'decision'].includes(kind) && random.next() < 0.45))
    addIds(random, fields, { name: 'supersedes', from: targets });
  if (kind === 'assert' && random.next() < 0.15) addIds(random, fields, { name: 'basis', from: near });
  if (!bare.includes(kind) && random.next() < 0.04) fields['lineage'] = 'untrusted';
  if (kind === 'retract' && fields['supersedes'] === undefined)
    return { kind: 'assert', subject, value: 'v0', home: 'file:a' };
  return fields as unknown as BodyInput;
}

function addIds(
  random: Random,
  fields: Record<string, unknown>,
  { name, from }: { readonly name: string; readonly from: readonly { readonly id: string }[] },
): void {
  const ids = new Set<string>();
  for (let left = 1 + random.below(2); left > 0; left -= 1) {
    const found = pickOf(random, from);
    if (found !== undefined) ids.add(found.id);
  }
  if (ids.size > 0) fields[name] = [...ids].toSorted((a, b) => (a < b ? -1 : 1));
}

function pickOf<T>(random: Random, list: readonly T[]): T | undefined {
  return list[random.below(list.length)];
}

export function hex(random: Random, digits: number): string {
  return Array.from({ length: digits }, () => random.below(16).toString(16)).join('');
}

const yearMs = 31_556_952_000;

/** A clock text of the format, without any calendar: what a clock says decides nothing. */
function timeText(ms: number): string {
  const year = 2026 + Math.trunc(ms / yearMs);
  const rest = Math.abs(Math.trunc(ms)) % 60_000;
  const seconds = String(Math.trunc(rest / 1_000)).padStart(2, '0');
  return `${year}-07-27T15:04:${seconds}.${String(rest % 1_000).padStart(3, '0')}Z`;
}

/** T3: which keys and pins a host's ops give its log. Source: docs/fold.md T3. */
import type { SshPublicKey } from '../../crypto/ssh-key.ts';
import { sameBytes } from '../../crypto/ssh-wire.ts';
import type { HostPin, OriginSpan } from './charter-types.ts';
import type { ItemState } from './items.ts';
import { byText, type Held } from './register.ts';

/**
 * `end`: last seq that may be used, null while open. Spans may go on behind it: who signs is one question, what counts
 * another.
 */
export interface HostLog {
  readonly spans: readonly OriginSpan[];
  readonly pins: readonly HostPin[];
  readonly end: number | null;
}

/** Keys, pins and end of the log of a host with a value. Pure. */
export function hostLogOf({ chain, disputed, revokes }: Pick<ItemState, 'chain' | 'disputed' | 'revokes'>): HostLog {
  const revoked = lowestPin(revokes);
  const disputedPin = lowestPin(disputed);
  const stop = lowest([revoked, disputedPin].filter((pin) => pin !== null));
  const rekeys = pinsOf(chain);
  return {
    spans: spansOf(chain, revoked === null ? rekeys : [...rekeys, revoked]),
    pins: inForce(stop === null ? rekeys : [...rekeys, stop]),
    end: stop?.seq ?? null,
  };
}

/** The pin that a further rekey must not fall below: the last one that is settled. Pure. */
export function lastPin(chain: readonly Held[]): HostPin | null {
  return inForce(pinsOf(chain)).at(-1) ?? null;
}

/** The sign key that an op gives its host, if it gives one. Pure. */
export function signKeyOf({ op }: Held): SshPublicKey | undefined {
  const { body } = op;
  if (body.op === 'genesis') return op.keys.get(body.host.sign);
  return body.op === 'host-add' || body.op === 'host-rekey' ? op.keys.get(body.sign) : undefined;
}

/** True iff this is the key of a span. Pure. */
export function isKeyOf(span: Pick<OriginSpan, 'key'>, key: SshPublicKey | undefined): boolean {
  return key?.raw32 !== undefined && sameBytes(span.key, key.raw32);
}

/** The op whose pin is the lowest of these; of equal pins the lowest id. Pure. */
export function lowestPin(ops: readonly Held[]): HostPin | null {
  return lowest(pinsOf(ops));
}

function lowest(pins: readonly HostPin[]): HostPin | null {
  const sorted = pins.toSorted((a, b) => a.seq - b.seq || byText(a.link, b.link) || byText(a.op, b.op));
  return sorted[0] ?? null;
}

function pinsOf(ops: readonly Held[]): readonly HostPin[] {
  return ops.flatMap(({ op }) => {
    const { body, id } = op;
    return body.op === 'host-rekey' || body.op === 'host-revoke' ? [{ ...body.pin, op: id }] : [];
  });
}

/** A later pin has the last word: an earlier one at or above it says nothing any more. */
function inForce(pins: readonly HostPin[]): readonly HostPin[] {
  return pins.filter((pin, index) => pins.slice(index + 1).every((later) => later.seq > pin.seq));
}

/** Each key holds from behind its own pin up to the lowest later one. `pins`: those of all but the first op, in order. */
function spansOf(chain: readonly Held[], pins: readonly HostPin[]): readonly OriginSpan[] {
  return chain.flatMap((held, index) => {
    const from = index === 0 ? 1 : (pins[index - 1]?.seq ?? 0) + 1;
    const later = pins.slice(index).map(({ seq }) => seq);
    const upto = later.length === 0 ? null : Math.min(...later);
    const key = signKeyOf(held)?.raw32;
    return key === undefined || (upto !== null && upto < from) ? [] : [{ key, from, upto, op: held.op.id }];
  });
}

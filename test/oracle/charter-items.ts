/** T2.3, T2.4 and T3 of the second charter: which ops of an item have the say, and what they give the log of a host. */
import { byId, countedAbout, descendsFrom, type Saying, type View } from './charter-ops.ts';

/** A host with a settled value. Spans: [sign key, from, upto]; pins: [seq, link]; linePins: those of T3.2. */
export interface HostItem {
  readonly value: Saying;
  readonly address: string;
  readonly spans: readonly (readonly [string, number, number | null])[];
  readonly linePins: readonly Place[];
  readonly pins: readonly Place[];
  readonly end: number | null;
  readonly revoked: boolean;
}

type Place = readonly [number, string];

/** T2.3: the value, what the ops it rests on may be, and what was set aside before. */
export function agreed(
  view: View,
  say: readonly Saying[],
): { readonly value: Saying | null; readonly below: readonly Saying[]; readonly aside: readonly Saying[] } {
  const aside: Saying[] = [];
  let left = say;
  while (left.length > 0) {
    const top = maximal(view, left);
    const common = left.filter((one) => top.every((other) => descendsFrom(view, other.op, one.op)));
    const [lowest] = top.toSorted((a, b) => byId(a.op, b.op));
    if (top.every((one) => same(one, lowest as Saying))) return { value: lowest as Saying, below: common, aside };
    aside.push(...left.filter((one) => !common.includes(one)));
    left = common;
  }
  return { value: null, below: [], aside };
}

/** T2.5, but for revoked hosts. */
export function isDisputed(view: View, all: readonly Saying[], value: Saying | null): boolean {
  return maximal(view, all).some((one) => value === null || !same(one, value));
}

/** T2.4, T3; null without a settled value. */
export function hostItem(view: View, item: string): HostItem | null {
  const all = countedAbout(view, item);
  const revokes = all.filter(({ op }) => op.body.op === 'host-revoke');
  const first = agreed(
    view,
    all.filter((one) => !revokes.includes(one)),
  );
  const line: Saying[] = [];
  for (let now = first; ; now = agreed(view, now.below)) {
    if (now.value === null) return null;
    line.unshift(now.value);
    if (now.value.op.body.op !== 'host-rekey') break;
  }
  const rekeys = line.slice(1).map(placeOf);
  const revoked = lowest(revokes.map(placeOf));
  const stop = lowest([...revokes, ...first.aside.filter(({ op }) => op.body.op === 'host-rekey')].map(placeOf));
  const linePins = rekeys.filter(([seq], at) => rekeys.slice(at + 1).every(([later]) => later > seq));
  const bounds = revoked === undefined ? rekeys : [...rekeys, revoked];
  return {
    value: line.at(-1) as Saying,
    address: line[0]?.fields['address'] as string,
    spans: line.flatMap(({ fields }, at) => {
      const from = at === 0 ? 1 : (rekeys[at - 1] as Place)[0] + 1;
      const later = bounds.slice(at).map(([seq]) => seq);
      const upto = later.length === 0 ? null : Math.min(...later);
      return upto !== null && upto < from ? [] : [[fields['sign'] as string, from, upto] as const];
    }),
    linePins,
    pins: stop === undefined ? linePins : [...linePins.filter(([seq]) => seq < stop[0]), stop],
    end: stop?.[0] ?? null,
    revoked: revokes.length > 0,
  };
}

function placeOf({ fields }: Saying): Place {
  const { seq, link } = (fields['pin'] ?? fields['revokedAt']) as { seq: number; link: string };
  return [seq, link];
}

function lowest(places: readonly Place[]): Place | undefined {
  return places.toSorted((a, b) => a[0] - b[0] || (a[1] < b[1] ? -1 : 1))[0];
}

function maximal(view: View, say: readonly Saying[]): Saying[] {
  return say.filter((one) => !say.some((other) => descendsFrom(view, other.op, one.op)));
}

const same = (a: Saying, b: Saying): boolean => JSON.stringify(a.fields) === JSON.stringify(b.fields);

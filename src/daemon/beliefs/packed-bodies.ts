/**
 * The bodies of the fold of a memd, small while nobody reads them: most of its memory would be words that decide nothing.
 * They are loose while much happens, so that a load or a burst pays nothing; when it is quiet they are packed, a number of
 * neighbours at a time, and a pack that somebody reads of is loose again. Never on disk: what the fold says must not depend
 * on a file that may be damaged.
 */
import { constants, deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Body } from '../../core/event.ts';
import type { Bodies } from '../../core/fold/fold.ts';

export interface PackedBodies extends Bodies {
  /** Packs one pack, for about a millisecond. @returns false when there was nothing to pack. */
  readonly pack: () => boolean;
}

/** Bodies of a pack, some 50 kB: fewer repeat less, and more make a single reading dear. */
export const bodiesInPack = 128;

export function packedBodies(): PackedBodies {
  const packs: (readonly Body[] | Uint8Array)[] = [];
  /** Full packs that are loose, and the one that is being filled. */
  const loose = new Set<number>();
  let filling: Body[] = [];
  const loosen = (number: number): readonly Body[] => {
    const pack = packs[number];
    if (pack === undefined) return filling;
    if (!(pack instanceof Uint8Array)) return pack;
    const bodies = JSON.parse(inflateRawSync(pack).toString()) as readonly Body[];
    packs[number] = bodies;
    loose.add(number);
    return bodies;
  };
  return {
    keep(body) {
      const place = packs.length * bodiesInPack + filling.push(body) - 1;
      if (filling.length === bodiesInPack) {
        loose.add(packs.push(filling) - 1);
        filling = [];
      }
      return place;
    },
    read: (place) => loosen(Math.floor(place / bodiesInPack))[place % bodiesInPack] as Body,
    pack() {
      const [number] = loose;
      if (number === undefined) return false;
      loose.delete(number);
      const text = JSON.stringify(packs[number]);
      // What deflate gives is a part of a larger buffer.
      packs[number] = Uint8Array.from(deflateRawSync(text, { level: constants.Z_BEST_SPEED }));
      return true;
    },
  };
}

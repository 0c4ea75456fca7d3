/**
 * The links of the lines of one log, 32 bytes each: as strings they would take three times as much, and hosts keep them of
 * every line that they hold.
 */

export interface LinkList {
  readonly length: () => number;
  /** Link of line 1, 2, 3…; undefined beyond the end. */
  readonly at: (seq: number) => string | undefined;
  /** Adds the link of the next line: 64 lower-case hex digits. */
  readonly push: (link: string) => void;
}

const linkBytes = 32;
/** What a full list grows by: room that is not used stays small, and so does what is copied. */
const growth = 1.25;
const firstLinks = 16;

export function emptyLinks(): LinkList {
  let bytes = new Uint8Array(0);
  let length = 0;
  return {
    length: () => length,
    at(seq) {
      if (seq < 1 || seq > length) return undefined;
      let link = '';
      for (let at = (seq - 1) * linkBytes; at < seq * linkBytes; at += 1) link += hexOf[bytes[at] as number];
      return link;
    },
    push(link) {
      const start = length * linkBytes;
      if (start === bytes.length) {
        const larger = new Uint8Array(Math.max(firstLinks, Math.ceil(length * growth)) * linkBytes);
        larger.set(bytes);
        bytes = larger;
      }
      writeHex(bytes, start, link);
      length += 1;
    },
  };
}

const hexOf: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** Values of the hex digits, by code unit. */
const valueOf = new Uint8Array(128);
for (let value = 0; value < 16; value += 1) valueOf[value.toString(16).charCodeAt(0)] = value;

/** On its own, for speed: of a variable that closures share the compiler knows little. */
function writeHex(bytes: Uint8Array, start: number, text: string): void {
  for (let at = 0; at < linkBytes; at += 1) {
    const [high, low] = [text.charCodeAt(2 * at), text.charCodeAt(2 * at + 1)];
    bytes[start + at] = ((valueOf[high] as number) << 4) | (valueOf[low] as number);
  }
}

/** A view journal that others bring: the next line of it, and which of two journals of a host is its word. */
import { refuse, ok, type Result } from '../crypto/result.ts';
import { judgeViewLine, parseViewLine, verifyViewLine, type VerifySignature, type ViewLine } from './view-line.ts';

/** Whose journal it is. `keys`: 32 raw bytes each, ascending: a later one took the place of those before it. */
export interface ViewOwner {
  readonly host: string;
  readonly mesh: string;
  readonly keys: readonly Uint8Array[];
  readonly verify?: VerifySignature;
}

/**
 * The line after `before` in a journal, which is not yet here. `behind`: keys that are too old for it. Gives the line and the
 * place of its key among the others. Pure.
 */
export function nextViewLine(
  text: string | Uint8Array,
  before: ViewLine | null,
  { owner, behind }: { readonly owner: ViewOwner; readonly behind: number },
): Result<{ readonly line: ViewLine; readonly key: number }, 'VIEW_CUT'> {
  const place = `line ${(before?.n ?? 0) + 1}`;
  if (typeof text !== 'string') return refuse('VIEW_CUT', `${place} is not text`);
  const line = parseViewLine(text);
  if (!line.ok) return refuse('VIEW_CUT', `${place}: ${line.detail} (${line.code})`);
  const judged = judgeViewLine(line.value, { ...owner, before, keys: owner.keys.slice(behind) });
  if (judged.ok) return ok({ line: line.value, key: judged.value });
  const isOld =
    judged.code === 'VIEW_SIGNATURE' && verifyViewLine(line.value, owner.keys.slice(0, behind), owner.verify).ok;
  const detail = isOld ? `${place} is signed by an old key of ${owner.host}, behind a later one` : judged.detail;
  return refuse('VIEW_CUT', `${detail} (${judged.code})`);
}

/**
 * Two journals of a host, by their newest lines. A host that was rekeyed says with its new key which one goes on; with equal
 * keys nobody has said. Pure.
 */
export function wordOf(
  { theirs, ours }: { readonly theirs: ViewLine; readonly ours: ViewLine },
  owner: Pick<ViewOwner, 'keys' | 'verify'>,
): 'theirs' | 'ours' | 'unsaid' {
  const order = compareSigners(theirs, ours, owner);
  return order > 0 ? 'theirs' : order < 0 ? 'ours' : 'unsaid';
}

/**
 * Which of two lines of a host is by the later of its keys (ascending): above 0 for `left`, below 0 for `right`, 0 when
 * neither is. Of a line by no known key nothing is known but that the newest key is later. Pure.
 */
function compareSigners(left: ViewLine, right: ViewLine, { keys, verify }: Pick<ViewOwner, 'keys' | 'verify'>): number {
  const [one, other] = [verifyViewLine(left, keys, verify), verifyViewLine(right, keys, verify)];
  const newest = keys.length - 1;
  if (one.ok && other.ok) return one.value - other.value;
  if (one.ok) return one.value === newest ? 1 : 0;
  return other.ok && other.value === newest ? -1 : 0;
}

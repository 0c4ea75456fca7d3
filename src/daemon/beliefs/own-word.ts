/**
 * What this host itself once signed about its own log, in its journals. `last-heads.json` is a plain file that a disk can lose;
 * where it is gone, a log that says less than its host did is rewound all the same, and must not be written to.
 */
import { verifyViewLine, type ViewLine } from '../../core/view-line.ts';
import type { CharterHost } from '../../core/trust/charter.ts';
import { encodeBase64 } from '../../crypto/base64.ts';
import { isOperatingError } from '../../store/errors.ts';
import { readFineLines } from '../../store/logs/fine-journal.ts';
import type { Repository } from '../../store/git/repository.ts';
import type { Home } from '../../store/home/home.ts';
import { readLastHeads, unknownCommit, type LastHead, type LastHeads } from '../../store/notes/last-heads.ts';
import { readNewestViewLine } from '../../store/logs/view-journal.ts';

export interface OwnWordContext {
  readonly home: Home;
  readonly repository: Repository;
  /** This host, as the charter has it; undefined where it has not. */
  readonly member: CharterHost | undefined;
  readonly meshId: string;
}

/** `last-heads.json`; where it says nothing, what the journals of this host say of its own log takes its place. */
export async function readSeenHeads(context: OwnWordContext): Promise<ReturnType<typeof readLastHeads>> {
  const read = readLastHeads(context.home);
  return { ...read, heads: withOwnWord(read.heads, await lastOwnWord(context)) };
}

/** Last heads with the word of the own host, if there is one. Pure. */
export function withOwnWord(heads: LastHeads, word: OwnWord | undefined): LastHeads {
  return word === undefined ? heads : { ...heads, logs: { ...heads.logs, [word.host]: word.head } };
}

export interface OwnWord {
  readonly host: string;
  readonly head: LastHead;
}

/**
 * The last line of its own log that this host signed it had; undefined while `last-heads.json` can be read, which says the
 * same and what a person decided since. Journals that cannot be read say nothing.
 */
export async function lastOwnWord({ home, repository, member, meshId }: OwnWordContext): Promise<OwnWord | undefined> {
  if (member === undefined || readLastHeads(home).state === 'read') return undefined;
  const keys = member.spans.map(({ key }) => key);
  let last: LastHead | undefined;
  for (const line of [newestFineLine(home), await newestViewLine(repository, member.name)]) {
    if (line === undefined || line.host !== member.name || line.mesh !== meshId) continue;
    const signed = verifyViewLine(line, keys);
    const key = signed.ok ? keys[signed.value] : undefined;
    const head = line.heads.get(member.name);
    if (key === undefined || head === undefined || head.seq <= (last?.seq ?? 0)) continue;
    last = { oid: unknownCommit, seq: head.seq, link: head.link, key: encodeBase64(key) };
  }
  return last && { host: member.name, head: last };
}

/** Of older ones a person may have decided since. */
function newestFineLine(home: Home): ViewLine | undefined {
  try {
    const [newest] = readFineLines(home);
    return newest;
  } catch (error) {
    if (isOperatingError(error)) return undefined;
    throw error;
  }
}

async function newestViewLine(repository: Repository, host: string): Promise<ViewLine | undefined> {
  try {
    return await readNewestViewLine(repository, host);
  } catch (error) {
    if (isOperatingError(error)) return undefined;
    throw error;
  }
}

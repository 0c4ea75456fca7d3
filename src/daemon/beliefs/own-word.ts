/**
 * What this host itself once signed about its own log, in its journals. `last-heads.json` is a plain file that a disk can lose and
 * a backup can put back; a log that says less than its host did is rewound all the same, and must not be written to.
 */
import { verifyViewLine, type ViewLine } from '../../core/view-line.ts';
import type { CharterHost } from '../../core/trust/charter.ts';
import { encodeBase64 } from '../../crypto/base64.ts';
import { isDamage } from '../../store/errors.ts';
import { newestFineLine } from '../../store/logs/fine-journal.ts';
import type { Repository } from '../../store/git/repository.ts';
import type { Home } from '../../store/home/home.ts';
import {
  readLastHeads,
  unknownCommit,
  unknownLink,
  type LastHead,
  type LastHeads,
} from '../../store/notes/last-heads.ts';
import { readNewestViewLine } from '../../store/logs/view-journal.ts';

export interface OwnWordContext {
  readonly home: Home;
  readonly repository: Repository;
  /** This host, as the charter has it; undefined where it has not. */
  readonly member: CharterHost | undefined;
  readonly meshId: string;
}

/** `last-heads.json`; where the journals of this host say more of its own log, that takes its place. */
export async function readSeenHeads(context: OwnWordContext): Promise<ReturnType<typeof readLastHeads>> {
  const read = readLastHeads(context.home);
  return { ...read, heads: withOwnWord(read.heads, await lastOwnWord(context, 'all')) };
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
 * The last line of its own log that this host signed it had; undefined where `last-heads.json` says as much, or a person has
 * given it up since. A file that can be read may be an old one, put back with an old branch: then the journals say more. `some`:
 * beside a file that can be read the fine journal alone is asked, which has every line that was published too. Journals
 * that cannot be read say nothing.
 */
export async function lastOwnWord(context: OwnWordContext, ask: 'all' | 'some' = 'some'): Promise<OwnWord | undefined> {
  const { home, member, meshId } = context;
  if (member === undefined) return undefined;
  const { heads, state } = readLastHeads(home);
  const known = heads.logs[member.name];
  // What may be lost is noted already, and by whom it may be had again.
  if (known?.link === unknownLink) return undefined;
  const { keys } = member;
  let last: LastHead | undefined;
  const floor = Math.max(known?.seq ?? 0, heads.givenUp ?? 0);
  for (const line of await newestLines(context, member.name, ask === 'some' && state === 'read')) {
    if (line.host !== member.name || line.mesh !== meshId) continue;
    const signed = verifyViewLine(line, keys);
    const key = signed.ok ? keys[signed.value] : undefined;
    const head = line.heads.get(member.name);
    if (key === undefined || head === undefined || head.seq <= (last?.seq ?? floor)) continue;
    last = { oid: unknownCommit, seq: head.seq, link: head.link, key: encodeBase64(key) };
  }
  return last && { host: member.name, head: last };
}

/** How far the journals say that the own log once went, whoever signed that: what a person gives up with it. */
export async function saidOfOwnLog(
  context: Pick<OwnWordContext, 'home' | 'repository'>,
  host: string,
): Promise<number> {
  const lines = await newestLines(context, host, false);
  return Math.max(0, ...lines.map(({ heads }) => heads.get(host)?.seq ?? 0));
}

/** The newest line of each journal: of older ones a person may have decided since. */
async function newestLines(
  { home, repository }: Pick<OwnWordContext, 'home' | 'repository'>,
  host: string,
  fineOnly: boolean,
): Promise<readonly ViewLine[]> {
  const fine = newestFineLine(home);
  const published = fineOnly ? undefined : await newestViewLine(repository, host);
  return [fine, published].filter((line) => line !== undefined);
}

async function newestViewLine(repository: Repository, host: string): Promise<ViewLine | undefined> {
  try {
    return await readNewestViewLine(repository, host);
  } catch (error) {
    if (isDamage(error)) return undefined;
    throw error;
  }
}

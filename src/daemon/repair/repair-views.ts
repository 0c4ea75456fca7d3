/** The branches of view journals: records of what was believed. The newest commit that is whole and signed takes the place of a bad one. */
import type { CharterHost } from '../../core/trust/charter.ts';
import { isWhole, listCommits, tipsOf } from '../../store/git/branch-commits.ts';
import { compareAndSwapRef, viewBranch } from '../../store/git/refs.ts';
import { isOperatingError } from '../../store/errors.ts';
import { readNewestViewLine, viewCommit } from '../../store/logs/view-journal.ts';
import { viewProblem } from '../queries/verify-views.ts';
import type { TrustState } from '../trust/trust-keeper.ts';
import type { RepositoryRoom } from './room.ts';

/** Restores every journal that is not whole, from what is here; peers bring the rest at the next fetch. */
export async function repairViews(room: RepositoryRoom, { charter }: TrustState): Promise<void> {
  for (const host of charter.hosts.values()) {
    const why = await faultOf(room, host, charter.meshId);
    if (why !== undefined) await restoreJournal(room, { host, mesh: charter.meshId, why });
  }
}

async function faultOf(room: RepositoryRoom, host: CharterHost, mesh: string): Promise<string | undefined> {
  const { repository } = room;
  const problem = await viewProblem(repository, host, { mesh, deep: false });
  if (problem !== undefined) return problem;
  const oid = viewCommit(repository, host.name);
  return oid === null || (await isWhole(repository, oid)) ? undefined : 'objects of its history are missing';
}

interface Journal {
  readonly host: CharterHost;
  readonly mesh: string;
  readonly why: string;
}

async function restoreJournal(room: RepositoryRoom, journal: Journal): Promise<void> {
  const { repository, home, aside } = room;
  const { name } = journal.host;
  const { ref } = viewBranch(name);
  const before = oidOf(room, name);
  const commits = tipsOf(await listCommits(repository), `view ${name}`).map(({ oid }) => oid);
  let best: { readonly oid: string; readonly n: number } | undefined;
  for (const oid of [...commits, ...(await ancestorsOf(room, name))]) {
    if (oid === before || !(await isWhole(repository, oid))) continue;
    const n = await linesAt(room, journal, oid);
    if (n > (best?.n ?? 0)) best = { oid, n };
  }
  if (best === undefined) {
    aside.moveAside(`${home.repository}/${ref}`, journal.why);
    room.done(
      `view ${name}`,
      `${journal.why}: nothing of it is whole here; it is moved aside, and peers that hold it send it`,
    );
    return;
  }
  await compareAndSwapRef(repository, { ref, expected: undefined, next: best.oid });
  room.done(`view ${name}`, `${journal.why}: its newest sound line here is ${best.n}; peers that hold more send it`);
}

/** Earlier commits of a journal whose newest is damaged, the newest first; some are enough. */
const ancestorsMax = 64;

async function ancestorsOf({ repository }: RepositoryRoom, host: string): Promise<readonly string[]> {
  const own = (await listCommits(repository)).filter(({ subject }) => subject.startsWith(`view ${host}: `));
  const parents = new Map(own.map(({ oid, parents: [parent] }) => [oid, parent]));
  const found: string[] = [];
  for (const { oid } of tipsOf(own, `view ${host}`))
    for (let at = parents.get(oid); at !== undefined && found.length < ancestorsMax; at = parents.get(at))
      found.push(at);
  return found;
}

/** Number of the newest line at a commit; 0 when the journal there is not sound. Points the branch there to look. */
async function linesAt(room: RepositoryRoom, { host, mesh }: Journal, oid: string): Promise<number> {
  const { repository } = room;
  const { ref } = viewBranch(host.name);
  await compareAndSwapRef(repository, { ref, expected: undefined, next: oid });
  if ((await viewProblem(repository, host, { mesh, deep: true })) !== undefined) return 0;
  return (await readNewestViewLine(repository, host.name))?.n ?? 0;
}

function oidOf({ repository }: RepositoryRoom, host: string): string | null {
  try {
    return viewCommit(repository, host);
  } catch (error) {
    if (isOperatingError(error, 'REF_DAMAGED')) return null;
    throw error;
  }
}

/** The view journals that are here: chained and signed as their hosts wrote them. */
import { judgeViewLine, verifyViewLine, type ViewLine } from '../../core/view-line.ts';
import type { CharterHost } from '../../core/trust/charter.ts';
import { isDamage } from '../../store/errors.ts';
import type { Repository } from '../../store/git/repository.ts';
import { readViewLines } from '../../store/logs/view-journal.ts';

/**
 * What is wrong with the journal of a host, in one sentence; undefined for nothing. Its newest line is judged; deep: every
 * line, and the chain back to the first.
 */
export async function viewProblem(
  repository: Repository,
  host: Pick<CharterHost, 'name' | 'keys'>,
  { mesh, deep }: { readonly mesh: string; readonly deep: boolean },
): Promise<string | undefined> {
  const { keys } = host;
  try {
    let later: ViewLine | undefined;
    for await (const line of readViewLines(repository, host.name)) {
      if (!deep) return faultOf(host.name, verifyViewLine(line, keys));
      const fault = later && faultOf(host.name, judgeViewLine(later, { host: host.name, mesh, before: line, keys }));
      if (fault !== undefined) return fault;
      later = line;
    }
    return later && faultOf(host.name, judgeViewLine(later, { host: host.name, mesh, before: null, keys }));
  } catch (error) {
    if (!isDamage(error)) throw error;
    return error.message;
  }
}

function faultOf(
  host: string,
  judged: { readonly ok: true } | { readonly ok: false; readonly code: string; readonly detail: string },
): string | undefined {
  return judged.ok ? undefined : `view ${host}: ${judged.detail} (${judged.code})`;
}

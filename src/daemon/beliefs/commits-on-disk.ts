/** Where the branches of the logs are, read without a fold. */
import { isOperatingError } from '../../store/errors.ts';
import { logRef, readRef } from '../../store/git/refs.ts';
import type { Repository } from '../../store/git/repository.ts';
import type { TrustState } from '../trust/trust-keeper.ts';

/** Commit of every log branch of the charter, read from the refs alone; '' for a damaged one, as the book has it. */
export function commitsOnDisk(repository: Repository, trust: TrustState): Record<string, string> {
  const commits = [...trust.charter.hosts.keys()].map((name) => [name, commitOf(repository, name)] as const);
  return Object.fromEntries(commits.filter((entry): entry is [string, string] => entry[1] !== null));
}

/** Commit of the branch of a log; '' for a damaged one, null without one. */
export function commitOf(repository: Repository, log: string): string | null {
  try {
    return readRef(repository, logRef(log));
  } catch (error) {
    if (isOperatingError(error, 'REF_DAMAGED')) return '';
    throw error;
  }
}

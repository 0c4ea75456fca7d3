/** What a manifest is checked with: mesh id and trust set of a home, read without its lock, or those that a person hands over. */
import type { Charter } from '../../core/trust/charter.ts';
import { charterOf } from '../../core/trust/charter.ts';
import { parseTrustOp } from '../../core/trust/op.ts';
import { addOps, emptyTrustSet, trustHash } from '../../core/trust/set.ts';
import { openRepository } from '../../store/git/repository.ts';
import { openHome, type Home } from '../../store/home/home.ts';
import { checkOpsAhead } from '../beliefs/approval-checks.ts';
import { requireGenesis } from '../engine-state.ts';
import { readIdentity } from '../identity.ts';
import { trustAt } from '../journal/trust-at.ts';
import { Refusal } from '../refusal.ts';
import { readTrustState } from '../trust/trust-keeper.ts';
import type { ManifestTrust } from './verify-manifest.ts';

/** Of the home in a folder. Refuses NOT_ENROLLED, NO_MESH; fails as the store does. */
export async function trustOfHome(dir: string): Promise<{ readonly home: Home; readonly trust: ManifestTrust }> {
  const home = openHome(dir);
  const { mesh, host } = readIdentity(home);
  if (mesh === null)
    throw new Refusal({
      code: 'NOT_ENROLLED',
      message: `host ${host} has keys but no mesh yet: nobody is known here whose word could be checked`,
      hint: 'after memctl host add on an enrolled host: memctl join ssh://HOST:PORT --mesh ID',
    });
  const repository = openRepository(home.repository);
  const state = await readTrustState(repository, mesh);
  requireGenesis(state, mesh);
  const { charter, hash, filesEver } = state;
  const isEarlier = async (other: string): Promise<boolean> => (await trustAt(repository, state, other)) !== undefined;
  return { home, trust: { meshId: mesh, host, charter, hash, ops: filesEver, isEarlier } };
}

/**
 * Of the ops in `text`, one a line, as `memctl export` writes them. `skipped`: lines that hold none, or one that does
 * not count among the others: not rightly signed, or its ancestors are missing. Refuses INPUT_UNREADABLE: they are not of that mesh.
 */
export async function trustOfOps(text: string, meshId: string): Promise<ManifestTrust & { readonly skipped: number }> {
  const lines = text.split('\n').filter((line) => line !== '');
  const ops = lines.flatMap((line) => {
    const op = parseTrustOp(line);
    return op.ok ? [op.value] : [];
  });
  const { set, dropped, pending } = addOps(emptyTrustSet(meshId), ops, '', await checkOpsAhead(ops));
  if (!set.held.has(meshId))
    throw new Refusal({
      code: 'INPUT_UNREADABLE',
      message: `the trust file does not hold the genesis of mesh ${meshId.slice(0, 12)}`,
      hint: 'trust.jsonl of an export of that mesh: memctl export DIR',
      exit: 2,
    });
  const charter: Charter = charterOf(set);
  const skipped = lines.length - ops.length + dropped.length + pending.length;
  return { meshId, charter, hash: trustHash(set), ops: set.held.size, skipped };
}

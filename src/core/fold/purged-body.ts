/** What is left of a purged event, in the shape in which the fold reads events. Source: docs/fold.md T5. */
import type { Body } from '../event.ts';
import type { PurgeSkeleton } from '../trust/op-types.ts';

/** A body that says what the skeleton says, and nothing of what was purged. Its hash is not the id. Pure. */
export function purgedBody(mesh: string, target: PurgeSkeleton): Body {
  const { host, kind, subject, scope, audience, lineage, home, digest, supersedes, basis } = target;
  return {
    mesh,
    host,
    kind,
    subject,
    session: '',
    at: '',
    nonce: '',
    ...(scope === '*' ? {} : { scope }),
    ...(audience === 'operator' ? {} : { audience }),
    ...(lineage === 'untrusted' ? { lineage } : {}),
    ...(home === null ? {} : { home }),
    ...(digest === null ? {} : { digest }),
    ...(supersedes.length === 0 ? {} : { supersedes }),
    ...(basis.length === 0 ? {} : { basis }),
  };
}

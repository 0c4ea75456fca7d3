/** What a host does that learns of its own revocation: it says so, and stops acting as one of the mesh. */
import type { Charter } from '../../core/trust/charter.ts';
import { revokedText } from '../../mesh/ssh/ssh-login.ts';
import type { LocalFault } from '../engine.ts';
import { Refusal } from '../refusal.ts';

/** The alarm of a revoked host; none for any other. Pure. */
export function revocationFaults({ hosts }: Charter, host: string): readonly LocalFault[] {
  const self = hosts.get(host);
  return self?.status === 'revoked' ? [{ kind: 'HOST_REVOKED', detail: revokedText(self) }] : [];
}

/** Refuses HOST_REVOKED: a line that can never count must not look like one that was taken. */
export function requireNotRevoked({ hosts }: Charter, host: string): void {
  const self = hosts.get(host);
  if (self?.status !== 'revoked') return;
  throw new Refusal({
    code: 'HOST_REVOKED',
    message: revokedText(self),
    hint: 'reading still works; to go on, move this home aside and enrol the machine under a new name: memctl host request --host NAME2',
    exit: 6,
  });
}

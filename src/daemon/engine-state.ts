/** What an engine remembers of itself, and what it finds wrong with its home. */
import type { Charter } from '../core/trust/charter.ts';
import { OperatingError } from '../store/errors.ts';
import type { Home } from '../store/home/home.ts';
import { foreignParts, foreignText, ownerHint } from '../store/home/ownership.ts';
import type { Engine, ListenPorts, LocalFault } from './engine.ts';
import { writeIdentity, type Identity } from './identity.ts';
import { revocationFaults } from './own/revoked-host.ts';
import type { TrustState } from './trust/trust-keeper.ts';

/** Who this host is changes in one thing: whom it signs as. */
export function identityKeeper(
  home: Home,
  found: Identity,
): { readonly now: () => Identity; readonly rememberSigner: Engine['rememberSigner'] } {
  let identity = found;
  return {
    now: () => identity,
    async rememberSigner(old, signer) {
      if (identity.signer?.name !== old) return false;
      identity = { ...identity, signer };
      await writeIdentity(home, identity);
      return true;
    },
  };
}

/** Where the ssh server listens, as it tells. */
export function listenState(): {
  readonly set: Pick<Engine, 'ports' | 'listening' | 'listenFault'>;
  readonly faults: () => readonly LocalFault[];
} {
  let ports: ListenPorts | null = null;
  let fault: OperatingError | undefined;
  return {
    set: {
      ports: () => ports,
      listening: (now) => void (ports = now),
      listenFault: (now) => void (fault = now),
    },
    faults: () => (fault === undefined ? [] : [{ kind: fault.code, detail: fault.message }]),
  };
}

/** What is wrong with this host in the mesh, and with its branch `trust`. */
export function localFaults(
  {
    home,
    readOnly,
    identity,
    trust,
  }: {
    readonly home: Home;
    readonly readOnly: OperatingError | undefined;
    readonly identity: Identity;
    readonly trust: TrustState;
  },
  charter: Charter,
): readonly LocalFault[] {
  return [
    ...(readOnly === undefined ? [] : [{ kind: readOnly.code, detail: readOnly.message }]),
    ...ownerFaults(home),
    ...revocationFaults(charter, identity.host),
    ...unreadableOps(trust),
  ];
}

/** It was ours when memd started: git refuses to serve it from now on, and the next start refuses it too. */
function ownerFaults(home: Home): readonly LocalFault[] {
  const [first] = foreignParts(home);
  return first === undefined ? [] : [{ kind: 'WRONG_OWNER', detail: `${foreignText(first)}; ${ownerHint(home)}` }];
}

/** Found when the home was opened; what is admitted afterwards was read before it was written. */
function unreadableOps({ unreadable }: TrustState): readonly LocalFault[] {
  return unreadable.map(({ id, detail }) => ({
    kind: 'TRUST_OP',
    detail: `branch trust of this home: op ${id.slice(0, 12)} does not count here: ${detail}`,
  }));
}

/** A trust branch that was lost reads like one that never was, and a mesh without a charter would take nobody's word. */
export function requireGenesis({ set }: TrustState, meshId: string): void {
  if (set.held.has(meshId)) return;
  throw new OperatingError('BRANCH_DAMAGED', `branch trust does not hold the genesis of mesh ${meshId}`, {
    hint: 'stop memd, then memctl doctor --repair takes it from another host of the mesh, if none of it is left here',
  });
}

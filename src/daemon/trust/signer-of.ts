/** Who may sign what: told before anybody types a passphrase. */
import type { Charter, CharterSigner } from '../../core/trust/charter.ts';
import { scopeCovers } from '../../core/trust/scope.ts';
import { Refusal } from '../refusal.ts';

/** True for a signer whose word counts now. */
export function isActive(signer: CharterSigner): boolean {
  return signer.status === 'active';
}

/** The active signer with this key. Refuses SIGNER_UNKNOWN. */
export function signerOfKey(charter: Charter, key: string): CharterSigner {
  const found = [...charter.signers.values()].find((signer) => signer.key.fingerprint === key);
  if (found !== undefined && isActive(found)) return found;
  const active = [...charter.signers.values()].filter(isActive);
  const known = active.map(({ name, key: { fingerprint } }) => `${name} ${fingerprint}`).join(', ');
  throw new Refusal({
    code: 'SIGNER_UNKNOWN',
    message: found === undefined ? `no signer of this mesh has the key ${key}` : `signer ${found.name} was revoked`,
    hint: `signers: ${known}; name their key: --key FILE`,
    exit: 6,
  });
}

/** Refuses SIGNER_SCOPE, naming who could, unless the signer covers every subject; without one, unless somebody does. */
export function requireCovers(charter: Charter, signer: CharterSigner | undefined, subjects: readonly string[]): void {
  for (const subject of subjects) {
    if (signer !== undefined && scopeCovers(signer.scopes, subject)) continue;
    const able = [...charter.signers.values()].filter((one) => isActive(one) && scopeCovers(one.scopes, subject));
    if (signer === undefined && able.length > 0) continue;
    const names = able.map(({ name }) => name).join(', ');
    throw new Refusal({
      code: 'SIGNER_SCOPE',
      message: `${who(signer)} may not sign about ${subject}: no scope covers it; nothing was signed`,
      hint: names === '' ? 'memctl signer list shows scopes' : `who could: ${names}; name their key: --key FILE`,
      exit: 6,
    });
  }
}

function who(signer: CharterSigner | undefined): string {
  return signer === undefined ? 'the signers of this mesh' : `signer ${signer.name} (${signer.scopes.join(', ')})`;
}

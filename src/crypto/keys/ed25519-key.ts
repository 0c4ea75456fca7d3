/** Plain ed25519 keys; hosts have no other. The strict rules themselves are in ../ed25519.ts. Source: RFC 8709. */
import { isStrongEd25519Key, strictEd25519Handle } from '../ed25519.ts';
import { ok, refuse, type Result } from '../result.ts';
import type { WireReader } from '../ssh-wire.ts';
import type { Ed25519PublicKey, InnerSignature, SignatureCheck, SignatureFault, SshKeyFault } from './key.ts';

/** The field of a key blob after its type name. Pure. */
export function readEd25519Fields(reader: WireReader): Result<{ readonly raw32: Uint8Array }, SshKeyFault> {
  const raw32 = reader.bytes();
  if (raw32?.length !== 32) return refuse('NOT_A_KEY', 'an ed25519 key has 32 bytes');
  return isStrongEd25519Key(raw32) ? ok({ raw32 }) : refuse('WEAK_KEY', 'not a canonical ed25519 key of full order');
}

/** What verifies a signature by an ed25519 key. Pure. */
export function ed25519Check(
  key: Ed25519PublicKey,
  inner: InnerSignature,
  data: Uint8Array,
): Result<SignatureCheck, SignatureFault> {
  if (inner.type !== key.type) return refuse('NOT_CANONICAL', 'signature and key types differ');
  if (inner.rest.length > 0) return refuse('NOT_CANONICAL', 'bytes after the end of the signature');
  const handle = strictEd25519Handle(key.raw32, inner.signature);
  return handle === null
    ? refuse('SIGNATURE', 'the signature does not verify')
    : ok({ digest: null, key: handle, data, signature: inner.signature });
}

/**
 * Keys on FIDO tokens, ed25519 and ECDSA P-256. The token signs sha256(application), flags, counter and
 * sha256(what it was asked to sign); flags and counter stand behind the signature.
 * Source: OpenSSH PROTOCOL.u2f; docs/format.md F6.13.
 */
import { isStrongEd25519Key, strictEd25519Handle } from '../ed25519.ts';
import { sha256 } from '../hash.ts';
import { ok, refuse, type Result } from '../result.ts';
import { concatBytes, type WireReader } from '../ssh-wire.ts';
import { nistp256 } from './ecdsa-curves.ts';
import { curveCheck, readCurvePoint } from './ecdsa-key.ts';
import type {
  InnerSignature,
  SignatureCheck,
  SignatureFault,
  SkEcdsaPublicKey,
  SkEd25519PublicKey,
  SshKeyFault,
} from './key.ts';

/** One byte of flags, a counter of 32 bits. */
const restBytes = 5;
/** The person touched the token. Without it malware that reaches the token signs alone. */
const userPresent = 0x01;

/** The fields of an ed25519 token key after its type name. Pure. */
export function readSkEd25519Fields(
  reader: WireReader,
): Result<{ readonly inner32: Uint8Array; readonly application: Uint8Array }, SshKeyFault> {
  const inner32 = reader.bytes();
  if (inner32?.length !== 32) return refuse('NOT_A_KEY', 'an ed25519 key has 32 bytes');
  if (!isStrongEd25519Key(inner32)) return refuse('WEAK_KEY', 'not a canonical ed25519 key of full order');
  const application = readApplication(reader);
  return application.ok ? ok({ inner32, application: application.value }) : application;
}

/** The fields of an ECDSA token key after its type name. Pure. */
export function readSkEcdsaFields(
  reader: WireReader,
): Result<{ readonly point: Uint8Array; readonly application: Uint8Array }, SshKeyFault> {
  const read = readCurvePoint(nistp256, reader);
  if (!read.ok) return read;
  const application = readApplication(reader);
  return application.ok ? ok({ point: read.value.point, application: application.value }) : application;
}

/** What verifies a signature by a token. Pure. */
export function skCheck(
  key: SkEd25519PublicKey | SkEcdsaPublicKey,
  inner: InnerSignature,
  data: Uint8Array,
): Result<SignatureCheck, SignatureFault> {
  if (inner.type.startsWith('webauthn-sk-'))
    return refuse('SIGNATURE_TYPE_UNSUPPORTED', 'signatures made by a web browser (webauthn-sk) are not supported');
  if (inner.type !== key.type) return refuse('NOT_CANONICAL', 'signature and key types differ');
  if (inner.rest.length !== restBytes)
    return refuse('NOT_CANONICAL', 'flags and counter of the token are not the last five bytes');
  if (((inner.rest[0] as number) & userPresent) === 0)
    return refuse('NO_USER_PRESENCE', 'the token signed without being touched');
  const signed = concatBytes([sha256(key.application), inner.rest, sha256(data)]);
  if (key.type === 'sk-ecdsa-sha2-nistp256@openssh.com') return curveCheck(nistp256, key, inner.signature, signed);
  const handle = strictEd25519Handle(key.inner32, inner.signature);
  return handle === null
    ? refuse('SIGNATURE', 'the signature does not verify')
    : ok({ digest: null, key: handle, data: signed, signature: inner.signature });
}

/** Any bytes but NUL: OpenSSH reads a C string here, so `ssh:` with a NUL behind is a second spelling of `ssh:`. */
function readApplication(reader: WireReader): Result<Uint8Array, SshKeyFault> {
  const application = reader.bytes();
  if (application === undefined) return refuse('NOT_A_KEY', 'the application of the token key is missing');
  if (application.includes(0)) return refuse('NOT_CANONICAL', 'a NUL in the application of the token key');
  return ok(application);
}

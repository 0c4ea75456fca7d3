/** What a public key is once it has been read: one shape per family, told apart by `type`. */
import type { KeyObject } from 'node:crypto';

interface ReadKey {
  /** `type base64`, no comment: the one text of this key. */
  readonly text: string;
  /** The key as it stands in signatures. */
  readonly blob: Uint8Array;
  /** `SHA256:` and 43 characters. */
  readonly fingerprint: string;
}

/** The only family that a host may have. */
export interface Ed25519PublicKey extends ReadKey {
  readonly type: 'ssh-ed25519';
  /** The 32 raw bytes: canonical, of full order. */
  readonly raw32: Uint8Array;
}

export type EcdsaKeyType = 'ecdsa-sha2-nistp256' | 'ecdsa-sha2-nistp384' | 'ecdsa-sha2-nistp521';

export interface EcdsaPublicKey extends ReadKey {
  readonly type: EcdsaKeyType;
  /** 0x04, x, y: on the curve. */
  readonly point: Uint8Array;
  readonly raw32?: never;
}

export interface RsaPublicKey extends ReadKey {
  readonly type: 'ssh-rsa';
  /** Big endian without leading zeros, as long as every signature of the key. */
  readonly modulus: Uint8Array;
  readonly exponent: Uint8Array;
  readonly raw32?: never;
}

/**
 * A key on a FIDO token. `application` is what the token binds it to; without `raw32`, so that it never passes for the
 * plain ed25519 key of the same bytes.
 */
export interface SkEd25519PublicKey extends ReadKey {
  readonly type: 'sk-ssh-ed25519@openssh.com';
  readonly inner32: Uint8Array;
  readonly application: Uint8Array;
  readonly raw32?: never;
}

export interface SkEcdsaPublicKey extends ReadKey {
  readonly type: 'sk-ecdsa-sha2-nistp256@openssh.com';
  readonly point: Uint8Array;
  readonly application: Uint8Array;
  readonly raw32?: never;
}

export type SshPublicKey = Ed25519PublicKey | EcdsaPublicKey | RsaPublicKey | SkEd25519PublicKey | SkEcdsaPublicKey;

/**
 * Why a text or blob is no usable key. NOT_A_KEY. PRIVATE_KEY: the secret half, never quoted. NOT_CANONICAL: another
 * spelling of a key. WEAK_KEY: signatures of it prove nothing. KEY_TYPE_UNSUPPORTED: a kind that is refused by name.
 */
export type SshKeyFault = 'NOT_A_KEY' | 'PRIVATE_KEY' | 'NOT_CANONICAL' | 'WEAK_KEY' | 'KEY_TYPE_UNSUPPORTED';

/** What the family of a key can say of a signature. */
export type SignatureFault = 'NOT_CANONICAL' | 'SIGNATURE_TYPE_UNSUPPORTED' | 'NO_USER_PRESENCE' | 'SIGNATURE';

/** The signature inside an SSHSIG: `rest` is what follows its two strings (flags and counter of a FIDO token). */
export interface InnerSignature {
  readonly type: string;
  readonly signature: Uint8Array;
  readonly rest: Uint8Array;
}

/** One call of `verify` of node:crypto, ready to be made here or on the thread pool. */
export interface SignatureCheck {
  /** null: the algorithm brings its own (ed25519). */
  readonly digest: 'sha256' | 'sha384' | 'sha512' | null;
  readonly key: KeyObject | { readonly key: KeyObject; readonly dsaEncoding: 'ieee-p1363' };
  readonly data: Uint8Array;
  readonly signature: Uint8Array;
}

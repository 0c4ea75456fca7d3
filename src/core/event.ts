/** The nine kinds of event. Source: docs/format.md, kinds. */
export type Kind = 'assert' | 'lesson' | 'decision' | 'question' | 'observe' | 'propose' | 'retract' | 'pin' | 'deny';

/** What a log line says. Defaults are written by absence; field meanings and bounds: docs/format.md, field table. */
export interface Body {
  readonly mesh: string;
  readonly host: string;
  readonly session: string;
  readonly at: string;
  readonly nonce: string;
  readonly kind: Kind;
  readonly subject: string;
  readonly content?: string;
  readonly value?: string;
  readonly polarity?: 'absent';
  readonly hook?: string;
  readonly text?: string;
  readonly home?: string;
  readonly digest?: string;
  readonly basis?: readonly string[];
  readonly supersedes?: readonly string[];
  readonly proposes?: 'assert' | 'lesson';
  readonly names?: readonly string[];
  readonly scope?: string;
  readonly audience?: string;
  readonly confidence?: 'stated' | 'verified';
  readonly lineage?: 'untrusted';
}

/** Human approval of a body, beside it in the line. `key` is the SHA256: fingerprint of the signer's key. */
export interface Auth {
  readonly key: string;
  readonly signer: string;
  readonly sshsig: string;
}

/**
 * What the recommended preset does not look for, or looks for in one exact length only, and what every memory of an agent
 * meets: keys with a fixed prefix, private key blocks. No rule goes by a word such as "password" or "API key": broad
 * patterns refuse ordinary sentences, and a gate that does is switched off. Source: docs/secret-gate.md.
 */
export interface OwnRule {
  /** As the preset calls its rule for the same kind of secret, where it has one. */
  readonly name: string;
  /** Global, with bounded repeats; never crosses a line that holds a NUL. */
  readonly pattern: RegExp;
}

export const ownRules: readonly OwnRule[] = [
  {
    // A block that is cut, encrypted (headers before the base64) or squeezed into one line is a key all the same.
    name: 'privatekey',
    pattern:
      /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:\s|\\[nr]){0,16}(?:[A-Za-z-]{1,40}: [^\n\0]{0,200}\n{1,2}){0,8}[A-Za-z0-9+/=]{16}/g,
  },
  { name: 'privatekey', pattern: /\bPrivate-Lines: \d{1,4}\s{1,4}[A-Za-z0-9+/=]{16}/g },
  { name: 'age-secret-key', pattern: /\bAGE-SECRET-KEY-1[0-9A-Z]{20,80}/g },
  { name: 'aws-access-key-id', pattern: /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g },
  { name: 'github', pattern: /(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{20}|github_pat_[A-Za-z0-9_]{20})/g },
  { name: 'google-api-key', pattern: /\bAIza[0-9A-Za-z_-]{35}/g },
  { name: 'jwt', pattern: /\beyJ[A-Za-z0-9_-]{10,4000}\.eyJ[A-Za-z0-9_-]{10,8000}\.[A-Za-z0-9_-]{10}/g },
  {
    // sk-…, sk-ant-…, sk-proj-…: a run of letters and digits without a dash, so that "sk-learn-2-to-3-notes" is text.
    name: 'sk-token',
    pattern: /(?<![A-Za-z0-9_-])sk-(?:[A-Za-z0-9_]{1,20}-){0,4}(?=[A-Za-z_]{0,60}\d)[A-Za-z0-9_]{20}/g,
  },
];

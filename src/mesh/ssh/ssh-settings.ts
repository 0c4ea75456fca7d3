/**
 * ssh settings of both ends. ssh2's defaults offer zlib before login (59 kB on the wire grew a server by 150 MB), SHA-1
 * and ciphers that Terrapin acts on. Source: docs/ARCHITECTURE.md, transport.
 */
import type { Algorithms } from 'ssh2';

/** The one user name. */
export const sshUser = 'memd';

/** What we call ourselves in the ssh greeting: no version for strangers. */
export const sshIdent = 'memd';

/** Strict key exchange is offered by ssh2 on its own (kex-strict); AES-GCM does not depend on it. */
export const sshAlgorithms: Algorithms = {
  kex: ['curve25519-sha256', 'curve25519-sha256@libssh.org'],
  serverHostKey: ['ssh-ed25519'],
  cipher: ['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com'],
  hmac: ['hmac-sha2-256', 'hmac-sha2-512'],
  compress: ['none'],
};

/** A dead connection is noticed after 15 s × 3. */
export const keepaliveIntervalMs = 15_000;
export const keepaliveMissesMax = 3;

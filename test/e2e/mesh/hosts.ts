/** Hosts for tests of the mesh: keys that come from the name, charter entries, key files for the stock ssh client. */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CharterHost } from '../../../src/core/trust/charter.ts';
import { publicKeyOf, signingKeyFromSeed, type SigningKey } from '../../../src/crypto/ed25519.ts';
import { sha256 } from '../../../src/crypto/hash.ts';
import {
  ed25519PrivatePem,
  ed25519PublicText,
  parseSshPublicKey,
  type SshPublicKey,
} from '../../../src/crypto/ssh-key.ts';

export interface TestHost {
  readonly name: string;
  readonly signKey: SigningKey;
  /** Text of its ssh private key file. */
  readonly sshPem: string;
  readonly sign: SshPublicKey;
  readonly ssh: SshPublicKey;
}

function publicKey(text: string): SshPublicKey {
  const key = parseSshPublicKey(text);
  if (!key.ok) throw new Error(key.detail);
  return key.value;
}

/** The same keys for the same name, always. */
export function testHost(name: string): TestHost {
  const seed = (use: string): Uint8Array => sha256(`memd test ${use} key of ${name}`);
  const text = (use: string): string => ed25519PublicText(publicKeyOf(signingKeyFromSeed(seed(use))));
  return {
    name,
    signKey: signingKeyFromSeed(seed('sign')),
    sshPem: ed25519PrivatePem(seed('ssh'), name),
    sign: publicKey(text('sign')),
    ssh: publicKey(text('ssh')),
  };
}

export function charterEntry(host: TestHost, address = ''): CharterHost {
  return {
    name: host.name,
    sign: host.sign,
    ssh: host.ssh,
    address,
    status: 'active',
    spans: [{ op: '0'.repeat(64), key: host.sign.raw32 as Uint8Array, from: 1, upto: null }],
    keys: [host.sign.raw32 as Uint8Array],
    pins: [],
    end: null,
    fork: null,
    op: '0'.repeat(64),
    by: { signer: 'test', key: host.sign.fingerprint },
  };
}

export function charterHosts(...hosts: TestHost[]): Map<string, CharterHost> {
  return new Map(hosts.map((host) => [host.name, charterEntry(host)]));
}

/** Private key file as OpenSSH wants it. */
export function keyFile(folder: string, host: TestHost): string {
  const file = join(folder, `${host.name}_key`);
  writeFileSync(file, host.sshPem);
  chmodSync(file, 0o600);
  return file;
}

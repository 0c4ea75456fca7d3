/** A charter for measuring: hosts with the corpus keys, one signer whose key is public knowledge. */
import { ed25519PublicText, parseSshPublicKey } from '../../src/crypto/ssh-key.ts';
import { publicKeyOf, signingKeyFromSeed } from '../../src/crypto/ed25519.ts';
import { sha256, sha256Hex } from '../../src/crypto/hash.ts';
import type { Charter, CharterHost, CharterSigner } from '../../src/core/trust/charter.ts';
import { defaultAudiences, defaultClasses } from '../../src/core/trust/build.ts';
import { benchSigner, benchSignerKey, corpusKey } from '../corpus.ts';

/** The charter that a genesis and host-adds would amount to; made directly, since trust ops are not what is measured. */
export function makeBenchMesh(hosts: readonly string[]): { readonly charter: Charter; readonly trust: string } {
  // Named, not drawn: the corpus is the same lines, byte for byte, on every machine.
  const origin = { op: sha256Hex('memd-bench'), by: { signer: 'bench', key: '' } };
  const members = hosts.map((name): [string, CharterHost] => {
    const raw = publicKeyOf(corpusKey(name));
    const sign = keyOf(raw);
    const ssh = keyOf(publicKeyOf(signingKeyFromSeed(sha256(`ssh:${name}`))));
    return [
      name,
      {
        ...origin,
        name,
        sign,
        ssh,
        address: '',
        status: 'active',
        spans: [{ op: origin.op, key: raw, from: 1, upto: null }],
        keys: [raw],
        pins: [],
        end: null,
        fork: null,
      },
    ];
  });
  const signer: CharterSigner = {
    ...origin,
    name: benchSigner,
    key: benchSignerKey().public,
    scopes: ['*', 'charter', 'purge'],
    rank: 0,
    status: 'active',
    revocations: [],
  };
  const classes = Object.entries(defaultClasses).map(([name, fields]) => {
    const { description, revise = null, claims = null } = fields;
    return [name, { ...origin, description, revise, claims }] as const;
  });
  const audiences = Object.entries(defaultAudiences).map(
    ([name, { includes }]) => [name, { ...origin, includes }] as const,
  );
  const charter: Charter = {
    meshId: origin.op,
    name: 'bench',
    hosts: new Map(members),
    signers: new Map([[benchSigner, signer]]),
    classes: new Map(classes),
    audiences: new Map(audiences),
    policy: new Map(),
    delegations: [],
    purges: new Map(),
    conflicts: [],
  };
  return { charter, trust: origin.op };
}

function keyOf(raw: Uint8Array) {
  const key = parseSshPublicKey(ed25519PublicText(raw));
  if (!key.ok) throw new Error(key.detail);
  return key.value;
}

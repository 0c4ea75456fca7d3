/** Manifests of a made-up mesh of alpha, beta and gamma, whose keys come from their names. */
import type { Manifest, ManifestGround } from '../../src/core/manifest.ts';
import type { Charter, CharterHost } from '../../src/core/trust/charter.ts';
import {
  buildViewLine,
  hashesDigest,
  statementMessage,
  type Statement,
  type ViewLineParts,
} from '../../src/core/view-line.ts';
import { encodeBase64 } from '../../src/crypto/base64.ts';
import { publicKeyOf, signEd25519, type SigningKey } from '../../src/crypto/ed25519.ts';
import { sha256Hex } from '../../src/crypto/hash.ts';
import { viewNames } from '../../src/core/views/render.ts';
import { charterEntry, testHost } from '../e2e/mesh/hosts.ts';
import { viewKey, viewMesh } from './view-lines.ts';

export const manifestTrust: string = sha256Hex('trust');

/** What the view file of that name hashes to. */
export function manifestHash(name: string): string {
  return sha256Hex(`content of ${name}`);
}

/** A host of the charter; `keys` name the keys that it had, the last one is that of now. */
export function hostOf(
  name: string,
  {
    status = 'active',
    keys = [name],
  }: { readonly status?: CharterHost['status']; readonly keys?: readonly string[] } = {},
): CharterHost {
  const spans = keys.map((key, index) => ({
    op: manifestTrust,
    key: publicKeyOf(viewKey(key)),
    from: index * 10 + 1,
    upto: index + 1 < keys.length ? (index + 1) * 10 : null,
  }));
  return { ...charterEntry(testHost(name)), status, spans };
}

export function manifestCharter(...hosts: readonly CharterHost[]): Pick<Charter, 'hosts'> {
  return { hosts: new Map(hosts.map((host) => [host.name, host])) };
}

export function manifestGround(
  charter: Pick<Charter, 'hosts'> = manifestCharter(hostOf('alpha'), hostOf('beta'), hostOf('gamma')),
): ManifestGround {
  return { meshId: viewMesh, charter, hash: manifestTrust };
}

export function cosignOf(name: string, statement: Statement): string {
  return encodeBase64(signEd25519(viewKey(name), statementMessage(statement)));
}

/** Manifest of the operator by alpha, outside its journal, with what is given changed before it is signed. */
export function madeManifest({
  line: changes = {},
  cosigners = [],
  key = viewKey('alpha'),
}: {
  readonly line?: Partial<ViewLineParts>;
  readonly cosigners?: readonly string[];
  readonly key?: SigningKey;
}): Manifest {
  const files = new Map(
    viewNames.toSorted((a, b) => (a < b ? -1 : 1)).map((name) => [name, manifestHash(name)] as const),
  );
  const parts: ViewLineParts = {
    at: '2026-07-27T10:00:00.000Z',
    heads: new Map([
      ['alpha', { seq: 3, link: sha256Hex('alpha 3') }],
      ['beta', { seq: 5, link: sha256Hex('beta 5') }],
    ]),
    host: 'alpha',
    mesh: viewMesh,
    n: 0,
    prev: viewMesh,
    root: sha256Hex('root'),
    rules: 1,
    trust: manifestTrust,
    views: new Map([
      ['operator', hashesDigest(files)],
      ['web', sha256Hex('views of web')],
    ]),
    ...changes,
  };
  const line = buildViewLine(parts, (message) => signEd25519(key, message));
  return {
    audience: 'operator',
    files,
    line,
    cosigned: new Map(cosigners.map((name) => [name, cosignOf(name, line)])),
  };
}

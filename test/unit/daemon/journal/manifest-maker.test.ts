/** What a host signs of its views: of the moment, once, and nothing while it must not. */
import { describe, expect, test } from 'vitest';
import { judgeManifest, parseManifest, type Manifest } from '../../../../src/core/manifest.ts';
import { buildViewLine, hashesDigest, type ViewLine, type ViewLineParts } from '../../../../src/core/view-line.ts';
import { signEd25519 } from '../../../../src/crypto/ed25519.ts';
import { sha256Hex } from '../../../../src/crypto/hash.ts';
import { createManifestMaker, type ManifestMaker } from '../../../../src/daemon/journal/manifest-maker.ts';
import type { Fold } from '../../../../src/core/fold/fold.ts';
import { hostOf } from '../../../lib/manifests.ts';
import { viewKey } from '../../../lib/view-lines.ts';
import { viewMesh } from '../../../lib/view-mesh.ts';

const files = new Map([['operator', new Map([['INDEX.md', sha256Hex('an index')]])]]);

/** A mesh whose charter names hosts with the keys of their names. */
function world() {
  const mesh = viewMesh();
  const hosts = new Map(['alpha', 'beta', 'gamma'].map((name) => [name, hostOf(name)]));
  const fold: Fold = Object.assign(mesh.fold, { charter: { ...mesh.fold.charter, hosts } });
  const journals = new Map<string, ViewLine>();
  const state = { maySign: true, key: viewKey('alpha'), minute: 0, seq: 1 };
  const maker: ManifestMaker = createManifestMaker({
    host: 'alpha',
    key: () => state.key,
    newest: (name) => journals.get(name),
    maySign: () => state.maySign,
    now: () => new Date(Date.UTC(2026, 6, 27, 10, (state.minute += 1))),
  });
  const book = {
    logs: () => ['alpha'],
    head: () => ({ oid: '0'.repeat(40), seq: state.seq, link: sha256Hex(`link ${state.seq}`) }),
  };
  const make = (): Manifest | undefined => {
    const text = maker.make(fold, book, files)?.get('operator');
    const parsed = text === undefined ? undefined : parseManifest(text);
    return parsed?.ok === true ? parsed.value : undefined;
  };
  const publish = (host: string, said: ViewLine, changes: Partial<ViewLineParts> = {}): void => {
    const parts: ViewLineParts = {
      ...said,
      host,
      n: 3,
      prev: sha256Hex('before'),
      at: '2026-07-27T11:00:00.000Z',
      ...changes,
    };
    journals.set(
      host,
      buildViewLine(parts, (message) => signEd25519(viewKey(host), message)),
    );
  };
  const ground = { meshId: fold.charter.meshId, charter: fold.charter, hash: fold.trust };
  return { state, maker, make, publish, ground };
}

function must(manifest: Manifest | undefined): Manifest {
  if (manifest === undefined) throw new Error('a manifest');
  return manifest;
}

describe('the manifests of a host', () => {
  test('say what it believes now, and are proved', () => {
    const { make, ground } = world();
    const manifest = must(make());
    expect(judgeManifest(manifest, ground)).toEqual([]);
    expect(manifest.line).toMatchObject({ host: 'alpha', n: 0 });
    expect(manifest.line.views).toEqual(new Map([['operator', hashesDigest(must(manifest).files)]]));
  });

  test('are the same bytes as long as nothing is new, and are signed anew with a new key', () => {
    const { make, state } = world();
    const first = must(make());
    expect(make()).toEqual(first);
    state.key = viewKey('alpha 2');
    const rekeyed = must(make());
    expect(rekeyed.line.sig).not.toBe(first.line.sig);
    state.seq = 2;
    expect(must(make()).line.heads.get('alpha')?.seq).toBe(2);
  });

  test('hold the line of the journal once it says this, and not one of other views or lines', () => {
    const { make, publish, maker, ground } = world();
    const { line } = must(make());
    expect(maker.isNews('alpha')).toBe(false);
    publish('alpha', line, { views: new Map([['operator', sha256Hex('other views')]]) });
    expect(must(make()).line.n).toBe(0);
    publish('alpha', line);
    expect(maker.isNews('alpha')).toBe(true);
    const published = must(make());
    expect(published.line.n).toBe(3);
    expect(judgeManifest(published, ground)).toEqual([]);
    expect(maker.isNews('alpha')).toBe(false);
  });

  test('name the hosts that signed the same, and none that signed something else or is none', () => {
    const { make, publish, maker, ground } = world();
    const { line } = must(make());
    publish('beta', line);
    publish('gamma', line, { root: sha256Hex('another root') });
    publish('mallory', line);
    expect(maker.isNews('beta')).toBe(true);
    expect(maker.isNews('gamma')).toBe(false);
    const manifest = must(make());
    expect([...manifest.cosigned.keys()]).toEqual(['beta']);
    expect(judgeManifest(manifest, ground)).toEqual([]);
    expect(maker.isNews('beta')).toBe(false);
  });

  test('are none while bodies that are purged are in the home', () => {
    const { make, maker, state } = world();
    make();
    state.maySign = false;
    expect(make()).toBeUndefined();
    expect(maker.isNews('alpha')).toBe(false);
    state.maySign = true;
    expect(maker.isNews('alpha')).toBe(true);
    expect(make()).toBeDefined();
  });
});

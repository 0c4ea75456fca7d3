/** The manifest of one audience: what is taken, and what is refused by which code. */
import { describe, expect, test } from 'vitest';
import { manifestBytesMax } from '../../../src/core/limits.ts';
import { judgeFiles, judgeManifest, manifestText, parseManifest, type Manifest } from '../../../src/core/manifest.ts';
import { buildViewLine, parseViewLine, statementMessage } from '../../../src/core/view-line.ts';
import { encodeBase64 } from '../../../src/crypto/base64.ts';
import { signEd25519 } from '../../../src/crypto/ed25519.ts';
import { sha256Hex } from '../../../src/crypto/hash.ts';
import { cosignOf, hostOf, madeManifest, manifestCharter, manifestGround, manifestHash } from '../../lib/manifests.ts';
import { viewKey } from '../../lib/view-lines.ts';

const codes = (manifest: Manifest, ground = manifestGround()): readonly string[] =>
  judgeManifest(manifest, ground).map(({ code }) => code);
const faultOf = (text: string): string => {
  const parsed = parseManifest(text);
  return parsed.ok ? 'accepted' : parsed.code;
};

describe('a manifest', () => {
  test('is read as it was written, and proved by mesh id, charter and files', () => {
    const manifest = madeManifest({ cosigners: ['beta', 'gamma'] });
    const parsed = parseManifest(manifestText(manifest));
    expect(parsed).toEqual({ ok: true, value: manifest });
    expect(codes(manifest)).toEqual([]);
    expect(judgeFiles(manifest, manifest.files)).toEqual([]);
  });

  test('of a line in the journal is taken as one outside of it is', () => {
    expect(codes(madeManifest({ line: { n: 7, prev: sha256Hex('the line before') } }))).toEqual([]);
  });

  test('in another form is refused: members, spelling, names that leave the folder, size', () => {
    const text = manifestText(madeManifest({}));
    const respelled = (change: (object: Record<string, unknown>) => void): string => {
      const object = JSON.parse(text) as Record<string, unknown>;
      change(object);
      return `${JSON.stringify(object)}\n`;
    };
    const changes: readonly ((object: Record<string, unknown>) => void)[] = [
      (object) => (object['z'] = 1),
      (object) => delete object['cosigned'],
      (object) => (object['files'] = { '../INDEX.md': sha256Hex('x') }),
      (object) => (object['files'] = { '.written.json': sha256Hex('x') }),
      (object) => (object['files'] = { 'INDEX.md': 'x' }),
      (object) => (object['cosigned'] = { beta: 'AAAA' }),
      (object) => (object['line'] = 'x'),
      (object) => (object['audience'] = 'Operator'),
      (object) => (object['v'] = 0),
      (object) => Object.assign(object['line'] as object, { n: -1 }),
    ];
    for (const change of changes) expect(faultOf(respelled(change))).toBe('MANIFEST_FORM');
    expect(faultOf(text.trimEnd())).toBe('MANIFEST_FORM');
    expect(faultOf(` ${text}`)).toBe('MANIFEST_FORM');
    expect(faultOf('x'.repeat(manifestBytesMax + 1))).toBe('MANIFEST_FORM');
    expect(faultOf('')).toBe('MANIFEST_FORM');
    expect(faultOf('null\n')).toBe('MANIFEST_FORM');
    expect(faultOf(respelled((object) => (object['v'] = 2)))).toBe('MANIFEST_VERSION');
    expect(faultOf(respelled((object) => Object.assign(object['line'] as object, { v: 2 })))).toBe('MANIFEST_VERSION');
  });

  test('of another mesh is refused before anything else', () => {
    const other = sha256Hex('another mesh');
    expect(codes(madeManifest({ line: { mesh: other, prev: other } }))).toEqual(['MANIFEST_MESH']);
  });

  test('by nobody of the mesh, or by a host that was revoked or forked, is refused', () => {
    expect(codes(madeManifest({ line: { host: 'mallory' } }))).toEqual(['MANIFEST_HOST']);
    for (const status of ['revoked', 'forked'] as const) {
      const charter = manifestCharter(hostOf('alpha', { status }), hostOf('beta'));
      expect(codes(madeManifest({}), manifestGround(charter))).toEqual(['MANIFEST_HOST']);
    }
  });

  test('by another key, or by one that the host has replaced, is refused, and each is told', () => {
    const forged = judgeManifest(madeManifest({ key: viewKey('mallory') }), manifestGround());
    expect(forged).toEqual([{ code: 'MANIFEST_SIGNATURE', detail: 'its line is not signed by alpha' }]);
    const rekeyed = manifestCharter(hostOf('alpha', { keys: ['alpha', 'alpha 2'] }));
    const former = judgeManifest(madeManifest({}), manifestGround(rekeyed));
    expect(former).toMatchObject([{ code: 'MANIFEST_SIGNATURE', detail: expect.stringContaining('replaced') }]);
    expect(codes(madeManifest({ key: viewKey('alpha 2') }), manifestGround(rekeyed))).toEqual([]);
  });

  test('whose co-signature is of something else is refused, though its line is signed', () => {
    const manifest = madeManifest({});
    const { line } = manifest;
    const sign = (message: string): Uint8Array => signEd25519(viewKey('alpha'), message);
    const other = { ...line, root: sha256Hex('another root') };
    const mixed = buildViewLine(line, (message) =>
      sign(message.startsWith('memd-state') ? statementMessage(other) : message),
    );
    expect(codes({ ...manifest, line: mixed })).toEqual(['MANIFEST_SIGNATURE']);
  });

  test('under another trust set than is here is refused', () => {
    expect(codes(madeManifest({ line: { trust: sha256Hex('before the purge') } }))).toEqual(['MANIFEST_TRUST']);
  });

  test('of other files than were signed is refused, also under the name of another audience', () => {
    const manifest = madeManifest({});
    const files = new Map([...manifest.files, ['INDEX.md', sha256Hex('another index')]] as const);
    expect(codes({ ...manifest, files })).toEqual(['MANIFEST_VIEWS']);
    expect(codes({ ...manifest, audience: 'web' })).toEqual(['MANIFEST_VIEWS']);
    expect(codes({ ...manifest, files: new Map() })).toEqual(['MANIFEST_VIEWS']);
  });

  test('names no witness who did not sign: strangers, the revoked, other statements, itself', () => {
    const manifest = madeManifest({});
    const { line } = manifest;
    const named = (name: string, cosign: string, ground = manifestGround()): readonly string[] =>
      codes({ ...manifest, cosigned: new Map([[name, cosign]]) }, ground);
    expect(named('beta', cosignOf('beta', line))).toEqual([]);
    expect(named('mallory', cosignOf('mallory', line))).toEqual(['MANIFEST_COSIGN']);
    expect(named('beta', cosignOf('gamma', line))).toEqual(['MANIFEST_COSIGN']);
    expect(named('beta', cosignOf('beta', { ...line, root: sha256Hex('x') }))).toEqual(['MANIFEST_COSIGN']);
    expect(named('alpha', line.cosign)).toEqual(['MANIFEST_COSIGN']);
    const revoked = manifestGround(manifestCharter(hostOf('alpha'), hostOf('beta', { status: 'revoked' })));
    expect(named('beta', cosignOf('beta', line), revoked)).toEqual(['MANIFEST_COSIGN']);
    const wholeLine = encodeBase64(signEd25519(viewKey('beta'), line.text));
    expect(named('beta', wholeLine)).toEqual(['MANIFEST_COSIGN']);
  });

  test('names the file that is another one, missing, or not signed at all', () => {
    const manifest = madeManifest({});
    const judged = judgeFiles(
      manifest,
      new Map<string, string | null>([
        ['INDEX.md', sha256Hex('edited')],
        ['STALE.md', null],
        ['NOTES.md', sha256Hex('x')],
        ['index.json', manifestHash('index.json')],
      ]),
    );
    expect(judged.map(({ code, detail }) => `${code} ${detail.split(' ')[0]}`)).toEqual([
      'MANIFEST_FILE INDEX.md',
      'MANIFEST_FILE STALE.md',
      'MANIFEST_FILE NOTES.md',
    ]);
  });
});

describe('a line outside the journal', () => {
  test('is taken by no journal, whoever carries it there', () => {
    const { line } = madeManifest({});
    expect(line.n).toBe(0);
    expect(parseViewLine(line.text)).toMatchObject({ ok: false, code: 'VIEW_FIELD' });
    expect(parseViewLine(line.text, { outside: true })).toEqual({ ok: true, value: line });
    const odd = madeManifest({ line: { prev: sha256Hex('somewhere') } }).line;
    expect(parseViewLine(odd.text, { outside: true })).toMatchObject({ ok: false, code: 'VIEW_FIELD' });
  });
});

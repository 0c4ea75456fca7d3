/**
 * The manifest of one audience: what its view files are, as of which heads, signed by the host that wrote them, with the
 * co-signatures of hosts that folded the same to the same. Whoever has the mesh id, the trust set and the files checks it
 * without a daemon. Never an input of the fold. Source: docs/format.md, section 9.
 */
import { decodeBase64 } from '../crypto/base64.ts';
import { canonicalJson, isJsonObject, parseCanonical, type JsonObject, type JsonValue } from '../crypto/canonical.ts';
import { verifyEd25519 } from '../crypto/ed25519.ts';
import { ok, refuse, type Result } from '../crypto/result.ts';
import { fitsUtf8 } from '../crypto/text.ts';
import { isId, isSlug } from './id.ts';
import { jsonDepthMax, manifestBytesMax, manifestFilesMax, viewHostsMax } from './limits.ts';
import type { Charter, CharterHost } from './trust/charter.ts';
import { integer, members, namedEntries, textThat, type Check } from './trust/shape.ts';
import { hashesDigest, parseViewLine, verifyStatement, viewLineMessage, type ViewLine } from './view-line.ts';

/** The version of manifests that this program writes and reads. */
export const manifestVersion = 1;

/** Name of the file beside the views. */
export const manifestName = 'manifest.json';

export interface Manifest {
  readonly audience: string;
  /** By name: sha256 (64 hex) of each view file. */
  readonly files: ReadonlyMap<string, string>;
  /** What the host signed: a line of its journal, or one outside of it (`n` 0). */
  readonly line: ViewLine;
  /** By name of another host: base64 of its signature over the statement of the line. */
  readonly cosigned: ReadonlyMap<string, string>;
}

/**
 * Why a manifest is not to be gone by. FORM: no manifest, or respelled. VERSION: of a later version. MESH: of another mesh.
 * HOST: no active host of the charter signed it. SIGNATURE: not by that host's key, or changed since. TRUST: under another
 * trust set than is here. OLDER: what was seen of that host before is newer. ROOT: another root of the same input. VIEWS:
 * the line does not sign these hashes. FILE: a view file is another one. COSIGN: a co-signature that does not verify.
 */
export type ManifestFault =
  | 'MANIFEST_FORM'
  | 'MANIFEST_VERSION'
  | 'MANIFEST_MESH'
  | 'MANIFEST_HOST'
  | 'MANIFEST_SIGNATURE'
  | 'MANIFEST_TRUST'
  | 'MANIFEST_OLDER'
  | 'MANIFEST_ROOT'
  | 'MANIFEST_VIEWS'
  | 'MANIFEST_FILE'
  | 'MANIFEST_COSIGN';

export interface ManifestProblem {
  readonly code: ManifestFault;
  /** Names the thing and the reason. */
  readonly detail: string;
}

/** Bytes of the file: canonical, and a newline. Pure. */
export function manifestText({ audience, cosigned, files, line }: Manifest): string {
  return `${canonicalJson({
    audience,
    cosigned: Object.fromEntries(cosigned),
    files: Object.fromEntries(files),
    line: JSON.parse(line.text) as JsonObject,
    v: manifestVersion,
  })}\n`;
}

/** Reads one, strictly: one byte form for each. Nothing in it is proved yet. Pure. */
export function parseManifest(text: string): Result<Manifest, 'MANIFEST_FORM' | 'MANIFEST_VERSION'> {
  if (!fitsUtf8(text, manifestBytesMax)) return refuse('MANIFEST_FORM', `it is longer than ${manifestBytesMax} bytes`);
  if (!text.endsWith('\n')) return refuse('MANIFEST_FORM', 'it does not end with a newline');
  const parsed = parseCanonical(text.slice(0, -1), { depthMax: jsonDepthMax });
  if (!parsed.ok) return refuse('MANIFEST_FORM', `it is not canonical JSON: ${parsed.detail}`);
  const version = isJsonObject(parsed.value) ? parsed.value['v'] : undefined;
  if (typeof version === 'number' && version > manifestVersion)
    return refuse('MANIFEST_VERSION', `it is a manifest of version ${version}`);
  const fault = manifestCheck(parsed.value);
  if (fault !== undefined) return refuse('MANIFEST_FORM', fault);
  const raw = parsed.value as unknown as RawManifest;
  const line = parseViewLine(canonicalJson(raw.line), { outside: true });
  if (!line.ok && line.code === 'VIEW_VERSION') return refuse('MANIFEST_VERSION', `it holds ${line.detail}`);
  if (!line.ok) return refuse('MANIFEST_FORM', `line: ${line.detail}`);
  const [files, cosigned] = [new Map(Object.entries(raw.files)), new Map(Object.entries(raw.cosigned))];
  return ok({ audience: raw.audience, files, line: line.value, cosigned });
}

/** What a manifest is held against. */
export interface ManifestGround {
  /** The mesh id that was pinned. */
  readonly meshId: string;
  /** The charter of the trust set that is here, and its hash. */
  readonly charter: Pick<Charter, 'hosts'>;
  readonly hash: string;
}

/** Everything that is wrong with it but for the files themselves; empty when it is proved. Pure. */
export function judgeManifest(manifest: Manifest, { meshId, charter, hash }: ManifestGround): ManifestProblem[] {
  const { line, audience, files } = manifest;
  const { host } = line;
  // Under another mesh or trust set nobody here knows whose keys count: what else is wrong would be a guess.
  if (line.mesh !== meshId)
    return [manifestProblem('MANIFEST_MESH', `it is of mesh ${short(line.mesh)}, and ${short(meshId)} is pinned here`)];
  const signed = signedProblem(line, charter.hosts.get(host));
  if (signed !== undefined) return [signed];
  if (line.trust !== hash)
    return [
      manifestProblem(
        'MANIFEST_TRUST',
        `${host} signed it under trust set ${short(line.trust)}; here it is ${short(hash)}`,
      ),
    ];
  const said = line.views.get(audience);
  const isSaid = said !== undefined && said === hashesDigest(files);
  const views = `${host} did not sign these hashes of view files for audience ${audience}`;
  return [...(isSaid ? [] : [manifestProblem('MANIFEST_VIEWS', views)]), ...cosignProblems(manifest, charter.hosts)];
}

/**
 * View files held against the manifest: `found` gives the sha256 of those that are looked at, null for one that is missing.
 * Pure.
 */
export function judgeFiles(
  { files, line, audience }: Manifest,
  found: ReadonlyMap<string, string | null>,
): ManifestProblem[] {
  return [...found].flatMap(([name, hash]) => {
    if (hash !== null && files.get(name) === hash) return [];
    if (!files.has(name))
      return [manifestProblem('MANIFEST_FILE', `${name} is not in the manifest of audience ${audience}`)];
    if (hash === null) return [manifestProblem('MANIFEST_FILE', `${name} is not there`)];
    return [
      manifestProblem(
        'MANIFEST_FILE',
        `${name} is not the file that ${line.host} signed: it was changed since, or replaced`,
      ),
    ];
  });
}

/** True when the current key of an active host signed this statement. Pure. */
export function isCosignedBy(host: CharterHost | undefined, line: ViewLine, cosign: string): boolean {
  const key = host?.status === 'active' ? keyOf(host) : undefined;
  return key !== undefined && verifyStatement(line, cosign, key);
}

function signedProblem(line: ViewLine, host: CharterHost | undefined): ManifestProblem | undefined {
  const { host: name } = line;
  if (host === undefined) return manifestProblem('MANIFEST_HOST', `it is by ${name}, which is no host of this mesh`);
  if (host.status !== 'active') return manifestProblem('MANIFEST_HOST', `it is by ${name}, which is ${host.status}`);
  const key = keyOf(host);
  const signature = decodeBase64(line.sig);
  const isBy = (one: Uint8Array): boolean =>
    signature !== undefined &&
    verifyEd25519(one, viewLineMessage(line), signature) &&
    verifyStatement(line, line.cosign, one);
  if (key !== undefined && isBy(key)) return undefined;
  const isFormer = host.spans.some((span) => span.key !== key && isBy(span.key));
  const why = isFormer
    ? `it is signed with a key that ${name} has replaced since`
    : `its line is not signed by ${name}`;
  return manifestProblem('MANIFEST_SIGNATURE', why);
}

function cosignProblems({ line, cosigned }: Manifest, hosts: Charter['hosts']): ManifestProblem[] {
  return [...cosigned].flatMap(([name, cosign]) => {
    const host = hosts.get(name);
    if (name !== line.host && isCosignedBy(host, line, cosign)) return [];
    if (name === line.host) return [manifestProblem('MANIFEST_COSIGN', `${name} is named as its own witness`)];
    if (host === undefined)
      return [manifestProblem('MANIFEST_COSIGN', `it names ${name}, which is no host of this mesh`)];
    const why = host.status === 'active' ? 'has not signed this statement' : `is ${host.status}`;
    return [manifestProblem('MANIFEST_COSIGN', `it names ${name}, which ${why}`)];
  });
}

/** The key of now: what an earlier one signs counts no more. */
function keyOf({ spans }: CharterHost): Uint8Array | undefined {
  return spans.at(-1)?.key;
}

/** One thing that is wrong. Pure. */
export function manifestProblem(code: ManifestFault, detail: string): ManifestProblem {
  return { code, detail };
}

function short(hash: string): string {
  return hash.slice(0, 12);
}

interface RawManifest {
  readonly audience: string;
  readonly cosigned: Readonly<Record<string, string>>;
  readonly files: Readonly<Record<string, string>>;
  readonly line: JsonObject;
}

const slug: Check = textThat(isSlug, 'a slug');
/** Plain names only: whoever looks for the files never leaves the folder. */
const fileName: Check = textThat((text) => /^[A-Za-z][A-Za-z0-9._-]{0,63}$/.test(text), 'a plain file name');

const manifestCheck: Check = members({
  audience: slug,
  cosigned: namedEntries(
    slug,
    textThat((text) => decodeBase64(text)?.length === 64, 'base64 of 64 bytes'),
    viewHostsMax,
  ),
  files: namedEntries(fileName, textThat(isId, '64 hex digits'), manifestFilesMax),
  line: (value: JsonValue) => (isJsonObject(value) ? undefined : 'must be an object'),
  v: integer(1),
});

/**
 * verify --manifest: is a view what a host of the mesh signed? Answered from the file, the files beside it, the pinned mesh
 * id and the trust set; without memd, lock and network.
 */
import path from 'node:path';
import { judgeFloor, raiseFloor, type ManifestFloor, type TrustNow } from '../../core/manifest-floor.ts';
import {
  judgeFiles,
  judgeManifest,
  manifestName,
  manifestProblem,
  parseManifest,
  type Manifest,
  type ManifestFault,
  type ManifestProblem,
} from '../../core/manifest.ts';
import { decodeUtf8 } from '../../crypto/text.ts';
import { hashFiles, readManifestFile } from '../../store/manifest-files.ts';

/** What a manifest is held against. */
export interface ManifestTrust extends TrustNow {
  /** The mesh id that was pinned. */
  readonly meshId: string;
  /** The host that looks; undefined where there is no home. */
  readonly host?: string;
  /** True when another trust hash names a set that this one has grown from; undefined: that cannot be told here. */
  readonly isEarlier?: (hash: string) => Promise<boolean>;
}

export interface ManifestReport {
  readonly ok: boolean;
  /** Root that the host signed; null as long as nothing in the file can be believed. The same for all that follow. */
  readonly root: string | null;
  readonly host: string | null;
  /** Other hosts that signed the same root of the same heads. */
  readonly cosigned: readonly string[];
  /** Since the host signed it, by its clock and this one. */
  readonly ageSeconds: number | null;
  readonly problems: readonly { readonly code: ManifestFault; readonly message: string; readonly hint: string }[];
  readonly audience: string | null;
  readonly at: string | null;
  readonly heads: Readonly<Record<string, { readonly seq: number; readonly link: string }>>;
  /** View files that are as they were signed. */
  readonly files: readonly string[];
}

/** How often files are looked at again while memd may be replacing them, and how long it is given in between. */
const tries = 5;
const pauseMs = 100;

interface Look {
  readonly manifest: Manifest;
  readonly found: ReadonlyMap<string, string | null>;
  readonly problems: readonly ManifestProblem[];
}

/**
 * Checks the manifest in `file` and the view files beside it. `now`: milliseconds since 1970. `floor` undefined: nothing was
 * seen before. @returns the report, and what has been seen now, if it was accepted.
 */
export async function verifyManifest(
  file: string,
  {
    trust,
    floor,
    now,
  }: { readonly trust: ManifestTrust; readonly floor: ManifestFloor | undefined; readonly now: number },
): Promise<{ readonly report: ManifestReport; readonly floor: ManifestFloor | undefined }> {
  const look = await lookUntilStill(file, trust);
  if (!('manifest' in look)) return { report: unproved(look, file), floor: undefined };
  const { manifest, found } = look;
  const { line, audience, cosigned } = manifest;
  const problems = look.problems.length > 0 ? look.problems : judgeFloor(line, floor, trust);
  const shown = await Promise.all(problems.map((problem) => withHint(problem, { file, line, trust })));
  const has = (...codes: readonly ManifestFault[]): boolean => problems.some(({ code }) => codes.includes(code));
  // With one of these nobody of the mesh is known to have said any of it.
  const isProved = !has('MANIFEST_MESH', 'MANIFEST_HOST', 'MANIFEST_SIGNATURE');
  const report: ManifestReport = {
    ok: problems.length === 0,
    root: isProved ? line.root : null,
    host: isProved ? line.host : null,
    cosigned: isProved && !has('MANIFEST_COSIGN', 'MANIFEST_TRUST') ? [...cosigned.keys()] : [],
    ageSeconds: isProved ? Math.round((now - Date.parse(line.at)) / 1_000) : null,
    problems: shown,
    audience: isProved && !has('MANIFEST_VIEWS') ? audience : null,
    at: isProved ? line.at : null,
    heads: isProved ? Object.fromEntries(line.heads) : {},
    files: isProved ? [...found].flatMap(([name, hash]) => (manifest.files.get(name) === hash ? [name] : [])) : [],
  };
  return { report, floor: report.ok ? raiseFloor(floor, line, trust) : undefined };
}

/** memd renames files and manifest in one go, and a reader may come in between: what is wrong must be wrong twice. */
async function lookUntilStill(file: string, trust: ManifestTrust): Promise<Look | ManifestProblem> {
  for (let left = tries; ; left -= 1) {
    const look = lookOnce(file, trust);
    const isFine = 'manifest' in look && look.problems.length === 0;
    const mayHeal = 'manifest' in look && look.problems.every(({ code }) => code === 'MANIFEST_FILE');
    if (isFine || !mayHeal || left === 1) return look;
    await new Promise((resume) => {
      setTimeout(resume, pauseMs);
    });
  }
}

function lookOnce(file: string, trust: ManifestTrust): Look | ManifestProblem {
  const bytes = readManifestFile(file);
  if (bytes === undefined) return form('it is not there');
  if (bytes === null) return form('it is not a plain file');
  const text = decodeUtf8(bytes);
  if (text === undefined) return form('it is not UTF-8 text');
  const parsed = parseManifest(text);
  if (!parsed.ok) return manifestProblem(parsed.code, parsed.detail);
  const manifest = parsed.value;
  const problems = judgeManifest(manifest, trust);
  if (problems.length > 0) return { manifest, problems, found: new Map() };
  const hashes = [...hashFiles(path.dirname(file), manifest.files.keys())];
  const unsafe = hashes.flatMap(([name, hash]) => (hash === null ? [notPlain(name)] : []));
  const found = new Map(hashes.flatMap(([name, hash]) => (hash === null ? [] : [[name, hash ?? null] as const])));
  return { manifest, found, problems: [...unsafe, ...judgeFiles(manifest, found)] };
}

function form(detail: string): ManifestProblem {
  return manifestProblem('MANIFEST_FORM', detail);
}

function notPlain(name: string): ManifestProblem {
  return manifestProblem('MANIFEST_FILE', `${name} is no plain file, or too long to be a view`);
}

function unproved({ code, detail }: ManifestProblem, file: string): ManifestReport {
  const problem = { code, message: `${file}: ${detail}`, hint: hints[code] };
  const nothing = { root: null, host: null, ageSeconds: null, audience: null, at: null };
  return { ok: false, ...nothing, cosigned: [], heads: {}, files: [], problems: [problem] };
}

async function withHint(
  { code, detail }: ManifestProblem,
  { file, line, trust }: { readonly file: string; readonly line: Manifest['line']; readonly trust: ManifestTrust },
): Promise<ManifestReport['problems'][number]> {
  const message = `${file}: ${detail}`;
  if (code !== 'MANIFEST_TRUST') return { code, message, hint: hints[code] };
  const isEarlier = await trust.isEarlier?.(line.trust);
  if (isEarlier === true)
    return {
      code,
      message: `${message}, which has grown since`,
      hint:
        line.host === trust.host
          ? 'memctl index writes the views of this host again; a copy of before stays refused'
          : `memctl fetch on ${line.host}, then again: ${line.host} has not heard of all of it`,
    };
  return { code, message, hint: hints[code] };
}

const hints: Readonly<Record<ManifestFault, string>> = {
  MANIFEST_FORM: `name the ${manifestName} in a folder of views; memctl index writes views and manifest again`,
  MANIFEST_VERSION: 'update memctl on this machine',
  MANIFEST_MESH:
    'memctl charter says which mesh is pinned here; --mesh ID with --trust FILE checks that of another one',
  MANIFEST_HOST: 'do not go by it; memctl host list says who is in the mesh, memctl fetch brings what is new',
  MANIFEST_SIGNATURE: 'do not go by it; memctl index writes the views of this host again',
  MANIFEST_TRUST: 'memctl fetch brings the trust ops that are missing here, then again',
  MANIFEST_OLDER:
    'do not go by it: it is an old copy, or its host was rewound; memctl index shows what is believed now',
  MANIFEST_ROOT: 'memctl verify --deep on that host; memctl status says whether hosts diverged',
  MANIFEST_VIEWS: 'do not go by it; memctl index writes the views of this host again',
  MANIFEST_FILE: 'do not go by it; memctl index writes the views of this host again and keeps an edit beside',
  MANIFEST_COSIGN: 'do not go by it; memctl index writes the views of this host again',
};

/**
 * An export as it is read back. Nothing in it is believed: ops and lines prove themselves, and the manifest only says what
 * was there once, so that what was cut off or changed since is told.
 */
import fs from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { trustFilesMax, trustOpBytesMax, trustOpsMax } from '../../core/limits.ts';
import { parseTrustOp, type TrustOp } from '../../core/trust/op.ts';
import { decodeUtf8 } from '../../crypto/text.ts';
import { isOperatingError, OperatingError, printable, systemCode } from '../../store/errors.ts';
import { hashPlainFile, readLineFile } from '../../store/line-file.ts';
import { readPlainFile } from '../../store/safe-folder.ts';

/** What a manifest is told by. */
export const exportKind = 'memd-export';
export const manifestName = 'manifest.json';
const trustName = 'trust.jsonl';
/** Logs that are looked at: a mesh has no more ops than this, and a host needs one. */
const logsMax = trustOpsMax;
/** Bytes of a manifest: a line for each file. */
const manifestBytesMax = 1_048_576;

/** Something of a backup that was not taken, or is not as it was exported: where, and why. */
export interface BackupRemark {
  readonly what: string;
  readonly why: string;
}

export interface Backup {
  readonly folder: string;
  /** Mesh id that the manifest names; undefined where it cannot be read. */
  readonly mesh: string | undefined;
  /** Host whose log is in a file of that name. */
  readonly logs: readonly string[];
  /** What is missing or not as it was exported. */
  readonly remarks: readonly BackupRemark[];
}

const fileSchema = z.looseObject({ bytes: z.number(), lines: z.number(), sha256: z.string() });
const manifestSchema = z.looseObject({
  v: z.literal(1),
  kind: z.literal(exportKind),
  mesh: z.string().regex(/^[0-9a-f]{64}$/),
  files: z.record(z.string().max(200), fileSchema),
  problems: z.array(z.string()).optional(),
});
type Manifest = z.infer<typeof manifestSchema>;

/** True for a folder that is, or was, an export. */
export function isBackup(folder: string): boolean {
  const manifest = fs.statSync(path.join(folder, manifestName), { throwIfNoEntry: false });
  const trust = fs.statSync(path.join(folder, trustName), { throwIfNoEntry: false });
  return trust?.isFile() === true && (manifest !== undefined || fs.existsSync(path.join(folder, 'logs')));
}

/** Looks at an export, and compares its files with the manifest. Errors: `IMPORT_UNREADABLE`. */
export async function openBackup(folder: string): Promise<Backup> {
  const manifest = readManifest(folder);
  const { logs, odd } = listLogs(folder);
  if (typeof manifest === 'string')
    return { folder, mesh: undefined, logs, remarks: [...odd, { what: manifestName, why: manifest }] };
  const remarks = [...odd, ...(manifest.problems ?? []).map((why) => ({ what: 'when it was exported', why }))];
  const there = new Set([trustName, ...logs.map(logName)]);
  for (const [name, said] of Object.entries(manifest.files)) {
    if (!there.has(name)) remarks.push({ what: name, why: 'the manifest names it, and it is not there' });
    else remarks.push(...(await changeOf(folder, name, said.sha256)));
  }
  for (const name of there)
    if (!Object.hasOwn(manifest.files, name)) remarks.push({ what: name, why: 'the manifest does not name it' });
  return { folder, mesh: manifest.mesh, logs, remarks };
}

async function changeOf(folder: string, name: string, sha256: string): Promise<readonly BackupRemark[]> {
  try {
    const now = await hashPlainFile(path.join(folder, name));
    if (now.sha256 === sha256) return [];
  } catch (error) {
    // Whoever reads its lines says why it cannot be read.
    if (isOperatingError(error, 'IMPORT_UNREADABLE')) return [];
    throw error;
  }
  return [{ what: name, why: 'it is not as it was exported; what verifies is taken' }];
}

function logName(host: string): string {
  return `logs/${host}.jsonl`;
}

/** The lines of a log of it. */
export function backupLines({ folder }: Backup, host: string, bytesMax: number): Iterable<string | Uint8Array> {
  return readLineFile(path.join(folder, logName(host)), bytesMax);
}

/** The manifest, or why it cannot be used. */
function readManifest(folder: string): Manifest | string {
  const file = path.join(folder, manifestName);
  const status = fs.lstatSync(file, { throwIfNoEntry: false });
  if (status === undefined) return 'it is missing: what was there once is not known';
  if (status.size > manifestBytesMax) return 'it is too large';
  try {
    const parsed = manifestSchema.safeParse(JSON.parse(readPlainFile(file)?.toString('utf8') ?? ''));
    return parsed.success ? parsed.data : 'it is not the manifest of an export';
  } catch (error) {
    return error instanceof SyntaxError ? 'it is no JSON' : `it cannot be read: ${systemCode(error)}`;
  }
}

function listLogs(folder: string): { readonly logs: readonly string[]; readonly odd: readonly BackupRemark[] } {
  let names: string[];
  try {
    names = fs.readdirSync(path.join(folder, 'logs')).toSorted((a, b) => (a < b ? -1 : 1));
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return { logs: [], odd: [{ what: 'logs', why: 'the folder is missing' }] };
    throw new OperatingError('IMPORT_UNREADABLE', `cannot list ${folder}/logs: ${systemCode(error)}`, { cause: error });
  }
  const slugs = names.map((name) => /^([a-z][a-z0-9-]{0,30})\.jsonl$/.exec(name)?.[1]);
  const logs = slugs.filter((slug) => slug !== undefined).slice(0, logsMax);
  const odd = names.filter((_, at) => slugs[at] === undefined).map((name) => `logs/${printable(name, 100)}`);
  const more = slugs.length - odd.length - logs.length;
  return {
    logs,
    odd: [
      ...odd.slice(0, 10).map((what) => ({ what, why: 'no file of an export has such a name' })),
      ...(more > 0 ? [{ what: 'logs', why: `${more} more logs than a mesh can have` }] : []),
    ],
  };
}

/** The trust ops of it, as far as they are ops; whether they count is for the trust set to say. */
export function backupOps({ folder }: Pick<Backup, 'folder'>): {
  readonly ops: readonly TrustOp[];
  readonly remarks: readonly BackupRemark[];
} {
  const ops: TrustOp[] = [];
  const remarks: BackupRemark[] = [];
  let at = 0;
  for (const line of readLineFile(path.join(folder, trustName), trustOpBytesMax)) {
    at += 1;
    if (at > trustFilesMax)
      return { ops, remarks: [...remarks, { what: trustName, why: 'more ops than a mesh can have' }] };
    const text = typeof line === 'string' ? line : decodeUtf8(line);
    const parsed = text === undefined ? undefined : parseTrustOp(text);
    if (parsed?.ok === true) ops.push(parsed.value);
    else remarks.push({ what: `${trustName} line ${at}`, why: printable(parsed?.detail ?? 'it is not UTF-8') });
  }
  return { ops, remarks };
}

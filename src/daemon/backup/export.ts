/**
 * export: a backup that needs no git and no memd to be read. One JSONL file per log with its exact lines, the trust set,
 * and a manifest that says what was exported and what every file hashes to.
 */
import fs from 'node:fs';
import path from 'node:path';
import { readState } from '../../core/fold/fold.ts';
import { rulesVersion } from '../../core/fold/state.ts';
import { keptOps } from '../../core/trust/set.ts';
import { sha256Hex } from '../../crypto/hash.ts';
import { makeDirectories, realDisk, syncDirectories } from '../../store/disk.ts';
import { diskError, systemCode } from '../../store/errors.ts';
import { isAlive } from '../../store/live-process.ts';
import type { ExportedJson } from '../api/api-types.ts';
import type { Identity } from '../identity.ts';
import { Refusal } from '../refusal.ts';
import { headsOf, type Snapshot, type SnapshotLog } from '../beliefs/snapshot.ts';
import { version } from '../version.ts';

type OwnSnapshot = Snapshot & { readonly identity: Identity };

interface ExportedFile {
  readonly bytes: number;
  readonly lines: number;
  readonly sha256: string;
}

export interface ExportOptions {
  /** Absolute path of a folder that does not exist yet, or is empty. */
  readonly folder: string;
  /** ISO time, for people. */
  readonly at: string;
}

/** Refuses FOLDER_IN_USE unless the folder can become an export. */
export function requireFreeFolder(folder: string): void {
  const why = whyInUse(folder);
  if (why === undefined) return;
  throw new Refusal({
    code: 'FOLDER_IN_USE',
    message: `${folder} ${why}`,
    hint: 'name a folder that does not exist yet; an export never mixes with another',
    exit: 2,
  });
}

function whyInUse(folder: string): string | undefined {
  try {
    return fs.readdirSync(folder).length > 0 ? 'is not empty' : undefined;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    if (systemCode(error) === 'ENOTDIR') return 'is not a folder';
    throw diskError(error, 'read', folder);
  }
}

/**
 * Writes the export beside its place and moves it there when it is whole and durable: a folder of that name is never half
 * an export. Errors: FOLDER_IN_USE, `DISK_FAILED`, `DISK_FULL`.
 */
export async function writeExport(snapshot: OwnSnapshot, { folder, at }: ExportOptions): Promise<ExportedJson> {
  requireFreeFolder(folder);
  const temporary = `${folder}.tmp-${process.pid}`;
  try {
    removeTorn(folder);
    const touched = new Set<string>();
    // mkdir of Node with `recursive` never ends where the system says of a new name in a folder that it is not there: /proc.
    makeDirectories(realDisk, { root: path.parse(folder).root, directory: path.join(temporary, 'logs'), touched });
    const manifest = await writeFiles(snapshot, temporary, at);
    await syncDirectories(realDisk, [path.join(temporary, 'logs'), ...touched]);
    fs.renameSync(temporary, folder);
    await syncDirectories(realDisk, [path.dirname(folder)]);
    const { mesh, root, heads, files, problems } = manifest;
    return { dir: folder, mesh, root, heads, files: Object.keys(files).length + 1, problems };
  } catch (error) {
    fs.rmSync(temporary, { recursive: true, force: true });
    throw error instanceof Refusal ? error : diskError(error, 'write', folder);
  }
}

/** What exports to this place left that were killed. One that is at work is left alone. */
function removeTorn(folder: string): void {
  const parent = path.dirname(folder);
  const prefix = `${path.basename(folder)}.tmp-`;
  const torn = fs.existsSync(parent) ? fs.readdirSync(parent).filter((name) => name.startsWith(prefix)) : [];
  for (const name of torn) {
    const pid = Number(name.slice(prefix.length));
    if (!Number.isSafeInteger(pid) || pid <= 0 || (pid !== process.pid && isAlive(pid))) continue;
    fs.rmSync(path.join(parent, name), { recursive: true, force: true });
  }
}

async function writeFiles(snapshot: OwnSnapshot, folder: string, at: string) {
  const files: Record<string, ExportedFile> = {};
  const write = async (name: string, lines: readonly (string | Uint8Array)[]): Promise<void> => {
    files[name] = await writeDurably(path.join(folder, name), lines);
  };
  for (const { host, lines } of snapshot.logs) await write(`logs/${host}.jsonl`, lines);
  const { set, hash } = snapshot.trust;
  const sorted = keptOps(set).toSorted((a, b) => (a.id < b.id ? -1 : 1));
  await write(
    'trust.jsonl',
    sorted.map(({ text }) => text),
  );
  const manifest = {
    v: 1,
    kind: 'memd-export',
    at,
    by: { host: snapshot.identity.host, memctl: version },
    mesh: snapshot.mesh,
    heads: headsOf(snapshot),
    trust: { hash, ops: sorted.length },
    rules: rulesVersion,
    root: readState(snapshot.fold).root,
    files,
    problems: problemsOf(snapshot.logs),
  };
  await writeDurably(path.join(folder, 'manifest.json'), [JSON.stringify(manifest, null, 2)]);
  return manifest;
}

function problemsOf(logs: readonly SnapshotLog[]): string[] {
  return logs.flatMap(({ problem }) => problem ?? []);
}

/** Writes lines, each with its newline, and flushes the file. */
async function writeDurably(file: string, lines: readonly (string | Uint8Array)[]): Promise<ExportedFile> {
  const newline = Buffer.from('\n');
  const data = Buffer.concat(lines.flatMap((line) => [typeof line === 'string' ? Buffer.from(line) : line, newline]));
  const descriptor = realDisk.createFile(file, data, 0o600);
  await realDisk.syncFile(descriptor, file).finally(() => realDisk.closeFile(descriptor));
  return { bytes: data.length, lines: lines.length, sha256: sha256Hex(data) };
}

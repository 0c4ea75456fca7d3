/**
 * Branch `trust`: one file per trust op, `ab/<id>.json`, merged by union. Every commit names what was held then. The file holds the op's canonical text and a
 * newline. What the ops mean is decided in core; here they are texts under their ids.
 */

import { commitBytesMax, trustFilesMax, trustOpBytesMax } from '../core/limits.ts';
import { ok, refuse, type Result } from '../crypto/result.ts';
import { decodeUtf8 } from '../crypto/text.ts';
import {
  decodeCommit,
  decodeTree,
  encodeObject,
  encodeTree,
  type EncodedObject,
  type TreeEntry,
} from './git/object-id.ts';
import { commitObjects } from './git/objects.ts';
import { openReader, type ObjectReader } from './git/reader.ts';
import { readRef, trustRef } from './git/refs.ts';
import type { ObjectView, Repository } from './git/repository.ts';
import { objectFault, treeError, type TreeFaultCode } from './tree-fault.ts';

/** One trust op as stored: the id that its file name claims (not checked here), and its canonical text. */
export interface StoredTrustOp {
  readonly id: string;
  readonly text: string;
}

/**
 * The branch at one commit; `oid` null and no ops when there is no branch. Ops are sorted by id. `dropped`: how many files
 * were taken out of it so far; with those that it has this only grows, so a branch that was rewound shows.
 */
export interface StoredTrust {
  readonly oid: string | null;
  readonly ops: readonly StoredTrustOp[];
  readonly dropped: number;
}

/** Bytes of one folder entry: mode, name of 69 characters, NUL, id. */
const entryBytes = 7 + 69 + 1 + 20;
const foldersMax = 256;

interface OpFile {
  readonly id: string;
  readonly oid: string;
}

interface OpFiles {
  readonly files: readonly OpFile[];
  /** As the message of the commit says. */
  readonly dropped: number;
}

async function readFolder(
  reader: ObjectReader,
  oid: string,
  entriesMax: number,
): Promise<Result<ReturnType<typeof decodeTree> & object, TreeFaultCode>> {
  const [answer] = await reader.read([oid], { type: 'tree', bytesMax: entriesMax * entryBytes });
  if (answer === undefined || !answer.ok) return objectFault(answer, 'trust folder');
  const entries = decodeTree(answer.content);
  return entries === undefined ? refuse('TREE_SHAPE', 'a trust folder cannot be read') : ok(entries);
}

/** Every op file of the tree of a commit. */
async function listOpFiles(reader: ObjectReader, commit: string): Promise<Result<OpFiles, TreeFaultCode>> {
  const [object] = await reader.read([commit], { type: 'commit', bytesMax: commitBytesMax });
  if (object === undefined || !object.ok)
    return object?.code === 'WRONG_TYPE'
      ? refuse('NOT_A_COMMIT', `${commit} ${object.detail}`)
      : objectFault(object, 'trust commit');
  const header = decodeCommit(object.content);
  if (header === undefined) return refuse('NOT_A_COMMIT', `${commit} has no tree`);
  const root = await readFolder(reader, header.tree, foldersMax);
  if (!root.ok) return root;
  const files: OpFile[] = [];
  for (const folder of root.value) {
    if (!/^[0-9a-f]{2}$/.test(folder.name) || folder.mode !== '40000')
      return refuse('TREE_SHAPE', 'the trust root holds something else than folders 00 to ff');
    const entries = await readFolder(reader, folder.oid, trustFilesMax);
    if (!entries.ok) return entries;
    for (const entry of entries.value) {
      const id = /^([0-9a-f]{64})\.json$/.exec(entry.name)?.[1];
      if (id === undefined || !id.startsWith(folder.name) || entry.mode !== '100644')
        return refuse('TREE_SHAPE', `trust folder ${folder.name} holds something else than op files`);
      files.push({ id, oid: entry.oid });
    }
    if (files.length > trustFilesMax) return refuse('TOO_LARGE', `more than ${trustFilesMax} trust ops`);
  }
  const dropped = /\n\ntrust: .*, (\d{1,15}) dropped so far\n$/.exec(object.content.toString('latin1'))?.[1] ?? '0';
  return ok({ files, dropped: Number(dropped) });
}

/** Ops whose files are read at a time. */
const filesAtATime = 256;

/**
 * Reads the trust ops of a commit, ours or (through a quarantine) a peer's. Shape and sizes are checked first. `known`
 * ids are left out without being read. A file that is not UTF-8 text with one final newline refuses the tree.
 */
export async function readTrustCommit(
  view: ObjectView,
  commit: string,
  known?: (id: string) => boolean,
): Promise<Result<Omit<StoredTrust, 'oid'>, TreeFaultCode>> {
  const reader = openReader(view);
  try {
    const listed = await listOpFiles(reader, commit);
    if (!listed.ok) return listed;
    const { files, dropped } = listed.value;
    const ops = await readOpFiles(reader, known === undefined ? files : files.filter((file) => !known(file.id)));
    return ops.ok ? ok({ ops: ops.value, dropped }) : ops;
  } finally {
    await reader.close();
  }
}

async function readOpFiles(
  reader: ObjectReader,
  files: readonly OpFile[],
): Promise<Result<readonly StoredTrustOp[], TreeFaultCode>> {
  const ops: StoredTrustOp[] = [];
  for (let start = 0; start < files.length; start += filesAtATime) {
    const batch = files.slice(start, start + filesAtATime);
    const answers = await reader.read(
      batch.map((file) => file.oid),
      { type: 'blob', bytesMax: trustOpBytesMax + 1 },
    );
    for (const [index, { id }] of batch.entries()) {
      const answer = answers[index];
      if (answer === undefined || !answer.ok) return objectFault(answer, `trust op ${id}`);
      const text = decodeUtf8(answer.content);
      if (text === undefined || text.indexOf('\n') !== text.length - 1)
        return refuse('TREE_SHAPE', `trust op ${id} is not one line of text`);
      ops.push({ id, text: text.slice(0, -1) });
    }
  }
  return ok(ops);
}

/**
 * Reads our own branch. Errors: `REF_DAMAGED`, `OBJECT_DAMAGED`, `OBJECT_MISSING`, `BRANCH_DAMAGED`.
 */
export async function readTrust(repository: Repository): Promise<StoredTrust> {
  const oid = readRef(repository, trustRef);
  if (oid === null) return { oid, ops: [], dropped: 0 };
  const read = await readTrustCommit(repository, oid);
  if (!read.ok) throw treeError('branch trust', read);
  return { oid, ...read.value };
}

/**
 * Adds ops to our branch as one commit, durable on return; ops that are there already are left alone. `drop`: ids whose
 * files go, of ops that are not kept. `seconds` dates the commit (the newest op's claimed time). Gives the commit; null
 * when there is still no branch (no op given, none held). Errors: as `readTrust`, `commitObjects`.
 */
export async function addTrustOps(
  repository: Repository,
  options: { ops: readonly StoredTrustOp[]; drop?: readonly string[]; author: string; seconds: number },
): Promise<string | null> {
  const expected = readRef(repository, trustRef);
  const own: OpFiles = expected === null ? { files: [], dropped: 0 } : await ownFiles(repository, expected);
  const held = new Map(own.files.map((file) => [file.id, file.oid]));
  const gone = (options.drop ?? []).filter((id) => held.delete(id)).length;
  const objects: EncodedObject[] = [];
  for (const op of options.ops) {
    if (held.has(op.id)) continue;
    const blob = encodeObject('blob', Buffer.from(`${op.text}\n`));
    held.set(op.id, blob.oid);
    objects.push(blob);
  }
  if (objects.length + gone === 0) return expected;
  const added = objects.length;
  const dropped = own.dropped + gone;
  const root = buildTree(held, objects);
  return commitObjects(repository, {
    ref: trustRef,
    expected,
    objects,
    tree: root,
    author: options.author,
    seconds: options.seconds,
    message: `trust: ${added} op${added === 1 ? '' : 's'}${dropped === 0 ? '' : `, ${dropped} dropped so far`}\n`,
  });
}

async function ownFiles(repository: Repository, commit: string): Promise<OpFiles> {
  const reader = openReader(repository);
  try {
    const files = await listOpFiles(reader, commit);
    if (!files.ok) throw treeError('branch trust', files);
    return files.value;
  } finally {
    await reader.close();
  }
}

/** Writes every folder, changed or not: there are at most 256 small ones, and ops are made by people, a few a year. */
function buildTree(files: ReadonlyMap<string, string>, objects: EncodedObject[]): string {
  const folders = new Map<string, TreeEntry[]>();
  for (const [id, oid] of files) {
    const name = id.slice(0, 2);
    const entries = folders.get(name) ?? [];
    entries.push({ name: `${id}.json`, oid, folder: false });
    folders.set(name, entries);
  }
  const root: TreeEntry[] = [];
  for (const [name, entries] of folders) {
    const tree = encodeTree(entries);
    objects.push(tree);
    root.push({ name, oid: tree.oid, folder: true });
  }
  const top = encodeTree(root);
  objects.push(top);
  return top.oid;
}

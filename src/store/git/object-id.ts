/** Object ids (40 hex characters of SHA-1) and the encoding of objects. No I/O. */

import { deflateSync } from 'node:zlib';
import { sha1Hex } from '../../crypto/hash.ts';
import { releaseBuffer } from '../buffers.ts';

/** The kinds of object that this program writes and reads. */
export type ObjectType = 'blob' | 'tree' | 'commit';

/** An object ready to be written: its id and its bytes as a loose object file holds them. */
export interface EncodedObject {
  readonly oid: string;
  readonly type: ObjectType;
  readonly data: Buffer;
}

const oidPattern = /^[0-9a-f]{40}$/;

/** True for 40 lower-case hex characters. Pure. */
export function isOid(text: string): boolean {
  return oidPattern.test(text);
}

/** Id of an object with this content. Pure. */
export function objectId(type: string, content: Uint8Array): string {
  const full = withHeader(type, content);
  const oid = sha1Hex(full);
  releaseBuffer(full);
  return oid;
}

function withHeader(type: string, content: Uint8Array): Buffer {
  const header = `${type} ${content.length}\0`;
  const full = Buffer.allocUnsafeSlow(header.length + content.length);
  full.set(content, full.write(header, 'latin1'));
  return full;
}

/** Encodes an object; zlib level 1, since repacking compresses again later and an append should not wait. Pure. */
export function encodeObject(type: ObjectType, content: Uint8Array): EncodedObject {
  const full = withHeader(type, content);
  return { oid: sha1Hex(full), type, data: deflateSync(full, { level: 1 }) };
}

/** One entry of a tree: a file (mode 100644) or a folder (mode 40000). */
export interface TreeEntry {
  readonly name: string;
  readonly oid: string;
  readonly folder: boolean;
}

/** Tree bytes in git's order: by name bytes, a folder compared as if its name ended with '/'. Names are ASCII. Pure. */
export function encodeTree(entries: readonly TreeEntry[]): EncodedObject {
  const key = (entry: TreeEntry): string => (entry.folder ? `${entry.name}/` : entry.name);
  const sorted = entries.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
  const parts = sorted.flatMap((entry) => [
    Buffer.from(`${entry.folder ? '40000' : '100644'} ${entry.name}\0`, 'latin1'),
    Buffer.from(entry.oid, 'hex'),
  ]);
  return encodeObject('tree', Buffer.concat(parts));
}

/** Commit bytes. `author` is `name <mail>`, `seconds` since 1970, UTC; a date before 1970 is written as 0. Pure. */
export function encodeCommit(commit: {
  tree: string;
  parent: string | null;
  author: string;
  seconds: number;
  message: string;
}): EncodedObject {
  const who = `${commit.author} ${Math.max(0, Math.floor(commit.seconds))} +0000`;
  const parent = commit.parent === null ? '' : `parent ${commit.parent}\n`;
  return encodeObject(
    'commit',
    Buffer.from(`tree ${commit.tree}\n${parent}author ${who}\ncommitter ${who}\n\n${commit.message}`, 'utf8'),
  );
}

/** Reads a tree: undefined when its bytes are not a tree. Names are kept as latin1 text, so that no byte is lost. Pure. */
export function decodeTree(content: Buffer): { mode: string; name: string; oid: string }[] | undefined {
  const entries: { mode: string; name: string; oid: string }[] = [];
  for (let at = 0; at < content.length;) {
    const space = content.indexOf(0x20, at);
    const nul = content.indexOf(0x00, at);
    if (space < 0 || nul < space || nul + 21 > content.length) return undefined;
    entries.push({
      mode: content.toString('latin1', at, space),
      name: content.toString('latin1', space + 1, nul),
      oid: content.toString('hex', nul + 1, nul + 21),
    });
    at = nul + 21;
  }
  return entries;
}

/** Reads tree and parents of a commit: undefined when its header is not one. Pure. */
export function decodeCommit(content: Buffer): { tree: string; parents: readonly string[] } | undefined {
  const header = content.toString('latin1', 0, Math.min(content.length, 65_536)).split('\n\n', 1)[0] ?? '';
  const lines = header.split('\n');
  const tree = /^tree ([0-9a-f]{40})$/.exec(lines[0] ?? '')?.[1];
  if (tree === undefined) return undefined;
  const parents: string[] = [];
  for (const line of lines.slice(1)) {
    const parent = /^parent ([0-9a-f]{40})$/.exec(line)?.[1];
    if (parent === undefined) break;
    parents.push(parent);
  }
  return { tree, parents };
}
